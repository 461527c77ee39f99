"""The form of scenario files: a fleet, what comes to it, and what is compared."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from autoscaler.domain.policy.policy import Driver, PrometheusUrl
from autoscaler.domain.policy.quantity import Duration, duration
from autoscaler.domain.policy.section import Name, Problem, Section, Text, refuse
from autoscaler.simulation.digits import number_text
from autoscaler.simulation.study.sources.synthetic import DAYS, Drawn
from autoscaler.simulation.study.splits import OWN, Split


def _load(value: object) -> object:
    """Return a load as it was given; one message for all that is none."""
    if value == OWN or (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10
    ):
        return value
    raise ValueError(f"must be a number above 0 and below 10, or {OWN}, not {value!r}")


Load = Annotated[
    float | str,
    BeforeValidator(_load),
    WithJsonSchema(
        {
            "oneOf": [
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 10},
                {"const": OWN},
            ]
        }
    ),
]
DayNumber = Annotated[int, Field(ge=0, le=100_000)]
DayHour = Annotated[float, Field(ge=0, le=24, allow_inf_nan=False)]


class ScenarioFleet(Section):
    """GPUs of the scenario; each model and each load is a case of its own."""

    models: Annotated[tuple[Text, ...], Field(min_length=1)] = ("a100-40gb",)
    """GPU models by their key in the table of profiles. Default: a100-40gb."""

    loads: Annotated[tuple[Load, ...], Field(min_length=1)] | None = None
    """Work of the jobs as a share of what the fleet can do; ``own`` is that of the jobs as
    they are, on the number of GPUs given. Default: own where gpus are given and the jobs are
    a cluster's own (jobs, prometheus), else 0.5."""

    gpus: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Number of GPUs; jobs are left out or added until they make the load. Default: the
    load sets the number."""

    gpus_per_node: Annotated[int, Field(ge=1, le=16)] | None = None
    """GPUs of a node; one node has the rest. Default: 1 with the agent, which changes one
    at a time, and 8 with MIG manager."""

    @model_validator(mode="after")
    def _check_gpus(self) -> Self:
        if OWN in (self.loads or ()) and self.gpus is None:
            refuse([Problem(("loads",), "own is the load of a given number of GPUs: add gpus")])
        return self


class PeakHours(Section):
    """Hours in which more of some profiles comes than ever before."""

    profiles: Annotated[tuple[Text, ...], Field(min_length=1, max_length=2)]
    """One profile or two; of the added jobs the first has 70 %."""

    factor: Annotated[float, Field(gt=1, le=1000, allow_inf_nan=False)]
    """Work of these hours as a multiple of the mean."""

    days: tuple[DayNumber, ...] = ()
    """Days of the run from 0. Default: 1, 4, 7 and 11, as far as the run has them."""

    start_hour: DayHour = 10.0
    """Hour of the day at which it begins. Default: 10."""

    end_hour: DayHour = 16.0
    """Hour at which it ends. Default: 16."""

    @model_validator(mode="after")
    def _check_hours(self) -> Self:
        if self.start_hour >= self.end_hour:
            refuse([Problem(("endHour",), "is not after startHour")])
        return self

    def text(self) -> str:
        """Return it in the form that the command line takes."""
        days = f" days={','.join(map(str, self.days))}" if self.days else ""
        hours = f" hours={number_text(self.start_hour)}-{number_text(self.end_hour)}"
        return f"{'+'.join(self.profiles)}:{number_text(self.factor)}{days}{hours}"


class Announced(StrEnum):
    """Whether the autoscaler is told of peaks beforehand."""

    NO = "never"
    YES = "always"
    BOTH = "both"


class PrometheusHistory(Section):
    """Requests that a Prometheus knows of."""

    url: PrometheusUrl
    """Address of its HTTP API."""

    history_s: Duration = duration("21d", positive=True)
    """How far to look back. Default: 21d."""

    pool: str = ""
    """Pool of the autoscaler's own metrics. Default: requests of the whole cluster, from
    kube-state-metrics."""


class Workload(Section):
    """What comes; exactly one of trace, jobs, prometheus and synthetic."""

    trace: Text | None = None
    """A trace that is shipped (openb, msitp, msitp:CLUSTER, miso), or the path of one, seen
    from the scenario file."""

    column: Text | None = None
    """Column of the trace that says what a job asks for. Default: the usual one."""

    jobs: Text | None = None
    """Path of a CSV of jobs with arrival, duration, and GPU memory or profile."""

    prometheus: PrometheusHistory | None = None
    """A Prometheus whose history of requests is run again."""

    synthetic: Annotated[tuple[Drawn, ...], Field(min_length=1)] | None = None
    """Drawn workloads; all their jobs come to one fleet."""

    synthetic_days: Annotated[int, Field(ge=2, le=3660)] = DAYS
    """Days of drawn jobs. Default: 28."""

    peaks: tuple[PeakHours, ...] = ()
    """Peaks of the run. Default: none."""

    announced: Announced = Announced.NO
    """Whether peaks are announced; both makes two cases of the same jobs. Default: never."""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        refuse(self._contradictions())
        return self

    def _contradictions(self) -> Iterable[Problem]:
        names = ("trace", "jobs", "prometheus", "synthetic")
        given = [name for name in names if getattr(self, name) is not None]
        if not given:
            yield Problem((), f"says nothing of where jobs come from: {', '.join(names)}")
        for name in given[1:]:
            yield Problem((name,), f"cannot go with {given[0]}; keep one")
        if self.column is not None and self.trace is None:
            yield Problem(("column",), "says nothing without a trace")
        if "synthetic_days" in self.model_fields_set and self.synthetic is None:
            yield Problem(("syntheticDays",), "says nothing without synthetic")
        if self.announced is not Announced.NO and not self.peaks:
            yield Problem(("announced",), "says nothing without peaks")


class DaySplit(Section):
    """Days to learn from, and days to be judged on."""

    split: Split = Split.BASE
    """How they are divided: base, swapped, or resampled by seed. Default: base."""

    past: tuple[DayNumber, DayNumber] | None = None
    """First day to learn from and the one after the last. Default: the usual ones before those
    to be judged on."""

    present: tuple[DayNumber, DayNumber] | None = None
    """The same of the days to be judged on; both may not overlap. Default: the usual ones
    after those to learn from."""


class Seeds(Section):
    """Seeds of what is drawn."""

    first: Annotated[int, Field(ge=0, le=1_000_000_000)] = 1
    """First seed. Default: 1."""

    number: Annotated[int, Field(ge=1, le=10_000)] = 1
    """How many. Default: 1."""

    clusters: Annotated[int, Field(ge=1, le=1000)] = 1
    """On how many clusters each case is run; they differ by which free device a pod gets and
    by how long changes take. Default: 1."""


class NamedPolicy(Section):
    """The autoscaler with a policy file."""

    name: Name
    """Name in the results."""

    file: Text
    """Path of the file, seen from the scenario file."""


class ScenarioName(Section):
    """What the scenario is called."""

    name: Name
    """Name."""


class Scenario(Section):
    """A scenario file."""

    api_version: Literal["mig-autoscaler.io/v1alpha1"]
    """Version of this form."""

    kind: Literal["Scenario"]
    """Kind of file."""

    metadata: ScenarioName
    """Name of the scenario."""

    fleet: ScenarioFleet = ScenarioFleet()
    """GPUs."""

    workload: Workload
    """What comes."""

    days: DaySplit = DaySplit()
    """Days to learn from and to be judged on."""

    seeds: Seeds = Seeds()
    """Seeds of what is drawn; each is a case of its own where anything is."""

    policies: tuple[NamedPolicy, ...] = ()
    """Policy files of the autoscaler, compared under their names. Default: none but
    what baselines name."""

    baselines: tuple[Text, ...] = ("autoscaler", "static-past")
    """Policies that have no file; autoscaler is ours with nothing that holds it back.
    Default: autoscaler and static-past, the mix that a careful operator would choose."""

    driver: Driver = Driver.AGENT
    """Who cuts GPUs for the autoscaler. Default: agent."""

    close_by_profile: bool = False
    """Whether what becomes free waits for the autoscaler's next look. Default: false."""
