"""Says what each node's change serves, so that every change has a gain of its own.

The gain of a plan is the difference between the best use of the fleet as it is and as
it will be. Requests that a changed node takes in count for it, those that lose their
place on it count against it, and requests that only moved elsewhere count for nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoscaler.planning.fleet import Fleet, free_of
from autoscaler.planning.mix import Choice, Mix
from autoscaler.planning.moves import NodeMove
from autoscaler.planning.routing import Flows, Network

# All nodes of a zone that do not change are one site; each node that does is another.
OTHERS = -1


@dataclass(slots=True)
class Credit:
    """What one change brings.

    Parameters
    ----------
    requests
        Requests served more by it (negative: fewer), by want.
    """

    requests: dict[int, int] = field(default_factory=dict)

    def add(self, want: int, number: int) -> None:
        """Count requests of a want; a negative number takes them away."""
        self.requests[want] = self.requests.get(want, 0) + number


def attribute(
    mix: Mix, fleet: Fleet, moves: Sequence[NodeMove], *, before: Choice, after: Choice
) -> tuple[Credit, ...]:
    """Return what each change brings, one entry a move.

    Parameters
    ----------
    mix, fleet
        The problem and its nodes.
    moves
        Changes of nodes.
    before, after
        The best use of the fleet as it is, and after the moves.

    Returns
    -------
    tuple
        Over all moves, the requests of a want add up to those served more.
    """
    found = tuple(Credit() for _ in moves)
    if not moves:
        return found
    places = _Places(mix, fleet, moves)
    for sign, choice in ((-1, before), (1, after)):
        for (want, kind), number in choice.hosted.items():
            site = places.site_of_kind.get(kind, OTHERS)
            if site != OTHERS:
                found[site].add(want, sign * number)
    for name in sorted({n for w in mix.wants if w.is_divisible for n in w.bundle}):
        old, new = _routes(places, name, before, after)
        for zone in places.changed_zones:
            places.compare(name, zone, (old, new), (before, after), found)
    balance = _Balance(mix, found)
    for want in range(len(mix.wants)):
        balance.settle(want, after.served[want] - before.served[want])
    balance.fill_vacancies()
    return found


def _routes(places: "_Places", name: str, before: Choice, after: Choice) -> tuple[Flows, Flows]:
    """Return where requests for an instance go before and after, with least movement."""
    mix = places.mix
    wants = {i for i, w in enumerate(mix.wants) if w.is_divisible and w.bundle[name]}
    old = {key: number for key, number in before.flows.items() if key[0] in wants}
    network = Network(
        capacity=places.zone_capacity(name, after),
        zones={want: tuple(sorted(mix.wants[want].zones)) for want in sorted(wants)},
        flows=old,
    )
    if network.reroute({want: after.served[want] for want in sorted(wants)}):
        return old, network.flows
    return old, {key: number for key, number in after.flows.items() if key[0] in wants}


class _Places:
    """How many instances each site has before and after the moves."""

    def __init__(self, mix: Mix, fleet: Fleet, moves: Sequence[NodeMove]) -> None:
        self.mix = mix
        self._moves = moves
        self._after = [move.free_after for move in moves]
        self._zone_of = [fleet.kinds[move.kind].zone for move in moves]
        self.changed_zones = sorted(set(self._zone_of))
        self._free: dict[str, dict[int, int]] = {}
        self.site_of_kind = {
            move.kind: site for site, move in enumerate(moves) if fleet.kinds[move.kind].is_host
        }

    def zone_capacity(self, name: str, after: Choice) -> dict[int, int]:
        """Return the instances of each zone after the moves that bundles leave over."""
        capacity = dict(self._zone_free(name))
        for site, move in enumerate(self._moves):
            gain = self._after[site][name] - free_of(move.node)[name]
            capacity[self._zone_of[site]] += gain
        for (want, kind_index), number in after.hosted.items():
            zone = self.mix.kinds[kind_index].zone
            capacity[zone] -= number * self.mix.wants[want].bundle[name]
        return capacity

    def _zone_free(self, name: str) -> Mapping[int, int]:
        """Return the free instances of each zone before the moves."""
        if name not in self._free:
            total: dict[int, int] = {}
            for kind in self.mix.kinds:
                total[kind.zone] = total.get(kind.zone, 0) + kind.number * kind.free[name]
            self._free[name] = total
        return self._free[name]

    def _site_capacity(
        self, name: str, zone: int, choice: Choice, *, is_after: bool
    ) -> dict[int, int]:
        sites = [site for site, own in enumerate(self._zone_of) if own == zone]
        before = {site: free_of(self._moves[site].node)[name] for site in sites}
        after = {site: self._after[site][name] for site in sites}
        others = self._zone_free(name)[zone] - sum(before.values())
        capacity = {OTHERS: others, **(after if is_after else before)}
        for (want, kind), number in choice.hosted.items():
            if self.mix.kinds[kind].zone == zone:
                site = self.site_of_kind.get(kind, OTHERS)
                capacity[site] -= number * self.mix.wants[want].bundle[name]
        return capacity

    def compare(
        self,
        name: str,
        zone: int,
        routes: tuple[Flows, Flows],
        choices: tuple[Choice, Choice],
        found: Sequence[Credit],
    ) -> None:
        """Credit the changed nodes of a zone with what they take in and let go."""
        old, new = ({w: n for (w, z), n in flows.items() if z == zone} for flows in routes)
        room = self._site_capacity(name, zone, choices[0], is_after=False)
        stays = _fill(room, old)
        room = self._site_capacity(name, zone, choices[1], is_after=True)
        left = dict(new)
        for (site, want), number in sorted(stays.items()):
            kept = max(0, min(number, room[site], left.get(want, 0)))
            room[site] -= kept
            left[want] = left.get(want, 0) - kept
            if site != OTHERS:
                found[site].add(want, kept - number)
        for (site, want), number in _fill(room, left).items():
            if site != OTHERS:
                found[site].add(want, number)


def _fill(room: Mapping[int, int], requests: Mapping[int, int]) -> dict[tuple[int, int], int]:
    """Put requests into sites, unchanged nodes first."""
    placed: dict[tuple[int, int], int] = {}
    space = dict(sorted(room.items()))
    for want, number in sorted(requests.items()):
        for site in space:
            taken = min(number, max(0, space[site]))
            if taken:
                placed[site, want] = placed.get((site, want), 0) + taken
                space[site] -= taken
                number -= taken
    return placed


class _Balance:
    """Makes the credits of each want add up to the requests that are served more."""

    def __init__(self, mix: Mix, credits_of: Sequence[Credit]) -> None:
        self._mix = mix
        self._credits = credits_of
        self._vacant: dict[tuple[tuple[str, int], ...], list[int]] = {}
        self._homeless: list[tuple[int, int]] = []

    def settle(self, want: int, more: int) -> None:
        """Cancel what only moved.

        Requests that left a changed node for another place are no loss. Requests that
        came to it from another place are no gain by themselves, but their old place may
        serve others: it stays noted as vacant.
        """
        total = sum(credit.requests.get(want, 0) for credit in self._credits)
        bundle = tuple(self._mix.wants[want].bundle.items())
        for site, credit in enumerate(self._credits):
            own = credit.requests.get(want, 0)
            if total < more and own < 0:
                returned = min(more - total, -own)
                credit.add(want, returned)
                total += returned
            elif total > more and own > 0:
                moved = min(total - more, own)
                credit.add(want, -moved)
                total -= moved
                self._vacant.setdefault(bundle, []).extend([site] * moved)
        if total < more:
            self._homeless.append((want, more - total))

    def fill_vacancies(self) -> None:
        """Credit new requests to the nodes that made room for them by taking others in."""
        for want, number in self._homeless:
            bundle = tuple(self._mix.wants[want].bundle.items())
            sites = self._vacant.get(bundle, [])
            chosen = sites[:number]
            del sites[:number]
            # Without such a node, the first change stands for all of them.
            chosen += [0] * (number - len(chosen))
            for site in chosen:
                self._credits[site].add(want, 1)
