"""Where the jobs of ``simulate`` come from: the options that say so."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from autoscaler.adapters.clock import SystemClock
from autoscaler.cli.sight import progress
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.policy import Policy, Prometheus
from autoscaler.domain.policy.quantity import parse_duration
from autoscaler.simulation.study.sources.memory import jobs_of
from autoscaler.simulation.study.sources.named import source_named
from autoscaler.simulation.study.sources.recorded import Reach, Recorded, recorded
from autoscaler.simulation.study.sources.source import JobSource
from autoscaler.simulation.study.sources.synthetic import DAYS, Synthetic, synthetic_named

USUAL_DAYS = DAYS
USUAL_HISTORY = "21d"

TraceOption = Annotated[
    str | None,
    typer.Option(
        help="Jobs of a CSV file, plain or gzip, or of a trace that is shipped: openb (the"
        " default), msitp, msitp:CLUSTER, miso.",
        metavar="FILE|NAME",
    ),
]
FromJobsOption = Annotated[
    Path | None,
    typer.Option(
        help="Jobs of a CSV with arrival, duration, and memory or profile.", metavar="FILE"
    ),
]
FromPrometheusOption = Annotated[
    str | None,
    typer.Option(help="Jobs from the history of requests in a Prometheus.", metavar="URL"),
]
HistoryOption = Annotated[
    str, typer.Option(help="How far that history reaches back, e.g. 21d.")
]
PoolOption = Annotated[
    str,
    typer.Option(help="Pool of the autoscaler's own metrics; by default the whole cluster."),
]
SyntheticOption = Annotated[
    str | None,
    typer.Option(
        help="Drawn jobs: diurnal, ci or inference, or several such as diurnal+ci.",
        metavar="KINDS",
    ),
]
ColumnOption = Annotated[
    str,
    typer.Option(
        help="What says which profile a job asks for: a column of the file; of openb"
        " mig_share, mig_strict or mig_v100eq, of msitp whole, mixed_share or mixed_v100eq,"
        " of miso fit, half or whole."
    ),
]
SyntheticDaysOption = Annotated[int, typer.Option(min=2, max=3660, help="Days of drawn jobs.")]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs the user asked for."""

    trace: TraceOption = None
    profile_column: ColumnOption = ""
    from_jobs: FromJobsOption = None
    from_prometheus: FromPrometheusOption = None
    history: HistoryOption = USUAL_HISTORY
    pool: PoolOption = ""
    synthetic: SyntheticOption = None
    synthetic_days: SyntheticDaysOption = USUAL_DAYS

    @property
    def are_own(self) -> bool:
        """Whether they are jobs of the user's own, whose load is a fact."""
        return self.from_jobs is not None or self.from_prometheus is not None


def source_of(wanted: Wanted, model: GpuModel, policy: Policy | None) -> JobSource:
    """Return the source of the jobs; ConfigError when there is more than one, or none there."""
    given = {
        "--trace": wanted.trace,
        "--from-jobs": wanted.from_jobs,
        "--from-prometheus": wanted.from_prometheus,
        "--synthetic": wanted.synthetic,
    }
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise typer.BadParameter(f"{named[0]} and {named[1]} both say where jobs come from")
    if wanted.profile_column and named and named != ["--trace"]:
        raise typer.BadParameter(f"--profile-column says nothing about {named[0]}")
    _refuse_idle(wanted)
    if wanted.from_jobs is not None:
        return jobs_of(wanted.from_jobs)
    if wanted.from_prometheus is not None:
        return history_from(wanted, model, policy)
    if wanted.synthetic is not None:
        drawn = synthetic_named(wanted.synthetic)
        return Synthetic(drawn.parts, wanted.synthetic_days)
    name = "openb" if wanted.trace is None else wanted.trace
    return source_named(name, wanted.profile_column)


def _refuse_idle(wanted: Wanted) -> None:
    """Refuse options that would change nothing: whoever gives them expects otherwise."""
    if wanted.trace == "":
        raise typer.BadParameter("--trace: name a file, or a trace that is shipped")
    if wanted.from_prometheus is None and (wanted.pool or wanted.history != USUAL_HISTORY):
        raise typer.BadParameter("--history and --pool go with --from-prometheus")
    if wanted.synthetic is None and wanted.synthetic_days != USUAL_DAYS:
        raise typer.BadParameter("--synthetic-days goes with --synthetic")


def history_from(wanted: Wanted, model: GpuModel, policy: Policy | None) -> Recorded:
    """Return the jobs that a Prometheus knows of; credentials are those of the policy."""
    from autoscaler.adapters.prometheus.history import PrometheusPast

    url = wanted.from_prometheus or ""
    settings = _settings(url, None if policy is None else policy.prometheus)
    try:
        history_s = parse_duration(wanted.history)
    except ValueError as error:
        raise ConfigError(f"--history: {error}") from error
    clock = SystemClock()
    reach = Reach(clock.now_s(), history_s, wanted.pool)
    with progress("asking Prometheus for the past"):
        return recorded(PrometheusPast(settings, clock), url, model, reach)


def _settings(url: str, known: Prometheus | None) -> Prometheus:
    try:
        settings = Prometheus(url=url)
    except ValidationError as error:
        raise ConfigError(
            f"--from-prometheus: {url!r} is no address like http://prometheus:9090"
        ) from error
    return settings if known is None else known.model_copy(update={"url": settings.url})
