"""Tells the autoscaler of peaks to come, as people do: by an annotation on a namespace."""

from collections.abc import Iterable
from datetime import UTC, datetime

from autoscaler.domain.cluster.marks import PEAK
from autoscaler.ports import NAMESPACES
from autoscaler.simulation.study.splits import Announcement
from autoscaler.simulation.world import World


def announce(world: World, namespace: str, announced: Iterable[Announcement]) -> None:
    """Annotate a namespace with what will be asked for in it."""
    text = note_of(announced, world.settings.start_s)
    body = {"metadata": {"annotations": {PEAK: text}}}
    world.platform.client.patch(NAMESPACES, None, namespace, body)


def note_of(announced: Iterable[Announcement], start_s: float) -> str:
    """Return the annotation's text; the run starts at an epoch second."""
    amounts: dict[tuple[float, float], dict[str, int]] = {}
    for own in announced:
        span = amounts.setdefault((own.start_s, own.end_s), {})
        span[own.profile] = span.get(own.profile, 0) + own.number
    parts = []
    for (first_s, last_s), numbers in sorted(amounts.items()):
        told = ",".join(f"{name}={number}" for name, number in sorted(numbers.items()))
        times = (
            datetime.fromtimestamp(start_s + s, UTC).isoformat() for s in (first_s, last_s)
        )
        parts.append(f"{told} {'/'.join(times)}")
    return "; ".join(parts)
