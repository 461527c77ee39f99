"""The board: what the loop last pinned up for those who ask over HTTP."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Notes:
    """What one cycle left.

    Parameters
    ----------
    status
        The status, in the form of the status ConfigMap.
    plan
        The plan in force; ``None`` when there is none yet.
    holds
        Reason, node and message of each hold.
    """

    status: Json = field(default_factory=dict)
    plan: Json | None = None
    holds: tuple[Json, ...] = ()


class Board:
    """Holds the newest notes; written by the loop's thread, read by the server's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes = Notes()

    def pin(self, notes: Notes) -> None:
        """Replace what is there."""
        with self._lock:
            self._notes = notes

    def read(self) -> Notes:
        """Return what is there."""
        with self._lock:
            return self._notes
