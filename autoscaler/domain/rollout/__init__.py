"""The state machine that takes one node from its closing to its release."""
