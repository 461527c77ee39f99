"""Functions of PromQL; the usual ones only."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence

from autoscaler.simulation.prometheus.series import Labels, Sample
from autoscaler.simulation.prometheus.syntax import QueryError
from autoscaler.simulation.prometheus.values import (
    Element,
    Value,
    Vector,
    keeping,
    nameless,
    scalar_of,
    text_of,
    unique,
    vector_of,
    windows_of,
)

SIMPLE: Mapping[str, Callable[[float], float]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "exp": math.exp,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "ln": lambda x: math.log(x) if x > 0 else math.nan,
}
OVER_TIME: Mapping[str, Callable[[Sequence[float]], float]] = {
    "avg_over_time": lambda values: math.fsum(values) / len(values),
    "min_over_time": min,
    "max_over_time": max,
    "sum_over_time": math.fsum,
    "count_over_time": lambda values: float(len(values)),
    "last_over_time": lambda values: values[-1],
    "present_over_time": lambda values: 1.0,
}
COUNTERS = frozenset({"rate", "increase"})
SPECIAL = frozenset(
    {
        "time",
        "vector",
        "scalar",
        "absent",
        "round",
        "clamp_min",
        "clamp_max",
        "label_replace",
        "histogram_quantile",
    }
)


def call(name: str, arguments: Sequence[Value], at_s: float, range_s: float) -> Value:
    """Return what a function gives; ``range_s`` is the range of its selector."""
    if name in SIMPLE:
        function = SIMPLE[name]
        return _mapped(_one(name, arguments), lambda x: float(function(x)))
    if name in OVER_TIME or name in COUNTERS:
        return _over_time(name, arguments, at_s, range_s)
    if name not in SPECIAL:
        raise QueryError(f'unknown function with name "{name}"')
    if name == "time":
        return at_s
    if name == "histogram_quantile":
        _expect(name, arguments, 2)
        quantile = scalar_of(arguments[0], name)
        return _histogram_quantile(quantile, vector_of(arguments[1], name))
    if name == "label_replace":
        return _label_replace(arguments)
    return _convert(name, arguments, at_s)


def _convert(name: str, arguments: Sequence[Value], at_s: float) -> Value:
    if name == "vector":
        _expect(name, arguments, 1)
        return (Element((), scalar_of(arguments[0], name), at_s),)
    if name == "scalar":
        vector = _one(name, arguments)
        return vector[0].value if len(vector) == 1 else math.nan
    if name == "absent":
        return () if _one(name, arguments) else (Element((), 1.0, at_s),)
    vector = vector_of(arguments[0], name) if arguments else ()
    bound = scalar_of(arguments[1], name) if len(arguments) == 2 else 1.0
    if name == "round":
        return _mapped(vector, lambda x: math.floor(x / bound + 0.5) * bound)
    _expect(name, arguments, 2)
    limit = max if name == "clamp_min" else min
    return _mapped(vector, lambda x: limit(x, bound))


def _one(name: str, arguments: Sequence[Value]) -> Vector:
    _expect(name, arguments, 1)
    return vector_of(arguments[0], name)


def _expect(name: str, arguments: Sequence[Value], number: int) -> None:
    if len(arguments) != number:
        raise QueryError(
            f'expected {number} argument(s) in call to "{name}", got {len(arguments)}'
        )


def _mapped(vector: Vector, function: Callable[[float], float]) -> Vector:
    return unique(Element(nameless(e.labels), function(e.value), e.at_s) for e in vector)


def _over_time(name: str, arguments: Sequence[Value], at_s: float, range_s: float) -> Vector:
    _expect(name, arguments, 1)
    found: list[Element] = []
    for window in windows_of(arguments[0], name):
        if name in COUNTERS:
            per_s = range_s if name == "rate" else 1.0
            value = _increase(window.samples, at_s, range_s, per_s)
        else:
            value = OVER_TIME[name]([sample.value for sample in window.samples])
        if value is not None:
            labels = window.labels if name == "last_over_time" else nameless(window.labels)
            found.append(Element(labels, value, at_s))
    return unique(found)


def _increase(
    samples: Sequence[Sample], at_s: float, range_s: float, per_s: float
) -> float | None:
    """Return a counter's increase over ``per_s``, carried on to the edges of the range."""
    if len(samples) < 2:
        return None
    first, last = samples[0], samples[-1]
    total = last.value - first.value
    for before, after in itertools.pairwise(samples):
        total += before.value if after.value < before.value else 0.0
    sampled_s = last.at_s - first.at_s
    mean_s = sampled_s / (len(samples) - 1)
    to_start_s = first.at_s - (at_s - range_s)
    to_end_s = at_s - last.at_s
    if total > 0 and first.value >= 0:
        # A counter was zero at some time; it is not carried on beyond that.
        to_start_s = min(to_start_s, sampled_s * first.value / total)
    edge_s = mean_s * 1.1
    to_start_s = to_start_s if to_start_s < edge_s else mean_s / 2
    to_end_s = to_end_s if to_end_s < edge_s else mean_s / 2
    factor = (sampled_s + to_start_s + to_end_s) / sampled_s
    return total * (factor / per_s)


def _label_replace(arguments: Sequence[Value]) -> Vector:
    _expect("label_replace", arguments, 5)
    vector = vector_of(arguments[0], "label_replace")
    target, template, source, pattern = (text_of(a, "label_replace") for a in arguments[1:])
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise QueryError(f"invalid regular expression in label_replace(): {pattern}") from error
    template = re.sub(r"\$\{?(\w+)\}?", r"\\g<\1>", template)
    found = []
    for element in vector:
        labels = dict(element.labels)
        match = compiled.fullmatch(labels.get(source, ""))
        if match:
            labels[target] = match.expand(template)
        kept: Labels = tuple(sorted(pair for pair in labels.items() if pair[1]))
        found.append(Element(kept, element.value, element.at_s))
    return unique(found)


def _histogram_quantile(quantile: float, vector: Vector) -> Vector:
    groups: dict[Labels, list[tuple[float, float]]] = {}
    at_s = 0.0
    for element in vector:
        labels = dict(element.labels)
        if "le" not in labels:
            continue
        at_s = element.at_s
        rest = [name for name in labels if name not in {"le", "__name__"}]
        bound = float(labels["le"].replace("+Inf", "inf"))
        groups.setdefault(keeping(element.labels, rest), []).append((bound, element.value))
    return unique(
        Element(labels, _quantile(quantile, sorted(buckets)), at_s)
        for labels, buckets in groups.items()
    )


def _quantile(quantile: float, buckets: Sequence[tuple[float, float]]) -> float:
    if len(buckets) < 2 or not math.isinf(buckets[-1][0]) or not buckets[-1][1]:
        return math.nan
    rank = quantile * buckets[-1][1]
    below_bound, below = 0.0, 0.0
    for bound, number in buckets:
        if number >= rank:
            if math.isinf(bound):
                return below_bound
            inside = number - below
            share = (rank - below) / inside if inside else 1.0
            return below_bound + (bound - below_bound) * share
        below_bound, below = bound, number
    return below_bound
