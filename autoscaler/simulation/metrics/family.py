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


class Shelf:
    """The series of one target, by the object they are about."""

    def __init__(self, store: SeriesStore, target: Target) -> None:
        self._store = store
        self._target = target
        self._shown: dict[str, dict[tuple[str, Labels], None]] = {}

    def show(self, owner: str, readings: Iterable[Reading], at_s: float) -> None:
        """Show these values of an object from a moment on, and none of its others."""
        old = self._shown.get(owner, {})
        new: dict[tuple[str, Labels], None] = {}
        for reading in readings:
            key = self._store.set(
                self._target, reading.name, reading.labels, at_s, reading.value
            )
            new[reading.name, key] = None
        for name, key in old:
            if (name, key) not in new:
                self._store.end(name, key, at_s)
        if new:
            self._shown[owner] = new
        else:
            self._shown.pop(owner, None)

    def clear(self, at_s: float) -> None:
        """Show nothing any more."""
        for owner in list(self._shown):
            self.show(owner, (), at_s)
