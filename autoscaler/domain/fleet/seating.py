"""Seating: which GPU of its node each pod sits on, as far as that is proven.

The API server says which pods hold devices, never which GPU. The agent's inventory or
the pod labels of metrics may say where a known holder sits; they never say that an
instance is free. Whoever stays without a seat may sit on any GPU that has room for it,
and all of those count as held.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.objects import Pod, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.sightings import Seat, Sightings
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import GPU, is_shared, parse_resource, plain_profile


@dataclass(frozen=True, slots=True)
class Table:
    """The GPUs of a node as seats to be taken.

    Parameters
    ----------
    gpus
        In index order, none held yet.
    is_folded
        Whether the device plugin offers variants of a profile under its plain name.
    unit
        Profile that ``nvidia.com/gpu`` means here; empty where it means a whole GPU.
    """

    model: GpuModel
    gpus: tuple[Gpu, ...]
    is_folded: bool = False
    unit: str = ""

    def kind(self, profile: str) -> str:
        """Return what a profile is advertised as, in terms of profiles."""
        return plain_profile(profile) if self.is_folded else profile

    def rooms(self, gpu: Gpu) -> Counts:
        """Return what pods can get of a GPU, by kind; a whole GPU is one kind."""
        if not gpu.mig_enabled:
            return Counts({GPU: 1})
        if not self.is_folded:
            return gpu.counts
        total: dict[str, int] = {}
        for profile, number in gpu.counts.items():
            kind = self.kind(profile)
            total[kind] = total.get(kind, 0) + number
        return Counts(total)

    def needs(self, pod: Pod) -> Counts | None:
        """Return what a pod holds by kind; ``None`` when it may hold anything."""
        request = effective_request(pod)
        if pod.faults or not request:
            return None
        needed: dict[str, int] = {}
        for resource, number in request.items():
            if is_shared(resource):
                return None
            profile = self.unit if resource == GPU else parse_resource(self.model, resource)
            name = self.kind(profile) if profile else resource
            needed[name] = needed.get(name, 0) + number
        return Counts(needed)


def table_of(node: FleetNode) -> Table | None:
    """Return the seats of a node; ``None`` when its model or geometry is not known."""
    if node.model is None or not node.gpus:
        return None
    return Table(node.model, node.gpus, is_folded=folds(node), unit=node.unit)


def folds(node: FleetNode) -> bool:
    """Say whether the node's plugin offers variants of a profile under its plain name."""
    named = {name for gpu in node.gpus for name in gpu.counts if name != plain_profile(name)}
    if node.model is None or not named or node.unit:
        return False
    offered = {parse_resource(node.model, r) for r in node.node.allocatable if r != GPU}
    return not named & offered


@dataclass(slots=True)
class _Taken:
    """What of each GPU is taken, by kind, filled while pods are seated."""

    known: list[dict[str, int]]
    unlabelled: list[dict[str, int]]
    possible: list[Counts]
    holders: list[list[PodRef]]
    labelled: frozenset[PodRef]
    everything: set[int] = field(default_factory=set)

    def put(self, pod: PodRef, index: int, kinds: Mapping[str, int]) -> None:
        """Seat a pod."""
        _add(self.known[index], kinds)
        if pod not in self.holders[index]:
            self.holders[index].append(pod)
        if pod not in self.labelled:
            _add(self.unlabelled[index], kinds)


def _add(amounts: dict[str, int], more: Mapping[str, int]) -> None:
    for name, number in more.items():
        amounts[name] = amounts.get(name, 0) + number


def seat(table: Table, pods: Sequence[Pod], seen: Sightings) -> tuple[Gpu, ...]:
    """Return the GPUs with what is, or may be, held on each.

    Parameters
    ----------
    pods
        Pods bound to the node that use its GPUs and have not ended.
    """
    gpus = table.gpus
    taken = _Taken(
        known=[{} for _ in gpus],
        unlabelled=[{} for _ in gpus],
        possible=[Counts() for _ in gpus],
        holders=[[] for _ in gpus],
        labelled=seen.labelled,
    )
    rooms = [table.rooms(gpu) for gpu in gpus]
    unseated = _take_seen(table, pods, seen, rooms=rooms, taken=taken)
    unseated = _force(table, unseated, rooms, taken)
    _spread(table, unseated, rooms, taken)
    _mark_active(table, seen, taken)
    return tuple(_held(table, gpu, taken, rooms[gpu.index]) for gpu in gpus)


def seats_of(
    table: Table, pod: Pod, seats: Iterable[Seat]
) -> tuple[tuple[int, str], ...] | None:
    """Return index and kind of all a pod holds; ``None`` unless all of it was seen."""
    needed = table.needs(pod)
    found = sorted(seats)
    if needed is None or len(found) != needed.total():
        return None
    taken = [(s.index, _kind_of(table, s, needed)) for s in found]
    kinds: dict[str, int] = {}
    for index, kind in taken:
        if kind is None or not 0 <= index < len(table.gpus):
            return None
        kinds[kind] = kinds.get(kind, 0) + 1
    if Counts(kinds) != needed:
        return None
    return tuple((index, kind) for index, kind in taken if kind is not None)


def slices_in_name(profile: str) -> str:
    """Return the compute part of a profile's name, e.g. ``1g`` of ``1g.10gb``."""
    return profile.split(".")[0]


def _kind_of(table: Table, found: Seat, needed: Counts) -> str | None:
    """Return which of the needed kinds a sighting is.

    Exporter and device plugin may round the memory in a name differently, so where
    only one needed kind has as many compute slices, it is that one.
    """
    profile = parse_resource(table.model, found.profile)
    if profile is not None and table.kind(profile) in needed:
        return table.kind(profile)
    if len(needed) == 1:
        return next(iter(needed))
    wanted = slices_in_name(found.profile)
    alike = [kind for kind in needed if slices_in_name(kind) == wanted]
    return alike[0] if len(alike) == 1 else None


