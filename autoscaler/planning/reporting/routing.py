"""Routes requests anew after a change, keeping as many as possible where they are.

A solver may swap requests between zones for nothing. To say what a change serves, only
what has to move may move.
"""

from collections.abc import Mapping
from itertools import pairwise

Flows = dict[tuple[int, int], int]


class Network:
    """Requests for one kind of instance, and the zones that may take them.

    Parameters
    ----------
    capacity
        Instances by zone; none where absent.
    zones
        Zones that may take a want, sorted, by want.
    flows
        Requests by want and zone as they are now.
    """

    def __init__(
        self, capacity: Mapping[int, int], zones: Mapping[int, tuple[int, ...]], flows: Flows
    ) -> None:
        self._zones = zones
        self._spare = dict(capacity)
        self._routed = dict.fromkeys(zones, 0)
        self._at: dict[int, dict[int, int]] = {}
        for (want, zone), number in sorted(flows.items()):
            self._add(want, zone, number)

    @property
    def flows(self) -> Flows:
        """Requests by want and zone, sorted, zero entries left out."""
        return {
            (want, zone): self._at[zone][want]
            for want in sorted(self._zones)
            for zone in self._zones[want]
            if self._at.get(zone, {}).get(want)
        }

    def _add(self, want: int, zone: int, number: int) -> None:
        at = self._at.setdefault(zone, {})
        at[want] = at.get(want, 0) + number
        self._spare[zone] = self._spare.get(zone, 0) - number
        self._routed[want] += number

    def reroute(self, served: Mapping[int, int]) -> bool:
        """Route exactly so many requests of each want, moving as few as possible.

        Parameters
        ----------
        served
            Requests to route, by want.

        Returns
        -------
        bool
            Whether all could be routed.
        """
        for want in sorted(served):
            self._drop_surplus(want, self._routed[want] - served[want])
        for zone in sorted(self._at):
            for want in sorted(self._at[zone], reverse=True):
                over = -self._spare[zone]
                if over > 0:
                    self._add(want, zone, -min(over, self._at[zone][want]))
        return all(
            self._route(want, served[want] - self._routed[want]) for want in sorted(served)
        )

    def _drop_surplus(self, want: int, surplus: int) -> None:
        """Drop requests that are served no more, first where there are too many."""
        own = self._zones[want]
        for zone in sorted(own, key=lambda zone: (self._spare.get(zone, 0) >= 0, -zone)):
            here = self._at.get(zone, {}).get(want, 0)
            dropped = min(max(0, surplus), here)
            if dropped:
                self._add(want, zone, -dropped)
                surplus -= dropped

    def _route(self, want: int, number: int) -> bool:
        while number > 0:
            path = self._find_path(want)
            if path is None:
                return False
            number -= self._push(path, number)
        return True

    def _find_path(self, want: int) -> list[tuple[int, int]] | None:
        """Return how a request can be routed, by moving others on.

        Each step names a want and its new zone: there it takes the place of the want of
        the next step. The last zone has an instance to spare.
        """
        came_from: dict[int, tuple[int, int] | None] = {want: None}
        queue, seen = [want], set()
        for own in queue:
            for zone in self._zones[own]:
                if zone in seen:
                    continue
                seen.add(zone)
                if self._spare.get(zone, 0) > 0:
                    return _path_to(own, zone, came_from)
                for other, number in sorted(self._at.get(zone, {}).items()):
                    if number and other not in came_from:
                        came_from[other] = (own, zone)
                        queue.append(other)
        return None

    def _push(self, path: list[tuple[int, int]], number: int) -> int:
        amount = min(number, self._spare[path[-1][1]])
        for (_, zone), (moved, _) in pairwise(path):
            amount = min(amount, self._at[zone][moved])
        for (_, zone), (moved, _) in pairwise(path):
            self._add(moved, zone, -amount)
        for want, zone in path:
            self._add(want, zone, amount)
        return amount


def _path_to(
    want: int, zone: int, came_from: Mapping[int, tuple[int, int] | None]
) -> list[tuple[int, int]]:
    path = [(want, zone)]
    while (previous := came_from[path[0][0]]) is not None:
        path.insert(0, previous)
    return path
