"""Times as the API writes them."""

from datetime import UTC, datetime


def timestamp(epoch_s: float) -> str:
    """Return ``2026-01-02T03:04:05Z``, as ``metav1.Time`` has it."""
    return datetime.fromtimestamp(int(epoch_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def epoch_s(text: str) -> float | None:
    """Return the epoch seconds of a time stamp, ``None`` when it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
