"""The decision: which mix each node should have, what it gains and costs, what forbids it."""
