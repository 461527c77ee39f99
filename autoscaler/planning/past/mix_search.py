"""Searches the static mix that serves past requests best: a local search by replays.

It starts from mixes that are good for reasons of their own, moves GPUs from one multiset
to another, many at first and single ones at last, and goes on for as long as that helps.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.planning.past.mix_replay import Order, Requests, Sizes, total_wait_s
from autoscaler.planning.past.static_mix import StaticMix

# Number of GPUs with each multiset, in the order of the multisets.
Shares = tuple[int, ...]

# Part of the GPUs that the first moves of a search take at once.
FIRST_PART = 4


class MixSearch:
    """Searches mixes of some equal GPUs for some requests.

    Parameters
    ----------
    model
        The GPU model.
    requests
        What was asked for.
    sizes
        The profiles that may be cut, at least one.
    gpus
        Number of GPUs, at least 1.
    """

    def __init__(self, model: GpuModel, requests: Requests, sizes: Sizes, gpus: int) -> None:
        self._sizes = sizes
        self._requests = requests
        self._patterns = maximal_multisets(model, self._sizes.names)
        self._columns = [[p[name] for p in self._patterns] for name in self._sizes.names]
        self._gpus = gpus
        # What was waited under a mix, and whether that is all of it.
        self._known: dict[tuple[tuple[int, ...], Order], tuple[float, bool]] = {}

    def best(self, starts: Iterable[Sequence[Counts]], orders: Sequence[Order]) -> StaticMix:
        """Return the best mix found from any start in any order; the first of equals.

        Parameters
        ----------
        starts
            Mixes to start from, beside GPUs left whole; those of other multisets or of
            another number of GPUs are passed over.
        orders
            Who may be served first, at least one.
        """
        shares = [own for start in starts if (own := self._shares(start)) is not None]
        ways = [
            (start, order)
            for order in orders
            for start in dict.fromkeys([*shares, self._whole()])
        ]
        found = [(*self._descend(start, order), order) for start, order in ways]
        wait_s, own, order = min(found, key=lambda entry: entry[0])
        return StaticMix(self._layout(own), order, wait_s)

    def even(self) -> tuple[Counts, ...]:
        """Return a mix with as many GPUs of each multiset as can be."""
        number = len(self._patterns)
        even, rest = divmod(self._gpus, number)
        return self._layout(tuple(even + (1 if i < rest else 0) for i in range(number)))

    def wait_s(self, shares: Shares, order: Order, enough_s: float = inf) -> float:
        """Return the total wait under a mix, as far as it is below enough."""
        instances = tuple(
            sum(n * own for n, own in zip(shares, column, strict=True))
            for column in self._columns
        )
        key = instances, order
        known_s, is_exact = self._known.get(key, (0.0, False))
        if not is_exact and known_s < enough_s:
            known_s = total_wait_s(
                self._requests, instances, self._sizes, order=order, enough_s=enough_s
            )
            self._known[key] = known_s, known_s < enough_s or enough_s == inf
        return known_s

    def _descend(self, start: Shares, order: Order) -> tuple[float, Shares]:
        best_s, best = self.wait_s(start, order), start
        step = max(1, self._gpus // FIRST_PART)
        while True:
            improved = False
            for near in _neighbors(best, step):
                near_s = self.wait_s(near, order, best_s)
                if near_s < best_s:
                    best_s, best, improved = near_s, near, True
            if not improved:
                if step == 1:
                    return best_s, best
                step = max(1, step // 2)

    def _shares(self, mix: Sequence[Counts]) -> Shares | None:
        shares = tuple(sum(1 for own in mix if own == pattern) for pattern in self._patterns)
        return shares if sum(shares) == len(mix) == self._gpus else None

    def _whole(self) -> Shares:
        """Return all GPUs with the multiset of the fewest instances."""
        place = min(range(len(self._patterns)), key=lambda i: (self._patterns[i].total(), i))
        return tuple(self._gpus if i == place else 0 for i in range(len(self._patterns)))

    def _layout(self, shares: Shares) -> tuple[Counts, ...]:
        return tuple(
            pattern
            for pattern, number in zip(self._patterns, shares, strict=True)
            for _ in range(number)
        )


def _neighbors(shares: Shares, step: int) -> Iterator[Shares]:
    for source, number in enumerate(shares):
        if number < step:
            continue
        for sink in range(len(shares)):
            if sink != source:
                moved = list(shares)
                moved[source] -= step
                moved[sink] += step
                yield tuple(moved)
