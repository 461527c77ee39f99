"""What decisions must reach, and how far kept results are from it.

A target is reached when all its cases are run and hold it, missed as soon as those that are
run cannot hold it any more, and open in between.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isfinite

from autoscaler.simulation.study.evaluation.kept import (
    MARK,
    CaseRuns,
    Cases,
    part_of,
)
from autoscaler.simulation.study.evaluation.rows import A, C, Part, Row
from autoscaler.simulation.study.pairing import Ratio, geometric_mean
from autoscaler.simulation.study.peaks import ANNOUNCED

UNPARTITIONED = "unpartitioned"
MEAN_LOADS = {A: (0.4, 0.5, 0.7, 0.9), C: (0.3, 0.4, 0.5, 0.6, 0.7)}
# Rows that have means and no target of their own.
REPORTED = (
    Row.DEFAULT,
    Row.FAIR,
    Row.NODES,
    Row.MANAGER_SINGLE,
    Row.MANAGER_CLOSING,
)
RatioOf = Callable[[CaseRuns], Ratio]


class State(StrEnum):
    """How a target stands."""

    REACHED = "reached"
    MISSED = "missed"
    OPEN = "open"
    REPORTED = "reported"


@dataclass(frozen=True, slots=True)
class Finding:
    """A target, and what was found.

    Parameters
    ----------
    wanted, found
        In words and figures.
    """

    wanted: str
    found: str
    state: State


def findings_of(row: Row, cases: Sequence[CaseRuns]) -> list[Finding]:
    """Return the targets of a row with what kept cases say about them."""
    base = part_of(cases, row, Part.BASE)
    swapped = part_of(cases, row, Part.SWAPPED)
    resampled = part_of(cases, row, Part.RESAMPLED)
    peaks = part_of(cases, row, Part.PEAKS)
    if row is Row.AGENT:
        means = [mean_within(base, A, 0.95), mean_within(base, C, 0.77)]
        announced = announced_gain(part_of(cases, row, Part.ANNOUNCED), peaks)
        found = [*_singles(base, swapped, resampled), *means, *_peaks(peaks, (12, 12))]
        return [*found, announced]
    if row is Row.CLOSING:
        means = [mean_within(base, A, 0.905), mean_within(base, C, 0.71)]
        return [*_singles(base, swapped, resampled), *means, *_peaks(peaks, (14, 15))]
    if row is Row.MIG_MANAGER:
        clusters = part_of(cases, row, Part.CLUSTERS).all
        alone = [case for case in clusters if not case.recipe.peak]
        others = [case for case in clusters if case.recipe.peak]
        return [
            all_within("base, on every cluster", Cases([*base.all, *alone]), 1.03),
            *means_of(base),
            all_within("peaks, on every cluster", Cases([*peaks.all, *others]), 1.05, in_peak),
        ]
    if row is Row.NIGHTLY:
        every = Cases([*base.all, *swapped.all, *resampled.all])
        return [
            share_within("base, swapped and resampled", every, 1.03, 0.95),
            *means_of(base),
            *_peaks_reported(peaks),
        ]
    return means_of(base) if row in REPORTED else []


def whole(case: CaseRuns) -> Ratio:
    """Return the ratio over all jobs of a case."""
    return case.ours.ratio


def in_peak(case: CaseRuns) -> Ratio:
    """Return the ratio over the jobs of its peaks."""
    return case.ours.peak_ratio(MARK)


def against_whole_gpus(case: CaseRuns) -> Ratio:
    """Return the ratio over the jobs of its peaks to unpartitioned GPUs."""
    return case.ours.peak_ratio(UNPARTITIONED)


def all_within(name: str, cases: Cases, limit: float, ratio_of: RatioOf = whole) -> Finding:
    """Say whether no case is above a limit."""
    ratios = [(_value(ratio_of(case)), case.name) for case in cases.run]
    above = [entry for entry in ratios if entry[0] > limit]
    state = State.MISSED if above else _when_all_run(cases)
    text = _of(len(ratios) - len(above), cases)
    if ratios:
        worst, where = max(ratios)
        text += f"; worst {_text(worst)} ({where})"
        text += f", {worst - limit:.3f} too much" if limit < worst < inf else ""
    return Finding(f"{name}: every case <= {limit:g}", text, state)


def share_within(
    name: str, cases: Cases, limit: float, share: float, *, beyond_noise: bool = False
) -> Finding:
    """Say whether enough cases are within a limit.

    Parameters
    ----------
    beyond_noise
        Whether only those count as above it whose whole confidence interval is.
    """
    above = [
        case
        for case in cases.run
        if (whole(case).exceeds(limit) if beyond_noise else _value(whole(case)) > limit)
    ]
    allowed = int((1 - share) * len(cases.all) + 1e-9)
    state = State.MISSED if len(above) > allowed else _when_all_run(cases)
    text = _of(len(cases.run) - len(above), cases)
    if cases.run:
        worst = max(cases.run, key=lambda case: _value(whole(case)))
        text += f"; worst {_text(_value(whole(worst)))} ({worst.name})"
    noise = ", or above it by no more than noise" if beyond_noise else ""
    wanted = f"{name}: at least {share:.0%} of cases <= {limit:g}{noise}"
    return Finding(wanted, text, state)


def mean_within(cases: Cases, column: str, limit: float | None = None) -> Finding:
    """Say whether the geometric mean of a rule's cases is within a limit, if there is one."""
    loads = MEAN_LOADS[column]
    own = cases.of(column, loads)
    ratios = [_value(whole(case)) for case in own.run]
    mean = geometric_mean([ratio for ratio in ratios if isfinite(ratio)])
    text = f"{_interval(mean)}, {len(ratios)} of {len(own.all)} cases run"
    rule = "A" if column == A else "C"
    wanted = f"base, rule {rule} at {' '.join(f'{load:g}' for load in loads)}: geometric mean"
    if limit is None:
        return Finding(wanted, text, State.REPORTED)
    is_above = mean.value is None or mean.value > limit or inf in ratios
    # What is run may be the better or the worse part, so a mean over a part decides nothing.
    state = State.OPEN if own.open else State.MISSED if is_above else State.REACHED
    if state is State.MISSED and mean.value is not None:
        text += f", {mean.value - limit:.3f} too much"
    return Finding(f"{wanted} <= {limit:g}", text, state)


