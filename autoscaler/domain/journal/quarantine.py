"""Quarantine: a node that is left alone for a while after a change went wrong.

It lives in an annotation of the node, so it outlives us and a person can read it.
The number of failures in a row is kept after the time is over, so that the next
failure waits twice as long; only a change that succeeds forgets it.
"""

import json
from dataclasses import dataclass
from typing import Self

from autoscaler.domain.journal.rollout import Result

CLEAR = "clear"
DOUBLINGS = 10
# The last second that a calendar can name.
LAST_S = 253_402_300_799
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why and how long a node is left alone.

    Parameters
    ----------
    reason, message
        Name of the reason and a sentence for people.
    since_s, until_s
        Epoch seconds.
    attempt
        Failures in a row; 0 when somebody else was the reason.
    cordoned
        Whether we left the node cordoned, because it advertised nothing sane.
    rollout
        Id of the rollout that failed.
    result
        How that rollout ended.
    cleared
        Whether an operator ended it before its time.
    """

    reason: str
    message: str
    since_s: float
    until_s: float
    attempt: int = 1
    cordoned: bool = False
    rollout: str = ""
    result: Result | None = None
    cleared: bool = False

    def is_over(self, now_s: float) -> bool:
        """Say whether the node may be planned for again."""
        return self.cleared or now_s >= self.until_s

    def to_text(self) -> str:
        """Return the value of the annotation."""
        fields = {
            "reason": self.reason,
            "message": self.message,
            "since": self.since_s,
            "until": self.until_s,
            "attempt": self.attempt,
            "cordoned": self.cordoned,
            "rollout": self.rollout,
        }
        if self.result is not None:
            fields["result"] = self.result.value
        if self.cleared:
            fields["cleared"] = True
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read an annotation; whatever cannot be read is a quarantine without end.

        A person may have written it by hand to keep us away, and the word ``clear``
        to let us in again.
        """
        if text.strip() == CLEAR:
            return cls("", "cleared by hand", 0.0, 0.0, cleared=True)
        try:
            fields = json.loads(text)
            return cls(
                reason=str(fields.get("reason", "")),
                message=str(fields.get("message", "")),
                since_s=float(fields.get("since", 0.0)),
                until_s=_end_s(float(fields["until"])),
                attempt=max(0, int(fields.get("attempt", 1))),
                cordoned=fields.get("cordoned") is True,
                rollout=str(fields.get("rollout", "")),
                result=Result(fields["result"]) if "result" in fields else None,
                cleared=fields.get("cleared") is True,
            )
        except UNREADABLE:
            return cls("Unreadable", f"not ours: {text[:80]!r}", 0.0, float("inf"))


def _end_s(until_s: float) -> float:
    """Return an end that a calendar can name; any other is no end."""
    return until_s if 0 <= until_s <= LAST_S else float("inf")


def backoff_s(first_s: float, failures: int) -> float:
    """Return the wait after a number of failures in a row: it doubles each time.

    Parameters
    ----------
    first_s
        Wait after the first failure, in seconds.
    failures
        At least 1; from the eleventh on the wait stays as it is.
    """
    return first_s * float(2 ** min(max(failures, 1) - 1, DOUBLINGS))
