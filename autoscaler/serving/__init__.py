"""HTTP served to others: metrics, health and the status page."""
