"""``forecast``: what is expected of each pool, where that comes from, and what is missing."""

from dataclasses import replace
from typing import Annotated

import typer

from autoscaler.cli.forecast_document import Outlook, backtest_document, forecast_document
from autoscaler.cli.forecast_jobs import JobQuestion, expect_of_jobs, tried
from autoscaler.cli.forecast_view import draw_backtest, draw_forecast
from autoscaler.cli.moment import parse_moment
from autoscaler.cli.output import FORM_OPTION, Form, emit
from autoscaler.cli.sight import AT_OPTION, POLICY_OPTION, Question, look, progress
from autoscaler.cli.wiring import (
    CONTEXT_OPTION,
    KUBECONFIG_OPTION,
    NAMESPACE_OPTION,
    Access,
    history_of,
    system_clock,
)
from autoscaler.control.past import Look, Past
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.fleet.assessment import assess
from autoscaler.domain.policy.policy import ForecastRules
from autoscaler.domain.policy.quantity import parse_duration
from autoscaler.planning.forecasting.forecast import Forecast

LONGEST = "1d"


def show_forecast(
    policy: Annotated[str | None, POLICY_OPTION] = None,
    from_jobs: Annotated[
        str | None,
        typer.Option("--from-jobs", help="A CSV of past jobs in place of Prometheus."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Column of the profile; default: profile or mig.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="GPU model of the profiles of a job log.")
    ] = "a100-40gb",
    gpus: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="GPUs to find a home mix for.")
    ] = None,
    longest: Annotated[
        str, typer.Option(help="Jobs of a log that ran longer are services, and left out.")
    ] = LONGEST,
    horizon: Annotated[str | None, typer.Option(help="How far to look ahead.")] = None,
    try_it: Annotated[
        bool,
        typer.Option(
            "--backtest", help="Forecast the past; default: of the trace that is shipped."
        ),
    ] = False,
    at: Annotated[str | None, AT_OPTION] = None,
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
    namespace: Annotated[str | None, NAMESPACE_OPTION] = None,
    form: Annotated[Form, FORM_OPTION] = Form.TABLE,
) -> None:
    """Show what is expected of each pool, its home mix, and what is missing."""
    at_s = None if at is None else parse_moment(at)
    horizon_s = None if horizon is None else seconds_of(horizon, "--horizon")
    rules = with_horizon(ForecastRules(), horizon_s)
    asked = JobQuestion(from_jobs, column, model, gpus, seconds_of(longest, "--longest"))
    if try_it:
        found = backtest_document(*tried(asked, rules))
        emit(found, form, draw=lambda out, _: draw_backtest(out, found))
        return
    if from_jobs is None:
        access = Access(kubeconfig, context, namespace)
        outlooks = expect_of_cluster(policy, access, at_s, horizon_s)
    else:
        outlooks = [expect_of_jobs(asked, rules, at_s)]
    document = forecast_document(outlooks)
    names = [own.expected.pool for own in outlooks]
    emit(document, form, draw=lambda out, wide: draw_forecast(out, document, wide), names=names)


def expect_of_cluster(
    policy: str | None, access: Access, at_s: float | None, horizon_s: float | None
) -> list[Outlook]:
    """Return what is expected of the pools of a cluster."""
    answer = look(Question(policy=policy, at_s=at_s, access=access))
    source = history_of(answer.policy, system_clock())
    if source is None:
        raise ConfigError(
            "the policy names no Prometheus, so nothing is known of the past;"
            " add prometheus.url, or give --from-jobs"
        )
    own = answer.policy.demand.forecast
    rules = with_horizon(own or ForecastRules(), horizon_s)
    demand = answer.policy.demand.model_copy(update={"forecast": rules})
    asked = answer.policy.model_copy(update={"demand": demand})
    snapshot = assess(answer.sight.observation, asked, answer.sight.metrics, answer.now_s)
    look_back = Look(source, asked, snapshot, min(answer.now_s, system_clock().now_s()))
    outlooks = []
    for pool in asked.pools:
        if not snapshot.pools_total.get(pool.name):
            continue
        with progress(f"looking at the past of pool {pool.name}"):
            past = look_back.at(Past(pools=answer.past.pools), pool)
        expected = past.forecasts.get(pool.name)
        if expected is None:
            expected = Forecast(pool.name, answer.now_s, rules.horizon_s)
            expected = replace(expected, reason=past.notices.get(pool.name, "nothing is known"))
        kept = past.pools.get(pool.name)
        why_not = "" if own is not None else "the policy has no demand.forecast"
        notices = kept.notices if kept is not None else ()
        outlooks.append(Outlook(expected, kept, why_not, (*notices, *past.notices.values())))
    return outlooks


def with_horizon(rules: ForecastRules, horizon_s: float | None) -> ForecastRules:
    """Return the rules with a horizon of one's own, if one was asked for."""
    return rules if horizon_s is None else rules.model_copy(update={"horizon_s": horizon_s})


def seconds_of(text: str, option: str) -> float:
    """Return the seconds of an option; a usage error if it is no duration above 0."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from error
    if not seconds > 0:
        raise typer.BadParameter(f"{option}: {text} is no time at all")
    return seconds
