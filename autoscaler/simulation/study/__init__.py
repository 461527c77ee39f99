"""Studies: the same jobs under the autoscaler and under what others would do."""
