"""What an expression is worth: a number, or elements with labels."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.simulation.prometheus.series import Labels, Sample
from autoscaler.simulation.prometheus.syntax import QueryError

NAME = "__name__"


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an instant vector."""

    labels: Labels
    value: float
    at_s: float

    def worth(self, value: float) -> "Element":
        """Return it with another value, still under its name."""
        return Element(self.labels, value, self.at_s)


@dataclass(frozen=True, slots=True)
class Window:
    """One element of a range vector."""

    labels: Labels
    samples: tuple[Sample, ...]


Vector = tuple[Element, ...]
Windows = tuple[Window, ...]
Value = float | str | Vector | Windows


def nameless(labels: Labels) -> Labels:
    """Return labels without the metric name."""
    return tuple(pair for pair in labels if pair[0] != NAME)


def keeping(labels: Labels, names: Iterable[str]) -> Labels:
    """Return only the labels with these names."""
    wanted = set(names)
    return tuple(pair for pair in labels if pair[0] in wanted)


def dropping(labels: Labels, names: Iterable[str]) -> Labels:
    """Return all labels but those with these names, and without the metric name."""
    unwanted = {*names, NAME}
    return tuple(pair for pair in labels if pair[0] not in unwanted)


def unique(elements: Iterable[Element]) -> Vector:
    """Return elements in the order of their labels; an error when two are alike."""
    found = tuple(sorted(elements, key=lambda element: element.labels))
    for left, right in itertools.pairwise(found):
        if left.labels == right.labels:
            raise QueryError(
                "vector cannot contain metrics with the same labelset", "execution"
            )
    return found


def vector_of(value: Value, where: str) -> Vector:
    """Return an instant vector, or say what was given instead of one."""
    if isinstance(value, tuple) and not any(isinstance(item, Window) for item in value):
        return tuple(item for item in value if isinstance(item, Element))
    raise QueryError(f"expected type instant vector in {where}, got {type_name(value)}")


def windows_of(value: Value, where: str) -> Windows:
    """Return a range vector, or say what was given instead of one."""
    if isinstance(value, tuple) and not any(isinstance(item, Element) for item in value):
        return tuple(item for item in value if isinstance(item, Window))
    raise QueryError(f"expected type range vector in {where}, got {type_name(value)}")


def scalar_of(value: Value, where: str) -> float:
    """Return a number, or say what was given instead of one."""
    if isinstance(value, float):
        return value
    raise QueryError(f"expected type scalar in {where}, got {type_name(value)}")


def text_of(value: Value, where: str) -> str:
    """Return a text, or say what was given instead of one."""
    if isinstance(value, str):
        return value
    raise QueryError(f"expected type string in {where}, got {type_name(value)}")


def type_name(value: Value) -> str:
    """Return Prometheus' word for the type of a value."""
    if isinstance(value, float):
        return "scalar"
    if isinstance(value, str):
        return "string"
    is_range = any(isinstance(item, Window) for item in value)
    return "range vector" if is_range else "instant vector"
