"""Plans, and their form in JSON."""
