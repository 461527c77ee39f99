"""Series for tests of the simulated Prometheus, and the same for promtool."""

from collections.abc import Mapping, Sequence

from autoscaler.simulation.prometheus.api import PrometheusApi
from autoscaler.simulation.prometheus.series import SeriesStore, Target

STEP_S = 60.0

Values = Sequence[float | None]


def make_target(job: str = "", interval_s: float = STEP_S, **changes: float) -> Target:
    """Return a target that has always answered, scraped on full multiples."""
    target = Target((("job", job),) if job else (), interval_s, **changes)
    target.up.set(0.0, 0.0)
    return target


def make_store(
    series: Mapping[tuple[str, tuple[tuple[str, str], ...]], Values],
    target: Target | None = None,
) -> SeriesStore:
    """Return a store with one value a minute for each series; None where it is absent."""
    store = SeriesStore()
    target = target or make_target()
    for (name, labels), values in series.items():
        key = None
        for index, value in enumerate(values):
            if value is not None:
                key = store.set(target, name, dict(labels), index * STEP_S, value)
            elif key is not None:
                store.end(name, key, index * STEP_S)
    return store


def make_api(series, now_s: float = 0.0) -> PrometheusApi:
    return PrometheusApi(make_store(series), lambda: now_s)


def one(name: str, *values: float | None, **labels: str):
    """Return one entry of a store."""
    return (name, tuple(sorted(labels.items()))), values


def vector(api: PrometheusApi, query: str, at_s: float) -> dict[str, str]:
    """Return an instant vector as labels to value, both as text."""
    data = api.query(query, at_s)
    assert data["resultType"] == "vector"
    found = {}
    for element in data["result"]:
        labels = ",".join(f"{key}={value}" for key, value in sorted(element["metric"].items()))
        found[labels] = element["value"][1]
    assert len(found) == len(data["result"])
    return found
