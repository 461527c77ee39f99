"""How studies are drawn, whoever draws them."""

from autoscaler.simulation.colors import OFF

# Told apart by people who see colors otherwise, too.
POLICY_COLORS = ("#0072b2", "#5f6670", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
TIME = "days from the start of the run"
MOST_GPUS = 32
# Between two GPUs, in memory slices.
GAP = 1.5


def policy_color(place: int) -> str:
    """Return the color of the first, second, … policy."""
    return POLICY_COLORS[place] if place < len(POLICY_COLORS) else OFF
