"""What of a policy says what instances are worth: the constants of the objective."""

from typing import Annotated, Literal

from pydantic import Field

from autoscaler.domain.policy.quantity import Duration, NumberOrPercent, duration
from autoscaler.domain.policy.section import Section


class PastRules(Section):
    """How the past is turned into worth."""

    history_s: Duration = duration("14d", positive=True)
    """How far back to look. Default: 14d, two of each weekday; the figures behind the
    other defaults were measured with 19 days."""

    min_history_s: Duration = duration("3d", positive=True)
    """Time that must be known before the past counts at all. Default: 3d, because a home
    mix of less is that of a weekend or of a quiet day."""

    refresh_s: Duration = duration("24h", positive=True)
    """Age from which it is worked out anew. Default: 24h, because one day more in
    fourteen changes little and the search takes seconds."""


class PlanningRules(Section):
    """Constants of the objective."""

    horizon_s: Duration = duration("12000s", positive=True)
    """Time over which a new mix is counted to serve. Default: 12000s, measured on real
    traces: with it no mix of their past did better."""

    min_gain: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.5
    """Gain over cost from which a change is worth it; no unit. It is part of the
    objective: what gains less is not proposed. Default: 1.5, a margin against estimates
    that are too kind."""

    undo_gain: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 3.0
    """The same for GPUs that a rollout has just re-cut; it falls evenly to minGain within
    undoWithin. Default: 3, twice minGain, so that a demand that swings has to outweigh
    the way back as well as the way there."""

    undo_within_s: Duration = duration("2h")
    """Time for which a change counts as recent; 0s for never. Default: 2h, the time in
    which two swings of the usual job length (3000s) come back."""

    persistence_s: Duration = duration("60s")
    """Time for which the same change must have been proposed before it starts. Default:
    60s, so that pods that come and go at once change nothing."""

    persistence_looks: Annotated[int, Field(ge=1)] = 2
    """How many plans in a row must have proposed it, whatever the time between them.
    Default: 2, so that one odd sample changes nothing even where persistence is 0s."""

    home_bonus: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.1
    """Extra worth of an instance of the home mix that is asked for, as a share of its
    worth; 0 for none. Default: 0.1, measured: without it large requests win every tie in
    overload and waits grow by up to 15 %; with 0.2 one trace of 94 lost 17 %."""

    hedge: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    """Worth of an instance that nobody asks for yet, as a share of the worth of one that a
    pod waits for, times the chance that someone will; also that of queued work. Default:
    0.2 with the agent, measured: without it free space is cut by accident and cut again at
    once, and from 0.9 on whole-GPU requests starve. With MIG manager 1, measured: a GPU
    that is cut badly when demand comes cannot be changed while it is in use, and is in use
    until the demand is over. Queued work counts 0.2 with either."""

    usual_service_s: Duration = duration("3000s", positive=True)
    """Service time at which an instance is worth just its compute slices; requests that
    run longer are worth less for their size, as one over the square root. Default: 3000s,
    about the mean of the traces that were tried."""

    fairness: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = 0.0
    """How much the weight of a request grows each time its wait doubles, from the service
    time of its profile on; 0 for not at all. Default: 0, which keeps the mean wait lowest
    and lets a few large or long requests wait longest; what more of it costs the mean and
    gives them is measured in docs/decision-quality.md."""

    prior_jobs: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 5.0
    """How many requests of the overall mean service time are added to those of each
    profile, so that two odd jobs do not make a price. Default: 5, measured with the other
    constants; service times may be wrong by a factor of 2.6 without harm."""

    whole_gpu_cap: NumberOrPercent | Literal["off"] = "10%"
    """How many whole-GPU instances may be created beyond those of the home mix: a number,
    or a percentage of the pool's GPUs, rounded and at least one; off for no limit. With a
    percentage, where nobody can wait for the end of a whole GPU's use and other requests do
    more of the work, those keep what they fill on average.
    Running ones may exceed it, and without a home mix there is none. Default: 10%,
    measured: without it a flood of long whole-GPU requests keeps GPUs for good, and
    waits grow by up to 29 %."""

    restart_s: Duration = duration("60s")
    """Time that a pod takes to work again after an eviction, beyond its grace period: to
    be scheduled, start and load its model. Default: 60s; loading alone took 23 s in half
    and 42 s in nine of ten of 7,531 cases in a trace of inference services."""

    solve_limit_s: Duration = duration("20s", positive=True)
    """Wall-clock time for improving the first plan in a process of its own. When it is over
    the first plan stands, and nothing of it starts by itself, because another machine might
    have found a better one. Default: 20s, less than a cycle's interval, so that a slow
    solver delays no open rollout by more than one."""

    past: PastRules = PastRules()
    """How far the past is looked at, and how often."""
