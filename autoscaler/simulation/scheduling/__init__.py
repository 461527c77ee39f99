"""How the simulated scheduler looks at pods and nodes."""