def _take_seen(
    table: Table,
    pods: Sequence[Pod],
    seen: Sightings,
    *,
    rooms: Sequence[Counts],
    taken: _Taken,
) -> list[Pod]:
    """Seat pods where they were seen; return the others.

    Where more pods were seen than there is room for, some sighting is wrong and nobody
    knows which: then none of them counts.
    """
    seats: dict[PodRef, list[Seat]] = {}
    for found in seen.seats:
        seats.setdefault(found.pod, []).append(found)
    places = {pod.ref: seats_of(table, pod, seats.get(pod.ref, ())) or () for pod in pods}
    crowd: dict[tuple[int, str], int] = {}
    for place in (place for found in places.values() for place in found):
        crowd[place] = crowd.get(place, 0) + 1
    unseated = []
    for pod in pods:
        mine = places[pod.ref]
        if not mine or any(crowd[place] > rooms[place[0]][place[1]] for place in mine):
            unseated.append(pod)
            continue
        for index, kind in mine:
            taken.put(pod.ref, index, {kind: 1})
    return unseated


def _force(
    table: Table, pods: Sequence[Pod], rooms: Sequence[Counts], taken: _Taken
) -> list[Pod]:
    """Seat pods that only one GPU has room for; return the others."""
    left = list(pods)
    while True:
        still = [pod for pod in left if not _take_only_room(table, pod, rooms, taken)]
        if len(still) == len(left):
            return still
        left = still


def _take_only_room(table: Table, pod: Pod, rooms: Sequence[Counts], taken: _Taken) -> bool:
    needed = table.needs(pod)
    if not needed:
        return False
    seats: dict[int, dict[str, int]] = {}
    for kind, number in needed.items():
        open_at = [
            i for i, room in enumerate(rooms) if room[kind] > taken.known[i].get(kind, 0)
        ]
        if len(open_at) != 1:
            return False
        held = taken.known[open_at[0]].get(kind, 0)
        if rooms[open_at[0]][kind] < held + number:
            return False
        seats.setdefault(open_at[0], {})[kind] = number
    for index, kinds in seats.items():
        taken.put(pod.ref, index, kinds)
    return True


def _spread(table: Table, pods: Sequence[Pod], rooms: Sequence[Counts], taken: _Taken) -> None:
    """Let pods without a seat hold room on every GPU that they may sit on."""
    every = set(range(len(rooms)))
    total = Counts()
    for pod in pods:
        needed = table.needs(pod)
        if needed is None:
            taken.everything |= every
        else:
            total = total.plus(needed)
    for kind, number in total.items():
        free = [
            max(0, room[kind] - taken.known[i].get(kind, 0)) for i, room in enumerate(rooms)
        ]
        if sum(free) < number:
            # They hold more than there is, so where they sit is anyone's guess.
            taken.everything |= every
        for index, amount in enumerate(free):
            may_hold = {kind: min(amount, number)}
            taken.possible[index] = taken.possible[index].plus(may_hold)


def _mark_active(table: Table, seen: Sightings, taken: _Taken) -> None:
    """Count activity without a known owner as one more holder."""
    extra: dict[int, dict[str, int]] = {}
    for index, profile in seen.active:
        kind = _active_kind(table, index, profile)
        if index is None or not 0 <= index < len(table.gpus):
            taken.everything |= set(range(len(table.gpus)))
        elif kind is None:
            taken.everything.add(index)
        else:
            kinds = extra.setdefault(index, {})
            kinds[kind] = kinds.get(kind, 0) + 1
    for index, kinds in extra.items():
        # It may be the activity of a pod that is counted already and has no label.
        counted = taken.possible[index].plus(taken.unlabelled[index])
        more = {kind: max(0, number - counted[kind]) for kind, number in kinds.items()}
        taken.possible[index] = taken.possible[index].plus(more)


def _active_kind(table: Table, index: int | None, profile: str) -> str | None:
    if index is None or not 0 <= index < len(table.gpus):
        return None
    counts = table.gpus[index].counts
    if not table.gpus[index].mig_enabled:
        return GPU
    name = parse_resource(table.model, profile)
    if name is not None and name in counts:
        return table.kind(name)
    alike = [n for n in counts if slices_in_name(n) == slices_in_name(profile)]
    return table.kind(alike[0]) if len(alike) == 1 else None


def _held(table: Table, gpu: Gpu, taken: _Taken, rooms: Counts) -> Gpu:
    known, possible = taken.known[gpu.index], taken.possible[gpu.index]
    is_proven = not possible and gpu.index not in taken.everything
    amounts = rooms if gpu.index in taken.everything else possible.plus(known)
    return replace(
        gpu,
        held=_by_profile(table, gpu, amounts) or _something(table, gpu, taken),
        holders=tuple(sorted(taken.holders[gpu.index])),
        proven=is_proven,
    )


def _something(table: Table, gpu: Gpu, taken: _Taken) -> Counts:
    # A GPU without instances can be in use all the same, by pods that asked for none.
    if gpu.index in taken.everything:
        return Counts({table.model.whole_gpu.name: 1})
    return Counts()


def _by_profile(table: Table, gpu: Gpu, amounts: Counts) -> Counts:
    """Return amounts by kind as amounts by profile, each as large as it may be."""
    if not gpu.mig_enabled:
        return Counts({table.model.whole_gpu.name: 1} if amounts[GPU] else {})
    return Counts(
        {name: min(number, amounts[table.kind(name)]) for name, number in gpu.counts.items()}
    )
