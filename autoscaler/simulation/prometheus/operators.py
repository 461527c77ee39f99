"""Binary operators and aggregations on vectors."""

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence

from autoscaler.simulation.prometheus.series import Labels
from autoscaler.simulation.prometheus.syntax import Aggregate, Binary, Matching, QueryError
from autoscaler.simulation.prometheus.values import (
    Element,
    Value,
    Vector,
    dropping,
    keeping,
    nameless,
    scalar_of,
    unique,
    vector_of,
)


def _divide(left: float, right: float) -> float:
    if right:
        return left / right
    return math.nan if not left or math.isnan(left) else math.copysign(math.inf, left)


def _modulo(left: float, right: float) -> float:
    return math.fmod(left, right) if right else math.nan


ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _modulo,
    "^": math.pow,
}
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "min": min,
    "max": max,
    "avg": lambda values: math.fsum(values) / len(values),
    "count": lambda values: float(len(values)),
    "group": lambda values: 1.0,
}


def aggregate(node: Aggregate, vector: Vector, at_s: float) -> Vector:
    """Return one element a group."""
    groups: dict[Labels, list[float]] = {}
    for element in vector:
        if node.without:
            labels = dropping(element.labels, node.labels)
        else:
            labels = keeping(element.labels, node.labels)
        groups.setdefault(labels, []).append(element.value)
    combine = AGGREGATES[node.operator]
    return unique(Element(labels, combine(values), at_s) for labels, values in groups.items())


def combine(node: Binary, left: Value, right: Value, at_s: float) -> Value:
    """Return what a binary operator makes of two values."""
    if node.operator in {"and", "or", "unless"}:
        return _combine_sets(
            node, vector_of(left, node.operator), vector_of(right, node.operator)
        )
    if isinstance(left, float) and isinstance(right, float):
        return _combine_numbers(node, left, right)
    if isinstance(left, float):
        number = left
        elements = vector_of(right, node.operator)
        pairs = ((e, _apply(node, number, e.value, kept=e.value)) for e in elements)
        return _kept(node, pairs)
    if isinstance(right, float):
        other = right
        elements = vector_of(left, node.operator)
        pairs = ((e, _apply(node, e.value, other, kept=e.value)) for e in elements)
        return _kept(node, pairs)
    return _combine_vectors(
        node, vector_of(left, node.operator), vector_of(right, node.operator), at_s
    )


def negate(value: Value) -> Value:
    """Return a value with its sign turned."""
    if isinstance(value, float):
        return -value
    elements = vector_of(value, "unary expression")
    return unique(Element(nameless(e.labels), -e.value, e.at_s) for e in elements)


def _combine_numbers(node: Binary, left: float, right: float) -> float:
    if node.operator in COMPARISONS and not node.as_bool:
        raise QueryError("comparisons between scalars must use BOOL modifier")
    result = _apply(node, left, right, kept=left)
    return scalar_of(math.nan if result is None else result, node.operator)


def _apply(node: Binary, left: float, right: float, *, kept: float) -> float | None:
    """Return the result; ``None`` for an element that a comparison leaves out."""
    if node.operator in ARITHMETIC:
        return ARITHMETIC[node.operator](left, right)
    holds = COMPARISONS[node.operator](left, right)
    if node.as_bool:
        return float(holds)
    return kept if holds else None


def _kept(node: Binary, pairs: Iterable[tuple[Element, float | None]]) -> Vector:
    keeps_name = node.operator in COMPARISONS and not node.as_bool
    return unique(
        Element(element.labels if keeps_name else nameless(element.labels), value, element.at_s)
        for element, value in pairs
        if value is not None
    )


def _combine_sets(node: Binary, left: Vector, right: Vector) -> Vector:
    if node.operator == "or" and not right:
        # Default queries ask for metrics under several names, of which most are absent.
        return left
    signature = _signature(node.matching)
    in_left = {signature(element.labels) for element in left}
    in_right = {signature(element.labels) for element in right}
    if node.operator == "and":
        return tuple(e for e in left if signature(e.labels) in in_right)
    if node.operator == "unless":
        return tuple(e for e in left if signature(e.labels) not in in_right)
    return unique([*left, *(e for e in right if signature(e.labels) not in in_left)])


def _signature(matching: Matching) -> Callable[[Labels], Labels]:
    if matching.on:
        return lambda labels: keeping(labels, matching.labels)
    return lambda labels: dropping(labels, matching.labels)


def _combine_vectors(node: Binary, left: Vector, right: Vector, at_s: float) -> Vector:
    signature = _signature(node.matching)
    swapped = node.matching.group == "right"
    many, one = (right, left) if swapped else (left, right)
    partners = _by_signature(one, signature)
    seen: set[Labels] = set()
    found: list[Element] = []
    for element in many:
        key = signature(element.labels)
        partner = partners.get(key)
        if partner is None:
            continue
        if not node.matching.group and key in seen:
            raise QueryError(
                "multiple matches for labels: many-to-one matching must be explicit "
                "(group_left/group_right)",
                "execution",
            )
        seen.add(key)
        operands = (partner, element) if swapped else (element, partner)
        value = _apply(node, operands[0].value, operands[1].value, kept=operands[0].value)
        if value is not None:
            found.append(Element(_result_labels(node, element, partner), value, at_s))
    return unique(found)


def _by_signature(
    elements: Vector, signature: Callable[[Labels], Labels]
) -> dict[Labels, Element]:
    found: dict[Labels, Element] = {}
    for element in elements:
        key = signature(element.labels)
        if key in found:
            raise QueryError(
                "found duplicate series for the match group "
                f"{dict(key)}; many-to-many matching not allowed",
                "execution",
            )
        found[key] = element
    return found


def _result_labels(node: Binary, element: Element, partner: Element) -> Labels:
    matching = node.matching
    keeps_name = node.operator in COMPARISONS and not node.as_bool
    labels = element.labels if keeps_name else nameless(element.labels)
    if not matching.group:
        if matching.on:
            return keeping(labels, matching.labels)
        return tuple(pair for pair in labels if pair[0] not in matching.labels)
    taken = keeping(partner.labels, matching.include)
    rest = tuple(pair for pair in labels if pair[0] not in matching.include)
    return tuple(sorted((*rest, *taken)))
