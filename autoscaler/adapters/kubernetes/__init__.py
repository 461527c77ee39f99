"""The Kubernetes API: raw objects, their slim values, and the cluster port."""
