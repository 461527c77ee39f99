"""MIG autoscaler: keeps every MIG node of a cluster on its ideal mix of GPU instances."""

__version__ = "0.1.0"
