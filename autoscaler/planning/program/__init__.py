"""The optimizer: a fleet and its demand as one mixed-integer program."""
