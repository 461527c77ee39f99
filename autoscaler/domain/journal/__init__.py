"""What is written down of rollouts: the open one, past ones, quarantines."""
