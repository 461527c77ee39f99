"""The same hours twice, with and without the autoscaler, and the report of it."""
