"""The plainest players: those that never change a GPU."""

from dataclasses import dataclass

from autoscaler.planning.past.mix_replay import Order
from autoscaler.simulation.study.light import Scene
from autoscaler.simulation.study.starting import start_exact, start_larger


@dataclass(frozen=True, slots=True)
class Static:
    """Keeps the mix; a job may take an instance larger than it asked for.

    Parameters
    ----------
    sizes
        Profiles from small to large.
    """

    sizes: tuple[str, ...]
    order: Order = Order.OWNER_FIRST

    def act(self, scene: Scene) -> None:
        """Start what can start."""
        start_larger(scene, self.sizes, self.order)


@dataclass(frozen=True, slots=True)
class Exact:
    """Keeps the mix; a job takes an instance of just the profile that it asked for."""

    def act(self, scene: Scene) -> None:
        """Start what can start."""
        start_exact(scene)
