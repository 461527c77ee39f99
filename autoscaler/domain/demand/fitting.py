"""Fitting: pods that the present layout could take as it is.

Their cause of waiting is something else, such as a quota of their queue, so no change
of GPUs can help them; but what they are about to take must not be cut away.
"""

from collections.abc import Iterable, Sequence

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.reasons import PodNote, Reason


def fitting_pods(
    groups: Sequence[DemandGroup], nodes: Iterable[FleetNode], age: dict[PodRef, float]
) -> tuple[PodNote, ...]:
    """Return pods that fit on free instances of today, with a node for each.

    Parameters
    ----------
    groups
        All demand.
    nodes
        The fleet; closed nodes take no pods.
    age
        Creation time of each pod in epoch seconds: the oldest choose first.
    """
    room = Room(nodes)
    units = _units(groups)
    units.sort(key=lambda unit: min((age[pod], pod) for _, pod in unit))
    found = []
    for unit in units:
        for pod, node in room.place(groups, unit):
            found.append(PodNote(pod, Reason.FITS_TODAY, f"node {node} can take it as it is"))
    return tuple(sorted(found))


class Room:
    """Free instances by node, taken one after the other."""

    def __init__(self, nodes: Iterable[FleetNode]) -> None:
        open_nodes = [n for n in nodes if not n.node.unschedulable]
        self._free = {n.name: n.takeable for n in open_nodes}
        self._units = {n.name: n.unit for n in open_nodes if n.unit}
        # Room only shrinks, so a node that was too small for a group stays so.
        self._open: dict[int, list[str]] = {}
        self._apart: dict[int, set[str]] = {}

    def place(
        self, groups: Sequence[DemandGroup], unit: Sequence[tuple[int, PodRef]]
    ) -> list[tuple[PodRef, str]]:
        """Take room for all pods of a unit and return where, or for none of them."""
        taken: list[tuple[int, PodRef, str]] = []
        for index, pod in unit:
            name = self._find(index, groups[index])
            if name is None:
                self._give_back(groups, taken)
                return []
            self._free[name] = self._free[name].minus(groups[index].bundle)
            if groups[index].one_per_node:
                self._apart.setdefault(index, set()).add(name)
            taken.append((index, pod, name))
        return [(pod, name) for _, pod, name in taken]

    def _find(self, index: int, group: DemandGroup) -> str | None:
        if index not in self._open:
            names = sorted(name for name in group.eligible if name in self._free)
            if group.unit:
                names = [name for name in names if self._units.get(name) == group.unit]
            self._open[index] = names[::-1]
        names, apart = self._open[index], self._apart.get(index, set())
        while names and (names[-1] in apart or not self._covers(names[-1], group.bundle)):
            names.pop()
        return names[-1] if names else None

    def _covers(self, name: str, bundle: Counts) -> bool:
        return self._free[name].covers(bundle)

    def _give_back(
        self, groups: Sequence[DemandGroup], taken: Sequence[tuple[int, PodRef, str]]
    ) -> None:
        for index, _, name in taken:
            self._free[name] = self._free[name].plus(groups[index].bundle)
            self._apart.get(index, set()).discard(name)
        if taken:
            # What was given back may be room again.
            self._open.clear()


def _units(groups: Sequence[DemandGroup]) -> list[list[tuple[int, PodRef]]]:
    """Return pods that are served together, by index of their group."""
    gangs: dict[str, list[tuple[int, PodRef]]] = {}
    units: list[list[tuple[int, PodRef]]] = []
    for index, group in enumerate(groups):
        for pod in group.pods:
            if group.gang:
                gangs.setdefault(group.gang, []).append((index, pod))
            else:
                units.append([(index, pod)])
    return units + list(gangs.values())
