"""What an answer to a range query means: series of points, judged on the whole of it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.adapters.prometheus.answers import QueryFailed, data_in, warnings_in
from autoscaler.adapters.prometheus.samples import lower

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one series in the order of the answer; those that are no numbers left out."""

    labels: Mapping[str, str]
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """Series of one query.

    Parameters
    ----------
    warnings
        What the back end said of its own answer; non-empty means that what is not
        listed is unknown.
    odd
        How many points were not numbers.
    """

    series: tuple[Series, ...] = ()
    warnings: tuple[str, ...] = ()
    odd: int = 0


def range_answer_from(query: str, found: object) -> RangeAnswer:
    """Return the series of a whole answer; QueryFailed names the query."""
    answer, data = data_in(query, found)
    if data.get("resultType") != "matrix":
        raise QueryFailed(f"query {query}: the result is a {data.get('resultType')}")
    series, odd = [], 0
    result = data["result"]
    for item in result if isinstance(result, list) else ():
        metric = item.get("metric") if isinstance(item, dict) else None
        values = item.get("values") if isinstance(item, dict) else None
        if not isinstance(metric, dict) or not isinstance(values, list):
            odd += 1
            continue
        points, lost = _points(values)
        odd += lost
        labels = {lower(str(key)): str(text) for key, text in metric.items()}
        series.append(Series(labels, points))
    return RangeAnswer(tuple(series), warnings_in(answer, data), odd)


def _points(values: Iterable[object]) -> tuple[tuple[Point, ...], int]:
    points, odd = [], 0
    for pair in values:
        point = _point(pair)
        if point is None:
            odd += 1
        else:
            points.append(point)
    return tuple(points), odd


def _point(pair: object) -> Point | None:
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    try:
        at_s, value = float(pair[0]), float(pair[1])
    except (TypeError, ValueError):
        return None
    return (at_s, value) if math.isfinite(at_s) and math.isfinite(value) else None
