"""A small Prometheus over simulated samples: storage, query language and HTTP API."""
