"""Sets of series that belong to one object and are replaced together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.simulation.prometheus.series import Labels, SeriesStore, Target


@dataclass(frozen=True, slots=True)
class Reading:
    """One value that an exporter shows."""

    name: str
    labels: Mapping[str, str]
    value: float


# Name and labels of a reading, as the exporter gives them.
ReadingKey = tuple[str, tuple[tuple[str, str], ...]]


class Shelf:
    """The series of one target, by the object they are about."""

    def __init__(self, store: SeriesStore, target: Target) -> None:
        self._store = store
        self._target = target
        self._shown: dict[str, dict[ReadingKey, tuple[float, Labels]]] = {}

    def show(self, owner: str, readings: Iterable[Reading], at_s: float) -> None:
        """Show these values of an object from a moment on, and none of its others."""
        old = self._shown.get(owner, {})
        new: dict[ReadingKey, tuple[float, Labels]] = {}
        for reading in readings:
            key = (reading.name, tuple(reading.labels.items()))
            known = old.pop(key, None)
            # Most values of a changed object are what they were.
            if known is None or known[0] != reading.value:
                series = self._store.set(
                    self._target, reading.name, reading.labels, at_s, reading.value
                )
                known = (reading.value, series)
            new[key] = known
        kept = {(name, series) for (name, _), (_, series) in new.items()} if old else set()
        for (name, _), (_, series) in old.items():
            if (name, series) not in kept:
                self._store.end(name, series, at_s)
        if new:
            self._shown[owner] = new
        else:
            self._shown.pop(owner, None)

    def clear(self, at_s: float) -> None:
        """Show nothing any more."""
        for owner in list(self._shown):
            self.show(owner, (), at_s)
