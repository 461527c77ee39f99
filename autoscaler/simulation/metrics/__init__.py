"""What is scraped: kube-state-metrics, the scheduler, the DCGM exporters, and ourselves."""
