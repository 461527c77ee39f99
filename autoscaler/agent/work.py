"""What is to be done next on the boards of a node: one instance at a time.

Pure. Asked again after each act, and after a crash at any of them, it leads to what was
ordered. Whatever pods hold is never in the way of being asked: then nothing is done.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autoscaler.domain.cluster.board import Board, BoardInstance
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.mig.geometry import Geometry, GpuInstance, transitions
from autoscaler.domain.rollout.agent_report import Order


@dataclass(frozen=True, slots=True)
class Destroy:
    """Destroy an instance that nobody holds."""

    board: Board
    instance: BoardInstance

    def __str__(self) -> str:
        return f"destroy {self.instance.place} of GPU {self.board.index}"


@dataclass(frozen=True, slots=True)
class Create:
    """Create an instance at its place, or complete it there."""

    board: Board
    place: GpuInstance

    def __str__(self) -> str:
        return f"create {self.place} on GPU {self.board.index}"


@dataclass(frozen=True, slots=True)
class Blocked:
    """Pods hold what is to be destroyed; nothing is done until they have left."""

    message: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """The boards are not those of the order."""

    message: str


Work = Destroy | Create | Blocked | Impossible


def next_work(
    order: Order, boards: Sequence[Board], holders: Mapping[str, PodRef]
) -> Work | None:
    """Return what is to be done next, ``None`` when the boards are as ordered.

    Parameters
    ----------
    boards
        All boards of the node, in index order.
    holders
        The pod that holds a device, by the device's UUID.
    """
    problem = _problem(order, boards)
    if problem:
        return Impossible(problem)
    # Nothing at all is destroyed while anything cannot be: a node half way between two
    # layouts serves neither.
    in_the_way = [text for i in order.geometries for text in _held(boards[i], order, holders)]
    if in_the_way:
        return Blocked("; ".join(in_the_way))
    for index, target in sorted(order.geometries.items()):
        work = _next_on(boards[index], target)
        if work is not None:
            return work
    return None


def _problem(order: Order, boards: Sequence[Board]) -> str:
    if len(boards) != order.num_gpus:
        return f"the node has {len(boards)} GPUs, the plan saw {order.num_gpus}"
    off = [str(i) for i in sorted(order.geometries) if not boards[i].mig_enabled]
    return f"MIG mode is off on GPU {', '.join(off)}" if off else ""


def _held(board: Board, order: Order, holders: Mapping[str, PodRef]) -> Iterator[str]:
    """Yield who holds an instance of a board that is to be destroyed."""
    kept = order.geometries[board.index].instances
    for instance in board.instances:
        if instance.place in kept:
            continue
        for pod in sorted({holders[d] for d in instance.devices if d in holders}):
            yield f"{pod} holds {instance.place} of GPU {board.index}"


def _next_on(board: Board, target: Geometry) -> Work | None:
    after = next(transitions(board.taken, target), None)
    if after is None:
        bare = next((i for i in board.instances if i.is_bare), None)
        return None if bare is None else Create(board, bare.place)
    (place,) = set(board.taken.instances) ^ set(after.instances)
    instance = board.instance_at(place)
    return Create(board, place) if instance is None else Destroy(board, instance)
