"""Where the jobs of studies come from."""
