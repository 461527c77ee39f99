"""Planners to compare with: what others do, on the same fleets and demands."""
