"""A static mix: how a number of equal GPUs are cut when nobody re-cuts them."""

from dataclasses import dataclass
from math import inf

from autoscaler.domain.counts import Counts, sum_of
from autoscaler.planning.past.mix_replay import Order


@dataclass(frozen=True, slots=True)
class StaticMix:
    """A mix, and how some requests fared under it.

    Parameters
    ----------
    gpus
        Profile counts of each GPU.
    order
        Who is served first.
    wait_s
        Sum of the waiting times of the requests that it was tuned on, in seconds;
        infinite when some are never served, or nothing is known.
    """

    gpus: tuple[Counts, ...]
    order: Order = Order.OWNER_FIRST
    wait_s: float = inf

    @property
    def instances(self) -> Counts:
        """Instances of all GPUs together, by profile name."""
        return sum_of(self.gpus)
