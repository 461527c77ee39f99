"""Checks of a run: what must hold whatever the policy.

Each returns sentences about what is wrong; a run without any is sound.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import inf

from autoscaler.domain.errors import InvariantError
from autoscaler.domain.mig.placement import is_valid
from autoscaler.simulation.study.figures import busy_spells
from autoscaler.simulation.study.outcome import Cut, JobTimes, Outcome
from autoscaler.simulation.study.splits import Case

# Times are kept in milliseconds.
SLACK_S = 0.002
# So many problems tell what is wrong; more would hide it.
TOLD = 3


def require_sound(outcome: Outcome, case: Case) -> None:
    """Raise InvariantError when anything is wrong with a run."""
    problems = problems_of(outcome, case)
    if problems:
        more = [f"and {len(problems) - TOLD} more"] if len(problems) > TOLD else []
        told = "; ".join([*problems[:TOLD], *more])
        raise InvariantError(f"{outcome.policy} on {case.name}: {told}")


def problems_of(outcome: Outcome, case: Case) -> list[str]:
    """Return everything that is wrong with a run."""
    return [
        *_conservation(outcome, case),
        *_order_of_times(outcome),
        *_run_times(outcome),
        *_overlaps(outcome),
        *_geometries(outcome, case),
        *_lost_instances(outcome),
        *_capacity(outcome, case),
        *_little(outcome),
    ]


def _conservation(outcome: Outcome, case: Case) -> Iterator[str]:
    """Count each job once: none is lost, made up or there twice."""
    wanted = [job.number for job in case.present.jobs]
    found = [times.job.number for times in outcome.jobs]
    if found != wanted:
        missing = sorted(set(wanted) - set(found))
        extra = sorted(n for n in set(found) if found.count(n) > wanted.count(n))
        yield f"jobs missing: {missing[:3]}, jobs too many: {extra[:3]}"


def _order_of_times(outcome: Outcome) -> Iterator[str]:
    for times in outcome.jobs:
        number, start_s, end_s = times.job.number, times.start_s, times.end_s
        if start_s is not None and start_s < times.job.arrival_s - SLACK_S:
            yield f"job {number} starts before it arrives"
        if end_s is not None and (start_s is None or end_s < start_s):
            yield f"job {number} ends before it starts"


def _run_times(outcome: Outcome) -> Iterator[str]:
    """Find jobs that end before their work is done; starting a pod may take longer."""
    for times in outcome.jobs:
        if times.start_s is None or times.end_s is None:
            continue
        fastest_s = min([times.job.run_s, *(run_s for _, run_s in times.job.run_on_s)])
        if times.end_s - times.start_s < fastest_s - SLACK_S:
            yield f"job {times.job.number} ends before its work is done"


def _overlaps(outcome: Outcome) -> Iterator[str]:
    """Find jobs that hold one instance at one time."""
    stays: dict[tuple[str, str], list[JobTimes]] = {}
    for times in outcome.jobs:
        if times.start_s is not None and times.place[1]:
            stays.setdefault(times.place, []).append(times)
    for place, own in sorted(stays.items()):
        own.sort(key=lambda t: (t.start_s or 0.0, t.until_s or 0.0))
        for k in range(1, len(own)):
            before_s, start_s = own[k - 1].until_s, own[k].start_s
            is_over = before_s is not None and start_s is not None
            if not is_over or (before_s or 0.0) > (start_s or 0.0) + SLACK_S:
                yield f"jobs {own[k - 1].job.number} and {own[k].job.number} share {place}"


def _geometries(outcome: Outcome, case: Case) -> Iterator[str]:
    """Find layouts that no GPU of the model can have."""
    sound = set()
    for cut in outcome.cuts:
        if cut.geometry is None or cut.geometry in sound:
            continue
        if is_valid(case.model, cut.geometry):
            sound.add(cut.geometry)
        else:
            yield f"{cut.where} is cut into {cut.geometry} at {cut.at_s:.0f} s"


def _lost_instances(outcome: Outcome) -> Iterator[str]:
    """Find jobs on instances that are not there when they start, or go while they run."""
    cuts: dict[str, list[Cut]] = {}
    for cut in outcome.cuts:
        if cut.geometry is not None:
            cuts.setdefault(cut.where, []).append(cut)
    for times in outcome.jobs:
        where, instance = times.place
        if times.start_s is None or not instance or where not in cuts:
            continue
        end_s = inf if times.until_s is None else times.until_s
        for cut in _during(cuts[where], times.start_s, end_s):
            if instance not in map(str, cut.geometry.instances if cut.geometry else ()):
                yield f"job {times.job.number} has no {instance} of {where} at {cut.at_s:.0f} s"
                break


def _during(cuts: Sequence[Cut], start_s: float, end_s: float) -> Sequence[Cut]:
    """Return the layout of a GPU at a moment, and those that follow before another."""
    first = bisect_right(cuts, start_s + SLACK_S, key=lambda cut: cut.at_s) - 1
    after = bisect_right(cuts, end_s - SLACK_S, key=lambda cut: cut.at_s)
    return cuts[max(0, first) : max(0, first, after)]


def _capacity(outcome: Outcome, case: Case) -> Iterator[str]:
    """Find more slices in use than the fleet has."""
    if outcome.resizes:
        return
    total = case.gpus * case.model.compute_slices
    moves = []
    for spell in busy_spells(outcome, case):
        moves.append((round(spell.start_s, 3), 1, spell.slices))
        moves.append((round(spell.end_s, 3), 0, -spell.slices))
    used = 0
    for at_s, _, slices in sorted(moves):
        used += slices
        if used > total:
            yield f"{used} slices are in use at {at_s:.0f} s of {total} that there are"
            return


def _little(outcome: Outcome) -> Iterator[str]:
    """Compare the sum of completion times with the jobs in the system over time, as Little."""
    # They are the same area, measured along and across.
    moves = [(t.job.arrival_s, 1) for t in outcome.jobs if t.end_s is not None]
    moves += [(t.end_s, -1) for t in outcome.jobs if t.end_s is not None]
    area, number, since_s = 0.0, 0, 0.0
    for at_s, change in sorted(moves):
        area += number * (at_s - since_s)
        number, since_s = number + change, at_s
        if number < 0:
            yield f"more jobs have ended than arrived at {at_s:.0f} s"
            return
    total = sum(t.completion_s for t in outcome.jobs if t.completion_s is not None)
    if abs(area - total) > 1e-6 * max(1.0, total):
        yield f"completion times add up to {total:.0f} s, jobs in the system to {area:.0f} s"
