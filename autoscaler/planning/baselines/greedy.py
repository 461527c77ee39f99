"""First fit, and best fit decreasing: pods one after the other, wherever there is room.

References
----------
The order of pods and of places is that of the textbook rules: first fit takes pods as
they come and GPUs in fixed order, best fit decreasing takes large pods first and the GPU
with the least room that is left.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence

from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.placement import mask_of, placements
from autoscaler.domain.mig.resource import parse_resource
from autoscaler.planning.baselines.board import Board, boards_of, models_of, refilled, size_of

Chooser = Callable[[Board, Sequence[GpuInstance]], GpuInstance]


def first_fit(snapshot: Snapshot, demand: Demand) -> Snapshot:
    """Return the fleet as first fit would cut it."""
    boards = boards_of(snapshot)
    nodes = _by_node(boards)
    for group in demand.groups:
        names = [name for name in nodes if name in group.eligible]
        first = 0
        for _ in group.pods:
            # Room only shrinks: where one of them found none, none of the others will.
            while first < len(names) and not _fill_in_order(nodes[names[first]], group):
                first += 1
    return refilled(snapshot, boards)


def best_fit_decreasing(snapshot: Snapshot, demand: Demand) -> Snapshot:
    """Return the fleet as best fit decreasing would cut it."""
    boards = boards_of(snapshot)
    nodes = _by_node(boards)
    models = models_of(boards)
    groups = sorted(demand.groups, key=lambda group: size_of(group, models), reverse=True)
    for group in groups:
        names = [name for name in nodes if name in group.eligible]
        if group.bundle.total() == 1:
            _best_of(group, [board for name in names for board in nodes[name]])
            continue
        heap = [(_room(nodes[name]), name) for name in names]
        heapq.heapify(heap)
        left = group.number
        while heap and left:
            _, name = heapq.heappop(heap)
            if _fill_tightly(nodes[name], group):
                left -= 1
                heapq.heappush(heap, (_room(nodes[name]), name))
    return refilled(snapshot, boards)


def _best_of(group: DemandGroup, boards: Sequence[Board]) -> None:
    (resource,) = group.bundle
    heap = [(board.free_slices, index) for index, board in enumerate(boards)]
    heapq.heapify(heap)
    left = group.number
    while heap and left:
        _, index = heapq.heappop(heap)
        board = boards[index]
        profile = parse_resource(board.model, resource)
        starts = board.starts_for(profile) if profile else []
        if starts:
            board.placed.append(_roomiest(board, starts))
            left -= 1
            heapq.heappush(heap, (board.free_slices, index))


def _by_node(boards: Iterable[Board]) -> dict[str, list[Board]]:
    nodes: dict[str, list[Board]] = {}
    for board in boards:
        nodes.setdefault(board.node, []).append(board)
    return nodes


def _room(boards: Iterable[Board]) -> int:
    return sum(board.free_slices for board in boards)


def _fill_in_order(boards: Sequence[Board], group: DemandGroup) -> bool:
    return _fill(boards, group, lambda board, starts: starts[0])


def _fill_tightly(boards: Sequence[Board], group: DemandGroup) -> bool:
    return _fill(sorted(boards, key=lambda b: b.free_slices), group, _roomiest)


def _fill(boards: Sequence[Board], group: DemandGroup, choose: Chooser) -> bool:
    """Put all instances of a pod on a node, or none."""
    done: list[Board] = []
    for resource, number in group.bundle.items():
        for _ in range(number):
            board = _put(boards, resource, choose)
            if board is None:
                for own in done[::-1]:
                    own.placed.pop()
                return False
            done.append(board)
    return bool(done)


def _put(boards: Sequence[Board], resource: str, choose: Chooser) -> Board | None:
    for board in boards:
        profile = parse_resource(board.model, resource)
        starts = board.starts_for(profile) if profile else []
        if starts:
            board.placed.append(choose(board, starts))
            return board
    return None


def _roomiest(board: Board, starts: Sequence[GpuInstance]) -> GpuInstance:
    """Return the start that leaves the most room for large instances."""
    taken = mask_of(board.taken)

    def left(instance: GpuInstance) -> int:
        mask = taken | mask_of(Geometry((instance,)))
        return sum(p.instance.size for p in placements(board.model) if not p.mask & mask)

    return max(starts, key=lambda i: (i in board.present.instances, left(i), -i.start))
