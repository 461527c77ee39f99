"""What ``forecast`` prints, as one document."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan

from autoscaler.cli.moment import moment_text
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.policy import PlanningRules
from autoscaler.planning.forecasting.backtest import Backtest
from autoscaler.planning.forecasting.forecast import Forecast
from autoscaler.planning.past.past_jobs import mean_service_s
from autoscaler.planning.past.value_history import PoolPast
from autoscaler.planning.program.worth import slices_by_resource

VERSION = "mig-autoscaler.io/v1alpha1"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is shown of one pool.

    Parameters
    ----------
    why_not
        Why plans do not go by the forecast, beyond its own reason.
    """

    expected: Forecast
    past: PoolPast | None
    why_not: str = ""
    notices: tuple[str, ...] = ()


def forecast_document(outlooks: Iterable[Outlook]) -> dict[str, object]:
    """Return what is expected of some pools."""
    pools = [pool_document(own) for own in outlooks]
    return {"apiVersion": VERSION, "kind": "MigForecast", "pools": pools}


def backtest_document(name: str, found: Backtest, gpu_model: GpuModel) -> dict[str, object]:
    """Return how forecasts of a log would have done."""
    slices = slices_by_resource([gpu_model])
    methods = []
    for method in found.methods:
        own = [score for score in found.scores if score.method == method]
        in_slices = sum(score.pinball * slices.get(score.resource, 1) for score in own)
        methods.append(
            {
                "method": method,
                "pinballLoss": round(found.total(method), 4),
                "pinballLossSlices": round(in_slices, 4),
            }
        )
    return {
        "apiVersion": VERSION,
        "kind": "MigBacktest",
        "trace": name,
        "from": moment_text(found.first_s),
        "to": moment_text(found.last_s),
        "reason": found.reason or None,
        "methods": methods,
        "scores": [
            {
                "method": score.method,
                "resource": score.resource,
                "pinballLoss": round(score.pinball, 4),
                "coverage": round(score.coverage, 4),
                "forecasts": score.tries,
            }
            for score in found.scores
        ],
    }


def pool_document(own: Outlook) -> dict[str, object]:
    """Return what is known of a pool as JSON values."""
    expected, past = own.expected, own.past
    home = {} if past is None else past.home
    names = sorted({*expected.resources, *home})
    means = {} if past is None else mean_service_s(past.services, PlanningRules().prior_jobs)
    return {
        "pool": expected.pool,
        "madeAt": moment_text(expected.made_at_s),
        "horizonSeconds": expected.horizon_s,
        "knownSeconds": round(expected.known_s, 3),
        "usedByPlans": expected.is_confident and not own.why_not,
        "reason": expected.reason or own.why_not or None,
        "homeMix": None if past is None else home_document(past),
        "profiles": [
            {
                "resource": name,
                "now": whole(expected.now.get(name)),
                **dict(zip(("p10", "p50", "p90"), quantiles(expected, name), strict=True)),
                "home": home.get(name),
                "meanServiceSeconds": None if name not in means else round(means[name], 1),
            }
            for name in names
        ],
        "notices": list(dict.fromkeys(own.notices)),
    }


def home_document(past: PoolPast) -> dict[str, object]:
    """Return where a home mix comes from."""
    return {
        "madeAt": moment_text(past.made_at_s),
        "gpus": past.gpus,
        "inputs": past.inputs,
        "sources": list(past.sources),
        "knownSeconds": round(past.known_s, 3),
        "reason": past.reason or None,
    }


def quantiles(expected: Forecast, name: str) -> tuple[float | None, ...]:
    """Return p10, p50 and p90; ``None`` where nothing is forecast."""
    found = expected.quantiles(name)
    return (None, None, None) if found is None else tuple(round(value, 2) for value in found)


def whole(value: float | None) -> float | None:
    """Return a number that JSON can hold, ``None`` where it is not known."""
    return None if value is None or isnan(value) else round(value, 2)
