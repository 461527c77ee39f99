"""A cluster in memory: object store, API facades, controllers and workload under one clock."""
