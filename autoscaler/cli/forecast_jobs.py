"""Forecasts from a log of past jobs, and how forecasts of it would have done."""

from dataclasses import dataclass, replace
from importlib import resources

import typer

from autoscaler.adapters.job_log import read_job_log
from autoscaler.cli.forecast_document import Outlook
from autoscaler.cli.moment import moment_text
from autoscaler.cli.profiles import find_models
from autoscaler.cli.sight import progress
from autoscaler.control.past import STEP_S
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.policy import ForecastRules, PlanningRules, Pool
from autoscaler.planning.forecasting.backtest import Backtest, backtest
from autoscaler.planning.forecasting.forecast import forecast
from autoscaler.planning.past.demand_history import DemandHistory, Grid, history_of_jobs
from autoscaler.planning.past.home_share import PoolGpus
from autoscaler.planning.past.value_history import pool_past

JOBS = "jobs"
TRACE = "openb_pods.csv.gz"
TRACE_COLUMN = "mig_v100eq"
# Its few rows before this are services that ran for months.
TRACE_FROM_S = 115 * 86400.0
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class JobQuestion:
    """Which jobs, and of which GPUs."""

    path: str | None
    column: str | None
    model: str
    gpus: int | None
    longest_s: float


def expect_of_jobs(asked: JobQuestion, rules: ForecastRules, at_s: float | None) -> Outlook:
    """Return what is expected after the end of a job log, or after a moment of it."""
    gpu_model, history = history_of_log(asked, STEP_S, rules.history_s, at_s)
    expected = forecast(history, JOBS, rules)
    past = None
    if asked.gpus is not None:
        past = pool_past(
            history,
            Pool(name=JOBS),
            PoolGpus(((gpu_model, asked.gpus),)),
            PlanningRules(),
            expected.made_at_s,
        )
    return Outlook(expected, past, "it comes from a job log", history.notices)


def tried(asked: JobQuestion, rules: ForecastRules) -> tuple[str, Backtest, GpuModel]:
    """Return the name of a log and how its forecasts would have done."""
    if asked.path is None:
        found = resources.files("autoscaler.simulation").joinpath("data", TRACE)
        with resources.as_file(found) as path:
            own = replace(asked, path=str(path), column=asked.column or TRACE_COLUMN)
            gpu_model, history = history_of_log(own, HOUR_S, None, None, TRACE_FROM_S)
        name = f"{TRACE} ({own.column})"
    else:
        gpu_model, history = history_of_log(asked, HOUR_S, None, None)
        name = asked.path
    with progress("forecasting the past"):
        return name, backtest(history, JOBS, rules), gpu_model


def history_of_log(
    asked: JobQuestion,
    step_s: float,
    reach_back_s: float | None,
    at_s: float | None,
    from_s: float = 0.0,
) -> tuple[GpuModel, DemandHistory]:
    """Return the GPU model and the history of a log, up to its end or a moment."""
    gpu_model, *others = find_models(asked.model)
    if others:
        raise typer.BadParameter(f"{asked.model!r} may be several models: give a key")
    log = read_job_log(asked.path or "", gpu_model, JOBS, asked.column, asked.longest_s)
    first_s = max(from_s, log.first_s)
    end_s = log.last_s if at_s is None else at_s
    if reach_back_s is not None:
        first_s = max(first_s, end_s - reach_back_s)
    # Hours of the log's own time, so that hours of the week are those of its clock.
    start_s = step_s * (first_s // step_s)
    number = int((end_s - start_s) // step_s) + 1
    if number < 1:
        raise ConfigError(f"{asked.path}: holds nothing before {moment_text(end_s)}")
    jobs = {
        key: [job for job in own if from_s <= job.arrival_s <= end_s]
        for key, own in log.jobs.items()
    }
    grid = Grid(start_s, step_s, number)
    return gpu_model, history_of_jobs({k: v for k, v in jobs.items() if v}, grid, log.notices)
