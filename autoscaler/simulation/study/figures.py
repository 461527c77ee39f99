"""Figures of a run, for people and machines.

Where a job never ran there is no mean completion or waiting time: one over the others would
flatter whoever left the hard ones waiting. It is given apart, with how many are missing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from statistics import fmean

from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.jobs import slices_of
from autoscaler.simulation.study.outcome import JobTimes, LoopWork, Outcome
from autoscaler.simulation.study.splits import Case

SHARES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
HOUR_S = 3600.0
DIGITS = 3

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Spell:
    """A time in which something was so, and how many slices it was about."""

    start_s: float
    end_s: float
    slices: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Slices of the fleet between two changes.

    Parameters
    ----------
    busy
        Those that jobs hold.
    lost
        Those that are idle though a job is waiting. Only idle slices that would be enough
        for the smallest job that waits count: they are of the wrong shape, in the wrong
        place, or out of service.
    """

    start_s: float
    end_s: float
    busy: int
    lost: int


def figures_of(outcome: Outcome, case: Case) -> Json:
    """Return the figures of a run under the names of the JSON output; seconds as numbers."""
    times = outcome.jobs
    done = [t for t in times if t.completion_s is not None]
    found: Json = {
        "policy": outcome.policy,
        "load": case.load,
        "gpus": case.gpus,
        "jobs": len(times),
        "unfinished": len(times) - len(done),
        **_means(times),
        "completion": quantiles(t.completion_s for t in times),
        "wait": quantiles(t.wait_s for t in times),
        "p95Wait": {name: _p95(own) for name, own in _by_profile(times).items()},
        "byProfile": {name: _group(own) for name, own in _by_profile(times).items()},
        **_slices(outcome, case),
        "changes": outcome.changes,
        "evictions": outcome.evictions,
        "lostSliceHours": _rounded(_lost(times, case.model) / HOUR_S),
        # A plan without a bound has no gap that one could name.
        "planGapMax": outcome.plan_gap if isfinite(outcome.plan_gap) else None,
        "endedAt": _rounded(outcome.ended_s),
    }
    if outcome.loop is not None:
        found["loop"] = _loop(outcome.loop)
    priorities = sorted({t.job.priority for t in times})
    if len(priorities) > 1:
        found["byPriority"] = {
            str(p): _group([t for t in times if t.job.priority == p]) for p in priorities
        }
    peak = [t for t in times if t.job.in_peak]
    if peak:
        found["peak"] = _group(peak)
    return found


def _loop(work: LoopWork) -> Json:
    return {
        "cycles": work.cycles,
        "plans": work.plans,
        "errors": work.errors,
        "firstError": work.first_error,
        "ends": dict(work.ends),
    }


def quantiles(values: Iterable[float | None]) -> dict[str, float | None]:
    """Return median, 95th and 99th percentile; ``None`` without values.

    A value of ``None`` is above all others, as of a job that never ran: a percentile that
    falls on one is ``None``.
    """
    own = sorted(inf if value is None else value for value in values)
    found = {name: quantile(own, share) for name, share in SHARES.items()}
    return {name: None if value == inf else _rounded(value) for name, value in found.items()}


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the value that a share of all stays within: the nearest one, not between."""
    if not ordered:
        return None
    place = max(0, -(-round(share * 1e9) * len(ordered) // 10**9) - 1)
    return ordered[place]


def mean_completion_s(outcome: Outcome) -> float | None:
    """Return the mean completion time; ``None`` when a job never ran."""
    own = [t.completion_s for t in outcome.jobs]
    return None if None in own or not own else fmean(v for v in own if v is not None)


def busy_spells(outcome: Outcome, case: Case) -> Iterator[Spell]:
    """Yield when each job ran, on the slices of the instance that it held."""
    slices, over_s = slices_of(case.model), _over_s(outcome, case)
    for times in outcome.jobs:
        if times.start_s is not None:
            end_s = over_s if times.until_s is None else times.until_s
            yield Spell(times.start_s, end_s, slices[times.profile or times.job.profile])


def waiting_spells(outcome: Outcome, case: Case) -> Iterator[Spell]:
    """Yield when each job waited, for the slices that it asked for."""
    slices, over_s = slices_of(case.model), _over_s(outcome, case)
    for times in outcome.jobs:
        end_s = over_s if times.start_s is None else times.start_s
        if end_s > times.job.arrival_s:
            yield Spell(times.job.arrival_s, end_s, slices[times.job.profile])


def _over_s(outcome: Outcome, case: Case) -> float:
    """Return until when jobs without an end count.

    Whoever runs few jobs is done early, and would else have the rest wait for less long.
    """
    return max(outcome.ended_s, case.present.span_s)


def integral(spells: Iterable[Spell], until_s: float) -> float:
    """Return the slice-seconds of spells up to a moment."""
    return sum(s.slices * max(0.0, min(s.end_s, until_s) - s.start_s) for s in spells)


def idle_while_waiting(outcome: Outcome, case: Case) -> float:
    """Return the mean share of the fleet's slices that were idle though a job was waiting."""
    lost = sum(u.lost * (u.end_s - u.start_s) for u in usages(outcome, case))
    return lost / (case.gpus * case.model.compute_slices * case.present.span_s)


