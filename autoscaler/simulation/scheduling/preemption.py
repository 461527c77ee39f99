"""Preemption: which pods of lower priority must go so that a pod fits on a node."""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.simulation.scheduling.filters import hard_reason, reasons_against
from autoscaler.simulation.scheduling.room import Room
from autoscaler.simulation.scheduling.shape import Shape


@dataclass(frozen=True, slots=True)
class Preemption:
    """A node and the uids of the pods to remove from it."""

    node: str
    victims: tuple[str, ...]


def find_preemption(shape: Shape, uid: str, rooms: Iterable[Room]) -> Preemption | None:
    """Return the least harm that makes room: lowest victims first, then fewest."""
    if not shape.may_preempt:
        return None
    best: tuple[tuple[int, int, int, str], Preemption] | None = None
    for room in rooms:
        victims = _victims_on(shape, uid, room)
        if not victims:
            continue
        priorities = [room.pods[victim].priority for victim in victims]
        rank = (max(priorities), sum(priorities), len(victims), room.name)
        if best is None or rank < best[0]:
            best = (rank, Preemption(room.name, victims))
    return best[1] if best else None


def _victims_on(shape: Shape, uid: str, room: Room) -> tuple[str, ...]:
    if not room.has_lower(shape.priority) or hard_reason(shape, room):
        return ()
    lower = [u for u, other in room.pods.items() if other.priority < shape.priority]
    if reasons_against(shape, room.without(lower), uid):
        return ()
    # Spare as many as possible, the most important first.
    victims = sorted(lower, key=lambda u: (-room.pods[u].priority, u))
    for candidate in list(victims):
        fewer = [victim for victim in victims if victim != candidate]
        if not reasons_against(shape, room.without(fewer), uid):
            victims = fewer
    return tuple(victims)
