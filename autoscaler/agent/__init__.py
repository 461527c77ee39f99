"""The node agent: GPU instances through NVML on one node."""
