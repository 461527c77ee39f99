"""Replays past requests on a mix that never changes, fast: for searches over many mixes.

A request may be served by an instance larger than it asked for: what is free is cut
down for whoever waits, and a mix that is judged as if that could not be would spread
over all sizes instead of keeping room that serves several.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush, heapreplace
from math import inf

from autoscaler.domain.mig.profile import GpuModel
from autoscaler.planning.past.queue_model import Job


class Order(StrEnum):
    """Who is served first by an instance that becomes free."""

    OWNER_FIRST = "owner-first"
    FIRST_COME = "first-come"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Profiles in order of size, and which serve which.

    Parameters
    ----------
    names
        Profiles, smaller first; their places in it are how all else names them.
    serving
        For each profile the ones whose instances serve it, smallest first, its own
        first of all.
    served
        For each profile the smaller ones that its instances serve as well.
    """

    names: tuple[str, ...]
    serving: tuple[tuple[int, ...], ...]
    served: tuple[tuple[int, ...], ...]


def sizes_of(model: GpuModel, names: Sequence[str]) -> Sizes:
    """Return profiles of a model by size.

    A standard profile is served by all that have at least its compute and memory
    slices; variants (media engines, graphics, more memory) only by themselves, as
    what makes them different cannot be seen in the number of slices.

    Raises
    ------
    ConfigError
        When the model has no profile of a name.
    """
    ordered = sorted(
        model.require(names), key=lambda p: (p.compute_slices, p.memory_slices, p.name)
    )
    serving = []
    for own in ordered:
        larger = [
            place
            for place, other in enumerate(ordered)
            if other is not own
            and own.is_plain
            and other.compute_slices >= own.compute_slices
            and other.memory_slices >= own.memory_slices
        ]
        serving.append((ordered.index(own), *larger))
    served = [
        tuple(kind for kind, by in enumerate(serving) if size in by and kind != size)
        for size in range(len(ordered))
    ]
    return Sizes(tuple(p.name for p in ordered), tuple(serving), tuple(served))


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests in order of arrival, as columns.

    Parameters
    ----------
    arrivals_s, services_s
        As in ``Job``.
    kinds
        Place of the profile in the order of sizes.
    on_sizes_s
        Service time of each on an instance of each size, where it runs faster on some
        than on others; empty where a larger one changes nothing.
    """

    arrivals_s: tuple[float, ...]
    services_s: tuple[float, ...]
    kinds: tuple[int, ...]
    on_sizes_s: tuple[tuple[float, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.kinds)


def requests_of(past: Mapping[str, Sequence[Job]], sizes: Sizes) -> Requests:
    """Return the requests of all profiles in order of arrival."""
    places = {name: place for place, name in enumerate(sizes.names)}
    rows = sorted(
        (job.arrival_s, places[name], job.service_s)
        for name, own in past.items()
        for job in own
    )
    return Requests(
        tuple(row[0] for row in rows),
        tuple(row[2] for row in rows),
        tuple(row[1] for row in rows),
    )


def total_wait_s(
    requests: Requests,
    instances: Sequence[int],
    sizes: Sizes,
    *,
    order: Order = Order.OWNER_FIRST,
    enough_s: float = inf,
) -> float:
    """Return the sum of waiting times of all requests under a mix, in seconds.

    What a request takes longer on the instance that serves it than on one of its own
    profile counts as well; what it takes less is taken off.

    Parameters
    ----------
    requests
        What was asked for.
    instances
        Number of instances of each profile, in order of sizes.
    sizes
        The order, and what serves what.
    order
        Who is served first.
    enough_s
        The replay ends early, with this answer, once this much has been waited: it is
        then no better than another that is known.

    Returns
    -------
    float
        Infinite when some are never served.
    """
    if any(not any(instances[size] for size in sizes.serving[k]) for k in set(requests.kinds)):
        return inf
    return _Replay(requests, instances, sizes).total_s(order, enough_s)


class _Replay:
    """One replay.

    Between two moments nobody waits for what is free, so an arrival either starts on
    the spot or waits, and what becomes free starts at most one request.
    """

    def __init__(self, requests: Requests, instances: Sequence[int], sizes: Sizes) -> None:
        self._requests = requests
        self._free = list(instances)
        have = [size for size, number in enumerate(instances) if number]
        self._serving = [[size for size in own if size in have] for own in sizes.serving]
        self._served = sizes.served
        self._queues: list[list[int]] = [[] for _ in instances]
        # Whoever waits at the head of each queue; queues only grow, heads only move on.
        self._heads = [0] * len(instances)

    def total_s(self, order: Order, enough_s: float) -> float:
        """Return the sum of all waiting times, or enough of it."""
        arrivals = self._requests.arrivals_s
        # Where larger instances are faster a sum may fall again, so it is never enough.
        enough_s = inf if self._requests.on_sizes_s else enough_s
        is_owner_first = order is Order.OWNER_FIRST
        ends: list[tuple[float, int]] = []
        total_s = 0.0
        for number, kind in enumerate(self._requests.kinds):
            now_s = arrivals[number]
            while ends and ends[0][0] <= now_s:
                total_s += self._end(ends, is_owner_first)
            for size in self._serving[kind]:
                if self._free[size]:
                    self._free[size] -= 1
                    service_s = self._service_s(number, size)
                    heappush(ends, (now_s + service_s, size))
                    total_s += service_s - self._requests.services_s[number]
                    break
            else:
                self._queues[kind].append(number)
            if total_s >= enough_s:
                return enough_s
        while ends and total_s < enough_s:
            total_s += self._end(ends, is_owner_first)
        return min(total_s, enough_s)

    def _end(self, ends: list[tuple[float, int]], is_owner_first: bool) -> float:
        """Free the instance that ends next; return what its next user has lost."""
        end_s, size = ends[0]
        number = self._next(size, is_owner_first)
        if number is None:
            heappop(ends)
            self._free[size] += 1
            return 0.0
        service_s = self._service_s(number, size)
        heapreplace(ends, (end_s + service_s, size))
        slower_s = service_s - self._requests.services_s[number]
        return end_s - self._requests.arrivals_s[number] + slower_s

    def _service_s(self, number: int, size: int) -> float:
        own = self._requests.on_sizes_s
        return own[number][size] if own else self._requests.services_s[number]

    def _next(self, size: int, is_owner_first: bool) -> int | None:
        """Take the request that an instance serves next out of its queue."""
        queues, heads = self._queues, self._heads
        chosen, first = -1, -1
        if heads[size] < len(queues[size]):
            chosen, first = size, queues[size][heads[size]]
        if chosen < 0 or not is_owner_first:
            for kind in self._served[size]:
                if heads[kind] < len(queues[kind]):
                    number = queues[kind][heads[kind]]
                    if chosen < 0 or number < first:
                        chosen, first = kind, number
        if chosen < 0:
            return None
        heads[chosen] += 1
        return first
