"""Close by profile: what has just become free waits for the loop's next look.

A scheduler gives a free instance to the next pod of its profile within milliseconds, and
with it the chance to re-cut is gone for as long as that pod runs. Asked before each
binding, an extender can hold back what no plan has seen yet. Here it is a filter of the
simulated scheduler.
"""

from dataclasses import dataclass, field

from autoscaler.ports import PODS, RawObject
from autoscaler.simulation.controllers.informer import Feed
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import is_finished, needs_of, node_of
from autoscaler.simulation.scheduling.room import Room
from autoscaler.simulation.scheduling.shape import Shape

HELD = "node(s) had instances that no plan has seen yet"


@dataclass(slots=True)
class Closing:
    """Keeps nodes closed on which something became free since the loop last looked."""

    _feed: Feed | None = None
    _unseen: set[str] = field(default_factory=set)

    def watch(self, platform: Platform) -> None:
        """Follow the pods of a cluster from now on."""
        self._feed = platform.informers.of(PODS).subscribe()

    def open_all(self) -> bool:
        """Let everything be taken that is free now; say whether anything was held back."""
        self._take_in()
        opens = bool(self._unseen)
        self._unseen.clear()
        return opens

    def __call__(self, shape: Shape, room: Room) -> str:
        """Return why a pod may not be bound to a node now; empty when it may."""
        self._take_in()
        return HELD if shape.needs.devices and room.name in self._unseen else ""

    def _take_in(self) -> None:
        for notice in self._feed.take() if self._feed is not None else ():
            if notice.old is not None and _frees(notice.old, notice.new):
                self._unseen.add(node_of(notice.old))


def _frees(old: RawObject, new: RawObject | None) -> bool:
    """Say whether a pod has just let go of its devices."""
    held = bool(node_of(old)) and not is_finished(old) and bool(needs_of(old).devices)
    return held and (new is None or is_finished(new))
