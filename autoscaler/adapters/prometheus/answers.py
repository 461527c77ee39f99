"""What an answer of the query API means, judged on the whole of it.

Half an answer is common: HTTP 200 with an error inside, partial data with warnings,
another type than asked for, a login page. None of them may pass for "all idle".
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.adapters.prometheus.samples import Sample, sample_from

SHOWN = 200


class QueryFailed(Exception):
    """One query has no usable answer; the others may. Never leaves this package."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Samples of one query.

    Parameters
    ----------
    warnings
        What the back end said of its own answer; non-empty means that what is not
        listed is unknown.
    notices
        What we left out of it.
    """

    samples: tuple[Sample, ...] = ()
    warnings: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def answer_from(query: str, found: object) -> Answer:
    """Return the samples of a whole answer; QueryFailed names the query."""
    answer, data = data_in(query, found)
    if data.get("resultType") != "vector":
        raise QueryFailed(
            f"query {query}: the result is a {data.get('resultType')}, "
            "an instant vector is needed; change the query"
        )
    result = data["result"]
    samples, notices = samples_in(query, result if isinstance(result, list) else ())
    return Answer(samples, warnings_in(answer, data), notices)


def data_in(query: str, found: object) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Return a successful answer and its data, which holds a list of results."""
    if not isinstance(found, dict):
        raise QueryFailed(f"query {query}: the answer is not a JSON object")
    if found.get("status") != "success":
        kind, said = found.get("errorType") or "error", found.get("error") or "no message"
        raise QueryFailed(f"query {query} failed: {kind}: {said}")
    data = found.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("result"), list):
        raise QueryFailed(f"query {query}: the answer holds no data")
    return found, data


def warnings_in(found: Mapping[str, object], data: Mapping[str, object]) -> tuple[str, ...]:
    """Return what a back end says of its own answer; partial data is a warning too."""
    said = found.get("warnings")
    warnings = [str(text) for text in said] if isinstance(said, list) else []
    # VictoriaMetrics says so beside the data, others inside.
    if found.get("isPartial") is True or data.get("isPartial") is True:
        warnings.append("the answer is partial")
    return tuple(warnings)


def samples_in(
    query: str, result: Iterable[object]
) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """Return the finite samples of a vector, and a notice for those that are not."""
    samples, odd = [], 0
    for item in result:
        sample = _sample_in(item)
        if sample is None:
            odd += 1
        else:
            samples.append(sample)
    if not odd:
        return tuple(samples), ()
    return tuple(samples), (f"query {query}: {odd} samples are not numbers (NaN, Inf)",)


def _sample_in(item: object) -> Sample | None:
    if not isinstance(item, dict):
        return None
    metric, pair = item.get("metric"), item.get("value")
    if not isinstance(metric, dict) or not isinstance(pair, list) or len(pair) != 2:
        return None
    try:
        value = float(pair[1])
    except (TypeError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    return sample_from({str(key): str(text) for key, text in metric.items()}, value)


def body_of(query: str, body: bytes) -> object:
    """Return the JSON of a body; QueryFailed when it is another thing."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        shown = " ".join(body[:SHOWN].decode("utf-8", "replace").split())
        raise QueryFailed(f"query {query}: the answer is not JSON: {shown!r}") from None