def usages(outcome: Outcome, case: Case) -> Iterator[Usage]:
    """Yield how the fleet's slices are used, from change to change within the run's days."""
    total, span_s = case.gpus * case.model.compute_slices, case.present.span_s
    busy, since_s = 0, 0.0
    waiting: dict[int, int] = {}
    for at_s, kind, slices, change in sorted(_moves(outcome, case)):
        if min(at_s, span_s) > since_s:
            smallest = min((own for own, number in waiting.items() if number), default=0)
            is_lost = smallest and total - busy >= smallest
            yield Usage(since_s, min(at_s, span_s), busy, total - busy if is_lost else 0)
            since_s = min(at_s, span_s)
        if kind == 0:
            busy += slices * change
        else:
            waiting[slices] = waiting.get(slices, 0) + change
    if since_s < span_s:
        yield Usage(since_s, span_s, busy, 0)


def _moves(outcome: Outcome, case: Case) -> Iterator[tuple[float, int, int, int]]:
    """Yield when how many slices begin or cease to be busy (0) or waited for (1)."""
    for kind, spells in enumerate((busy_spells(outcome, case), waiting_spells(outcome, case))):
        for spell in spells:
            yield spell.start_s, kind, spell.slices, 1
            yield spell.end_s, kind, spell.slices, -1


def _slices(outcome: Outcome, case: Case) -> Json:
    span_s, model = case.present.span_s, case.model
    capacity = case.gpus * model.compute_slices * span_s
    served = integral(busy_spells(outcome, case), span_s)
    unmet = integral(waiting_spells(outcome, case), span_s)
    # Where jobs move to instances of other sizes, nobody knows what they held before.
    is_known = not outcome.resizes
    return {
        "servedSliceHours": _rounded(served / HOUR_S) if is_known else None,
        "unmetSliceHours": _rounded(unmet / HOUR_S),
        "utilisation": round(served / capacity, 4) if is_known else None,
        "fragmentation": round(idle_while_waiting(outcome, case), 4) if is_known else None,
    }


def _means(times: Sequence[JobTimes]) -> Json:
    done = [t.completion_s for t in times if t.completion_s is not None]
    waits = [t.wait_s for t in times if t.wait_s is not None]
    return {
        "meanCompletion": _rounded(fmean(done)) if len(done) == len(times) else None,
        "meanCompletionOfFinished": _rounded(fmean(done)) if done else None,
        "meanWait": _rounded(fmean(waits)) if len(waits) == len(times) else None,
        "meanWaitOfStarted": _rounded(fmean(waits)) if waits else None,
    }


def _group(times: Sequence[JobTimes]) -> Json:
    done = [t.completion_s for t in times]
    return {
        "jobs": len(times),
        "unfinished": done.count(None),
        **_means(times),
        "completion": quantiles(done),
        "wait": quantiles(t.wait_s for t in times),
    }


def _p95(times: Sequence[JobTimes]) -> float | None:
    return quantiles(t.wait_s for t in times)["p95"]


def _lost(times: Iterable[JobTimes], model: GpuModel) -> float:
    slices = slices_of(model)
    return sum(t.lost_s * slices[t.job.profile] for t in times)


def _by_profile(times: Iterable[JobTimes]) -> Mapping[str, list[JobTimes]]:
    found: dict[str, list[JobTimes]] = {}
    for own in times:
        found.setdefault(own.job.profile, []).append(own)
    return dict(sorted(found.items()))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
