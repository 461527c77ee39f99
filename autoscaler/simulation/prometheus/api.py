"""Prometheus' HTTP API without the HTTP: parameters in, status and JSON out."""

import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from autoscaler.ports import RawObject
from autoscaler.simulation.prometheus.evaluation import evaluate
from autoscaler.simulation.prometheus.parser import parse, parse_duration
from autoscaler.simulation.prometheus.series import LOOKBACK_S, Labels, Series, SeriesStore
from autoscaler.simulation.prometheus.syntax import QueryError, Selector
from autoscaler.simulation.prometheus.values import Element, Value, type_name, vector_of

MAX_POINTS = 11_000
VERSION = "3.5.0"
_LABEL_VALUES = re.compile(r"/api/v1/label/([a-zA-Z_]\w*)/values")

Parameters = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Reply:
    """Status and body of an answer."""

    status: int
    body: RawObject


@dataclass(slots=True)
class Outage:
    """How the API misbehaves, set by scripts.

    Parameters
    ----------
    status
        HTTP status of every answer; 0 for none of this.
    warnings
        Added to every answer: the data is partial.
    """

    status: int = 0
    warnings: tuple[str, ...] = ()


class PrometheusApi:
    """Answers queries on the series of a store.

    Parameters
    ----------
    now
        Time of an instant query that names none.
    refresh
        Called before each answer, for sources that put work off.

    Attributes
    ----------
    lock
        Held while a query is answered; whoever changes the store beside it holds it too.
    """

    def __init__(
        self,
        store: SeriesStore,
        now: Callable[[], float],
        refresh: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._now = now
        self._refresh = refresh
        self.lock = threading.RLock()
        self.outage = Outage()

    def query(self, text: str, at_s: float | None = None) -> RawObject:
        """Return the ``data`` of an instant query; QueryError when it has no answer."""
        at_s = self._now() if at_s is None else at_s
        with self.lock:
            self._refresh()
            value = evaluate(parse(text), self._store, at_s)
        kind = type_name(value)
        if isinstance(value, float):
            return {"resultType": kind, "result": [at_s, number_text(value)]}
        if isinstance(value, str):
            return {"resultType": kind, "result": [at_s, value]}
        if kind == "range vector":
            return {"resultType": "matrix", "result": _matrix(value)}
        elements = vector_of(value, "query")
        result = [
            {"metric": dict(e.labels), "value": [at_s, number_text(e.value)]} for e in elements
        ]
        return {"resultType": "vector", "result": result}

    def query_range(self, text: str, start_s: float, end_s: float, step_s: float) -> RawObject:
        """Return the ``data`` of a range query."""
        if step_s <= 0:
            raise QueryError(
                "zero or negative query resolution step widths are not accepted. Try a "
                "positive integer"
            )
        if end_s < start_s:
            raise QueryError("end timestamp must not be before start time")
        if (end_s - start_s) / step_s > MAX_POINTS:
            raise QueryError(
                "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing "
                "the query resolution (?step=XX)"
            )
        tree = parse(text)
        self._refresh()
        found: dict[Labels, list[list[float | str]]] = {}
        for number in range(math.floor((end_s - start_s) / step_s + 1e-9) + 1):
            at_s = round(start_s + number * step_s, 3)
            for element in _elements(evaluate(tree, self._store, at_s), at_s):
                point: list[float | str] = [at_s, number_text(element.value)]
                found.setdefault(element.labels, []).append(point)
        result = [{"metric": dict(k), "values": points} for k, points in sorted(found.items())]
        return {"resultType": "matrix", "result": result}

    def answer(self, path: str, parameters: Parameters) -> Reply:
        """Return what a request to a path gets."""
        if self.outage.status:
            body = {"status": "error", "errorType": "unavailable", "error": "out of service"}
            return Reply(self.outage.status, body)
        try:
            with self.lock:
                data = self._data(path, parameters)
        except QueryError as error:
            status = 422 if error.kind == "execution" else 400
            body = {"status": "error", "errorType": error.kind, "error": str(error)}
            return Reply(status, body)
        if data is None:
            return Reply(404, {"status": "error", "errorType": "not_found", "error": path})
        reply: RawObject = {"status": "success", "data": data}
        if self.outage.warnings:
            reply["warnings"] = list(self.outage.warnings)
        return Reply(200, reply)

    def _data(self, path: str, parameters: Parameters) -> object:
        match path:
            case "/api/v1/query":
                at = parameters.get("time")
                text = _one(parameters, "query")
                return self.query(text, parse_time(at[0], "time") if at else None)
            case "/api/v1/query_range":
                return self.query_range(
                    _one(parameters, "query"),
                    parse_time(_one(parameters, "start"), "start"),
                    parse_time(_one(parameters, "end"), "end"),
                    _step(_one(parameters, "step")),
                )
            case "/api/v1/series":
                if not parameters.get("match[]"):
                    raise QueryError("no match[] parameter provided")
                return [dict(series.labels) for series in self._matching(parameters)]
            case "/api/v1/labels":
                names = (name for s in self._matching(parameters) for name, _ in s.labels)
                return sorted(set(names))
            case "/api/v1/status/buildinfo":
                return {"version": VERSION, "revision": "simulated", "goVersion": "none"}
        if found := _LABEL_VALUES.fullmatch(path):
            return self._label_values(found[1], parameters)
        return None

    def _label_values(self, label: str, parameters: Parameters) -> list[str]:
        values = (dict(series.labels).get(label) for series in self._matching(parameters))
        return sorted({value for value in values if value is not None})

    def _matching(self, parameters: Parameters) -> list[Series]:
        """Return the series of the ``match[]`` selectors, all without any."""
        self._refresh()
        start = parameters.get("start")
        since_s = parse_time(start[0], "start") if start else self._now() - LOOKBACK_S
        selectors = [parse(text) for text in parameters.get("match[]") or ()]
        found: dict[Labels, Series] = {}
        for selector in selectors or [Selector(name) for name in self._store.names]:
            if not isinstance(selector, Selector):
                raise QueryError("match[] must be a series selector")
            for series in self._store.select(selector.name, selector.matchers, since_s):
                found[series.labels] = series
        return [found[labels] for labels in sorted(found)]


def number_text(value: float) -> str:
    """Return a number as Prometheus writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e17 else repr(value)


def parse_time(text: str, name: str) -> float:
    """Return epoch seconds of a number or an RFC 3339 time."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise QueryError(
            f'invalid parameter "{name}": cannot parse "{text}" to a valid timestamp'
        )
    return moment.timestamp()


def _step(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return parse_duration(text)


def _one(parameters: Parameters, name: str) -> str:
    values = parameters.get(name)
    if not values:
        raise QueryError(f'invalid parameter "{name}": missing')
    return values[0]


def _elements(value: Value, at_s: float) -> Sequence[Element]:
    if isinstance(value, float):
        return (Element((), value, at_s),)
    return vector_of(value, "range query")


def _matrix(value: Value) -> list[RawObject]:
    windows = value if isinstance(value, tuple) else ()
    return [
        {
            "metric": dict(window.labels),
            "values": [[s.at_s, number_text(s.value)] for s in window.samples],
        }
        for window in windows
        if not isinstance(window, Element)
    ]
