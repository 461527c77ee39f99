"""Says what each node's change serves, so that every change has a gain of its own.

The gain of a plan is the difference between the best use of the fleet as it is and as
it will be. Requests that a changed node takes in count for it, those that lose their
place on it count against it, and requests that only moved elsewhere count for nothing.
All this is counted in instances: a request for several counts where each of them is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoscaler.planning.program.fleet import Fleet
from autoscaler.planning.program.mix import Choice, Mix
from autoscaler.planning.program.units import free_of
from autoscaler.planning.reporting.moves import NodeMove
from autoscaler.planning.reporting.routing import Flows, Network

# All nodes of a zone that do not change are one site; each node that does is another.
OTHERS = -1


@dataclass(slots=True)
class Credit:
    """What one change brings.

    Parameters
    ----------
    instances
        Instances in use more because of it (negative: fewer), by want and name.
    """

    instances: dict[tuple[int, str], int] = field(default_factory=dict)

    def of(self, want: int, name: str) -> int:
        """Return the instances of a name for a want."""
        return self.instances.get((want, name), 0)

    def add(self, want: int, name: str, number: int) -> None:
        """Count instances for a want; a negative number takes them away."""
        self.instances[want, name] = self.of(want, name) + number


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
        Over all moves, the instances for a want add up to those in use more, those of
        evicted pods aside, which may move to nodes that do not change.
    """
    found = tuple(Credit() for _ in moves)
    if not moves:
        return found
    places = _Places(mix, fleet, moves)
    for name in sorted({name for want in mix.wants for name in want.bundle}):
        for sign, choice in ((-1, before), (1, after)):
            places.count_hosted(name, choice, sign, found)
        old, new = _routes(places, name, before, after)
        for zone in places.changed_zones:
            places.compare(name, zone, (old, new), (before, after), found)
        balance = _Balance(name, found)
        for index, want in enumerate(mix.wants):
            if want.is_returning:
                # Whoever is evicted was served before: who takes them in has earned it.
                continue
            balance.settle(
                index, want.bundle[name] * (after.served[index] - before.served[index])
            )
        balance.settle_moved()
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

    def count_hosted(
        self, name: str, choice: Choice, sign: int, found: Sequence[Credit]
    ) -> None:
        """Credit the changed nodes that take requests for one node with them."""
        for (want, kind), number in choice.hosted.items():
            site = self.site_of_kind.get(kind, OTHERS)
            if site != OTHERS and self.mix.wants[want].bundle[name]:
                amount = number * self.mix.wants[want].bundle[name]
                found[site].add(want, name, sign * amount)

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
                found[site].add(want, name, kept - number)
        for (site, want), number in _fill(room, left).items():
            if site != OTHERS:
                found[site].add(want, name, number)


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
    """Makes the credits of each want add up to the instances in use more."""

    def __init__(self, name: str, credits_of: Sequence[Credit]) -> None:
        self._name = name
        self._credits = credits_of
        # In order; most wants have a part in few changes.
        self._sites_of: dict[int, list[int]] = {}
        for site, credit in enumerate(credits_of):
            for want, own in credit.instances:
                if own == name:
                    self._sites_of.setdefault(want, []).append(site)
        # Sites that let requests go elsewhere, and sites that took them from elsewhere,
        # with their wants, once an instance.
        self._left: list[tuple[int, int]] = []
        self._came: list[tuple[int, int]] = []
        self._open: list[tuple[int, int]] = []

    def settle(self, want: int, more: int) -> None:
        """Cancel what only moved.

        Requests that left a changed node for another place are no loss, and requests
        that came from another place are no gain. But who moves takes the place of others
        or leaves one for others: that is settled when all wants have been looked at.
        """
        sites = self._sites_of.get(want, [])
        total = sum(self._credits[site].of(want, self._name) for site in sites)
        for site in sites:
            credit = self._credits[site]
            own = credit.of(want, self._name)
            if total < more and own < 0:
                moved = min(more - total, -own)
                self._left += [(site, want)] * moved
            elif total > more and own > 0:
                moved = -min(total - more, own)
                self._came += [(site, want)] * -moved
            else:
                continue
            credit.add(want, self._name, moved)
            total += moved
        if total != more:
            self._open.append((want, more - total))

    def settle_moved(self) -> None:
        """Credit those whose place was left by, or taken by, requests that moved."""
        for want, number in self._open:
            moved = self._came if number > 0 else self._left
            sites = [site for site, _ in moved[: abs(number)]]
            del moved[: abs(number)]
            # Without such a node, the first change stands for all of them.
            sites += [0] * (abs(number) - len(sites))
            for site in sites:
                self._credits[site].add(want, self._name, 1 if number > 0 else -1)
        self._settle_chains()

    def _settle_chains(self) -> None:
        """Make up for instances that one change takes away and another brings back.

        In between, requests moved among nodes that do not change.
        """
        came = {site: 0 for site, _ in self._came}
        for site, _ in self._came:
            came[site] += 1
        chained = []
        for site, want in self._left:
            if came.get(site):
                came[site] -= 1
            else:
                chained.append((site, want))
        takers = [site for site, number in sorted(came.items()) for _ in range(number)]
        for (site, want), taker in zip(chained, takers, strict=False):
            self._credits[site].add(want, self._name, -1)
            self._credits[taker].add(want, self._name, 1)
