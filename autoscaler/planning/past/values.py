"""What the past says about the worth of instances, as the objective reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ValueHistory:
    """What the past says about the worth of instances; pools and resources by name.

    Parameters
    ----------
    service_s
        Mean service time of past requests in seconds, by resource.
    home
        Instances of the mix that would have served the past best, by pool and resource.
    reach
        Chance that at least k instances are wanted at once, held ones included, for
        k = 1, 2 and so on; by pool and resource.
    """

    service_s: Mapping[str, float] = field(default_factory=dict)
    home: Mapping[tuple[str, str], int] = field(default_factory=dict)
    reach: Mapping[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)
