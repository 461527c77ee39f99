"""Evaluates a query at one moment."""

from autoscaler.simulation.prometheus import functions, operators
from autoscaler.simulation.prometheus.series import LOOKBACK_S, Labels, Sample, SeriesStore
from autoscaler.simulation.prometheus.syntax import (
    Aggregate,
    Binary,
    Call,
    Negation,
    Node,
    Number,
    QueryError,
    Selector,
    Text,
)
from autoscaler.simulation.prometheus.values import (
    Element,
    Value,
    Vector,
    Window,
    Windows,
    nameless,
    unique,
    vector_of,
)


def evaluate(node: Node, store: SeriesStore, at_s: float) -> Value:
    """Return what an expression is worth at a moment."""
    match node:
        case Number(value) | Text(value):
            return value
        case Selector():
            return _select(node, store, at_s)
        case Aggregate():
            body = vector_of(evaluate(node.body, store, at_s), node.operator)
            return operators.aggregate(node, body, at_s)
        case Binary():
            left = evaluate(node.left, store, at_s)
            return operators.combine(node, left, evaluate(node.right, store, at_s), at_s)
        case Negation(body):
            return operators.negate(evaluate(body, store, at_s))
        case Call():
            return _call(node, store, at_s)


def _call(node: Call, store: SeriesStore, at_s: float) -> Value:
    if node.function == "timestamp":
        return _timestamp(node, store, at_s)
    ranges_s = [a.range_s for a in node.arguments if isinstance(a, Selector) and a.range_s]
    arguments = [evaluate(argument, store, at_s) for argument in node.arguments]
    return functions.call(node.function, arguments, at_s, ranges_s[0] if ranges_s else 0.0)


def _timestamp(node: Call, store: SeriesStore, at_s: float) -> Vector:
    """Return sample times for a bare selector, the time of evaluation for all else."""
    if len(node.arguments) != 1:
        raise QueryError('expected 1 argument(s) in call to "timestamp"')
    vector = vector_of(evaluate(node.arguments[0], store, at_s), "timestamp")
    is_bare = isinstance(node.arguments[0], Selector)
    return unique(
        Element(nameless(e.labels), e.at_s if is_bare else at_s, at_s) for e in vector
    )


def _select(node: Selector, store: SeriesStore, at_s: float) -> Vector | Windows:
    at_s = at_s - node.offset_s
    if node.range_s is not None:
        return _select_range(node, store, at_s, node.range_s)
    found: list[Element] = []
    for series in store.select(node.name, node.matchers, at_s - 2 * LOOKBACK_S):
        sample = series.sample(at_s)
        if sample is not None:
            found.append(Element(series.labels, sample.value, sample.at_s))
    return unique(found)


def _select_range(node: Selector, store: SeriesStore, at_s: float, range_s: float) -> Windows:
    # A series that came back is another object with the same labels.
    samples: dict[Labels, list[Sample]] = {}
    start_s = at_s - range_s
    for series in store.select(node.name, node.matchers, start_s):
        found = series.samples(start_s, at_s)
        if found:
            samples.setdefault(series.labels, []).extend(found)
    return tuple(
        Window(labels, tuple(sorted(found, key=lambda sample: sample.at_s)))
        for labels, found in sorted(samples.items())
    )
