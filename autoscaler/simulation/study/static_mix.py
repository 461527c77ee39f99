"""The static mix tuned on some work: what a careful operator would have chosen.

A local search over how many GPUs get each maximal multiset, by replays of the work. It
starts from the mix that is exact when every job takes just its profile, from GPUs left
whole, and from even shares, so that it does not end where it began.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.planning.past.home_mix import home_mix
from autoscaler.simulation.study.jobs import queued_by_profile
from autoscaler.simulation.study.splits import Work
from autoscaler.simulation.study.static_queue import (
    Order,
    Queued,
    StaticReplay,
    kinds_of,
    queued_of,
)

# Number of GPUs with each multiset, in the order of the multisets.
Shares = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StaticMix:
    """A mix that never changes.

    Parameters
    ----------
    gpus
        Profile counts of each GPU, larger profiles first.
    order
        Who is served first under it.
    mean_completion_s
        On the work that it was tuned on.
    """

    gpus: tuple[Counts, ...]
    order: Order
    mean_completion_s: float = inf

    @property
    def instances(self) -> Counts:
        """Instances of all GPUs together."""
        total = Counts()
        for counts in self.gpus:
            total = total.plus(counts)
        return total


class MixSearch:
    """Searches the best static mix for some work on a number of equal GPUs."""

    def __init__(self, model: GpuModel, work: Work, gpus: int) -> None:
        kinds = kinds_of(model)
        self._patterns = maximal_multisets(model, tuple(kinds))
        self._vectors = [[pattern[name] for name in kinds] for pattern in self._patterns]
        self._jobs: Sequence[Queued] = queued_of(work.jobs, kinds)
        self._gpus = gpus
        self._exact = home_mix(model, queued_by_profile(work.jobs), gpus, work.span_s).gpus
        self._known: dict[tuple[tuple[int, ...], Order], float] = {}

    def best(self) -> StaticMix:
        """Return the best mix that the search finds, by mean completion time."""
        found = [
            (self._descend(start, order), order)
            for order in Order
            for start in dict.fromkeys(self._starts())
        ]
        (mean_s, shares), order = min(found, key=lambda entry: entry[0])
        return StaticMix(self._layout(shares), order, mean_s)

    def cost(self, shares: Shares, order: Order) -> float:
        """Return the mean completion time of the work under a mix."""
        columns = zip(*self._vectors, strict=True)
        instances = tuple(
            sum(n * own for n, own in zip(shares, column, strict=True)) for column in columns
        )
        if (instances, order) not in self._known:
            replay = StaticReplay(self._jobs, instances, order)
            self._known[instances, order] = replay.mean_completion_s()
        return self._known[instances, order]

    def _starts(self) -> Iterator[Shares]:
        exact = [sum(1 for own in self._exact if own == p) for p in self._patterns]
        yield tuple(exact)
        whole = max(range(len(self._patterns)), key=lambda i: self._is_whole(i))
        yield tuple(self._gpus if i == whole else 0 for i in range(len(self._patterns)))
        even, rest = divmod(self._gpus, len(self._patterns))
        yield tuple(even + (1 if i < rest else 0) for i in range(len(self._patterns)))

    def _is_whole(self, place: int) -> bool:
        return self._patterns[place].total() == 1

    def _descend(self, start: Shares, order: Order) -> tuple[float, Shares]:
        """Move single GPUs to other multisets for as long as that helps."""
        best = (self.cost(start, order), start)
        while True:
            nearby = ((self.cost(near, order), near) for near in _neighbors(best[1]))
            better = min(nearby, default=best)
            if better[0] >= best[0]:
                return best
            best = better

    def _layout(self, shares: Shares) -> tuple[Counts, ...]:
        return tuple(
            pattern
            for pattern, number in zip(self._patterns, shares, strict=True)
            for _ in range(number)
        )


def _neighbors(shares: Shares) -> Iterator[Shares]:
    for source, number in enumerate(shares):
        for sink in range(len(shares)) if number else ():
            if sink != source:
                moved = list(shares)
                moved[source] -= 1
                moved[sink] += 1
                yield tuple(moved)


@lru_cache(maxsize=64)
def tuned_mix(model: GpuModel, work: Work, gpus: int) -> StaticMix:
    """Return the best static mix for some work; the same question is answered once."""
    return MixSearch(model, work, gpus).best()


def replayed_s(work: Work, mix: StaticMix, kinds: Mapping[str, int]) -> float:
    """Return the mean completion time of some work under a mix."""
    instances = [mix.instances[name] for name in kinds]
    return StaticReplay(queued_of(work.jobs, kinds), instances, mix.order).mean_completion_s()
