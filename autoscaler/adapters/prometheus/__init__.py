"""Prometheus: demand counts and the activity of GPU instances."""