def means_of(cases: Cases) -> list[Finding]:
    """Return the geometric means of both rules, without a target."""
    return [mean_within(cases, column) for column in (A, C)]


def enough_better(cases: Cases, ratio_of: RatioOf, wanted: tuple[str, float, int]) -> Finding:
    """Say whether so many cases are below a ratio, given what it is to, limit and number."""
    other, limit, number = wanted
    better = [case for case in cases.run if _value(ratio_of(case)) <= limit]
    possible = len(better) + len(cases.open)
    if len(better) >= number:
        state = State.REACHED
    else:
        state = State.MISSED if possible < number else State.OPEN
    text = _of(len(better), cases)
    if state is State.MISSED:
        text += f", {number - len(better)} too few"
    named = (
        f"peaks: at least {1 - limit:.0%} better than {other} in {number} of {len(cases.all)}"
    )
    return Finding(named, text, state)


def announced_gain(announced: Cases, peaks: Cases) -> Finding:
    """Say whether announced peaks gain more than the same ones that nobody announced."""
    silent = {case.kind: _value(in_peak(case)) for case in peaks.run}
    pairs = [
        (_value(in_peak(case)), silent[kind])
        for case in announced.run
        if (kind := case.kind.removesuffix(f" {ANNOUNCED}")) in silent
    ]
    ends = [pair for pair in pairs if all(0 < ratio < inf for ratio in pair)]
    own = geometric_mean([pair[0] for pair in ends])
    other = geometric_mean([pair[1] for pair in ends])
    gain = geometric_mean([pair[0] / pair[1] for pair in ends])
    text = f"{_interval(own)} announced, {_interval(other)} not, {len(pairs)} pairs run"
    is_open = len(pairs) < len(announced.all) or not pairs
    state = State.OPEN if is_open else State.MISSED
    if not is_open and gain.value is not None and gain.value < 1:
        state = State.REACHED
    return Finding("announced peaks gain more than the same ones unannounced", text, state)


def _singles(base: Cases, swapped: Cases, resampled: Cases) -> Iterable[Finding]:
    yield all_within("base", base, 1.01)
    yield all_within("swapped", swapped, 1.01)
    yield share_within("resampled", resampled, 1.01, 0.98, beyond_noise=True)


def _peaks(cases: Cases, numbers: tuple[int, int]) -> Iterable[Finding]:
    yield all_within("peaks", cases, 1.02, in_peak)
    yield enough_better(cases, in_peak, ("the tuned mix", 0.8, numbers[0]))
    yield enough_better(cases, against_whole_gpus, ("unpartitioned", 0.5, numbers[1]))


def _peaks_reported(cases: Cases) -> Iterable[Finding]:
    ratios = [_value(in_peak(case)) for case in cases.run]
    mean = geometric_mean([ratio for ratio in ratios if isfinite(ratio)])
    text = f"{_interval(mean)}, {len(ratios)} of {len(cases.all)} cases run"
    if ratios:
        text += f"; worst {_text(max(ratios))}"
    yield Finding("peaks: geometric mean", text, State.REPORTED)


def _when_all_run(cases: Cases) -> State:
    return State.OPEN if cases.open or not cases.all else State.REACHED


def _value(ratio: Ratio) -> float:
    """Return a ratio; one without a value, where nobody ran all jobs, is no loss."""
    return 1.0 if ratio.value is None else ratio.value


def _of(number: int, cases: Cases) -> str:
    """Say how many of the cases that are run reach what is wanted of each."""
    if not cases.open:
        return f"{number} of {len(cases.run)} reach it"
    if not cases.run:
        return f"none run so far, {len(cases.all)} planned"
    return f"{number} of {len(cases.run)} run so far reach it, {len(cases.all)} planned"


def _interval(ratio: Ratio) -> str:
    if ratio.value is None:
        return "-"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.3f}"
    return f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def _text(value: float) -> str:
    return f"{value:.3f}" if isfinite(value) else "jobs that never ran"
