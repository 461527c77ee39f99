"""Compares policies in pairs: the same jobs under both, and how sure the difference is.

Days are drawn with replacement, the same ones for both policies, because jobs of one day
share a queue. A difference that the draws do not agree on is called a tie, and so is one
that may come of pods that start.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.timing import Timing

DRAWS = 2000
CONFIDENCE = 0.95
# The longest that a pod takes to start. Only the embedded cluster has pods, the light
# simulator none: a smaller difference may say nothing about policies.
POD_START_S = Timing().pod_start.high_s
FloatArray = NDArray[np.float64]


class Verdict(StrEnum):
    """Which of two is better."""

    BETTER = "better"
    WORSE = "worse"
    TIE = "tie"


@dataclass(frozen=True, slots=True)
class Ratio:
    """Mean completion time of one policy over that of another.

    Parameters
    ----------
    value
        Infinite when only the other one runs all jobs, 0 when only the first does; ``None``
        when neither does.
    low, high
        Bounds of the confidence interval; ``None`` where there is none.
    saved_s
        By how much the mean completion time is shorter than that of the other; negative
        where it is longer. ``None`` where there is no ratio.
    saved_low_s, saved_high_s
        Bounds of its confidence interval.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    saved_s: float | None = None
    saved_low_s: float | None = None
    saved_high_s: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the first policy is better, worse, or no different as far as one knows."""
        if self.value == inf:
            return Verdict.WORSE
        if self.value == 0:
            return Verdict.BETTER
        if self.low is None or self.high is None:
            return Verdict.TIE
        if self.saved_s is not None and abs(self.saved_s) < POD_START_S:
            return Verdict.TIE
        if self.high < 1:
            return Verdict.BETTER
        return Verdict.WORSE if self.low > 1 else Verdict.TIE

    @property
    def is_finite(self) -> bool:
        """Whether both have run all jobs, so that there are two means to compare."""
        return self.value is not None and 0 < self.value < inf

    def exceeds(self, limit: float) -> bool:
        """Say whether the ratio is above a limit beyond the confidence interval."""
        if self.value is None or self.value <= limit:
            return False
        return self.low is None or self.low > limit

    def as_json(self) -> dict[str, object]:
        """Return it under the names of the JSON output."""
        return {
            "ratio": _rounded(self.value, 4) if self.is_finite else None,
            "low": _rounded(self.low, 4),
            "high": _rounded(self.high, 4),
            "verdict": self.verdict.value,
            "saved": _rounded(self.saved_s, 1),
            "savedLow": _rounded(self.saved_low_s, 1),
            "savedHigh": _rounded(self.saved_high_s, 1),
        }


def ratio_of(own: Outcome, other: Outcome, *, seed: int = 0, peak: bool = False) -> Ratio:
    """Return how one policy does against another on the same jobs.

    Parameters
    ----------
    seed
        The same seed gives the same interval.
    peak
        Whether only jobs that arrive in a peak count.
    """
    pairs = [
        (a.completion_s, b.completion_s, a.job.arrival_s)
        for a, b in zip(own.jobs, other.jobs, strict=True)
        if a.job.in_peak or not peak
    ]
    if not pairs:
        return Ratio(None)
    own_ran, other_ran = (all(pair[side] is not None for pair in pairs) for side in (0, 1))
    if not (own_ran and other_ran):
        return ratio_by_who_ran(own_ran=own_ran, other_ran=other_ran)
    return ratio_of_days(_sums_by_day(pairs), seed)


def ratio_by_who_ran(*, own_ran: bool, other_ran: bool) -> Ratio:
    """Return the ratio where not both have run all jobs: who has is better, by no number."""
    if own_ran == other_ran:
        return Ratio(None)
    return Ratio(0.0 if own_ran else inf)


def ratio_of_days(days: FloatArray, seed: int = 0) -> Ratio:
    """Return the ratio of two policies and its interval over days.

    Parameters
    ----------
    days
        One row a day: the completion times of both policies, and the number of jobs.
    """
    total = days.sum(axis=0)
    value, saved_s = _quotient(total), _saved_s(total)
    if len(days) < 2:
        return Ratio(value, saved_s=saved_s)
    picks = np.random.default_rng(seed).integers(len(days), size=(DRAWS, len(days)))
    drawn = days[picks].sum(axis=1)
    tiny = np.finfo(float).tiny
    low, high = _bounds(drawn[:, 0] / np.maximum(drawn[:, 1], tiny))
    saved_low_s, saved_high_s = _bounds((drawn[:, 1] - drawn[:, 0]) / drawn[:, 2])
    return Ratio(value, low, high, saved_s, saved_low_s, saved_high_s)


def geometric_mean(ratios: Sequence[float], seed: int = 0) -> Ratio:
    """Return the geometric mean of ratios of several cases, with its interval over cases.

    Ratios of 0 are left out: one of them would outweigh all others.
    """
    logs = np.array([log(ratio) for ratio in ratios if ratio])
    if not len(logs):
        return Ratio(None)
    value = exp(float(logs.mean()))
    if len(logs) < 2:
        return Ratio(value)
    picks = np.random.default_rng(seed).integers(len(logs), size=(DRAWS, len(logs)))
    low, high = _bounds(np.exp(logs[picks].mean(axis=1)))
    return Ratio(value, low, high)


def _sums_by_day(pairs: Iterable[tuple[float | None, float | None, float]]) -> FloatArray:
    """Return the completion times of both and the number of jobs, one row a day."""
    sums: dict[int, list[float]] = {}
    for own_s, other_s, at_s in pairs:
        day = sums.setdefault(int(at_s // DAY_S), [0.0, 0.0, 0.0])
        day[0] += own_s or 0.0
        day[1] += other_s or 0.0
        day[2] += 1
    return np.array([sums[day] for day in sorted(sums)])


def _quotient(sums: FloatArray) -> float:
    own, other = float(sums[0]), float(sums[1])
    return own / other if other else 1.0


def _saved_s(sums: FloatArray) -> float:
    return float((sums[1] - sums[0]) / sums[2])


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _bounds(values: FloatArray) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)
