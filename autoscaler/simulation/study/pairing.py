"""Compares policies in pairs: the same jobs under both, and how sure the difference is.

Days are drawn with replacement, the same ones for both policies, because jobs of one day
share a queue. A difference that the draws do not agree on is called a tie.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.splits import DAY_S

DRAWS = 2000
CONFIDENCE = 0.95
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
        Infinite when only the other one runs all jobs; ``None`` when neither does.
    low, high
        Bounds of the confidence interval; ``None`` where there is none.
    """

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the first policy is better, worse, or no different as far as one knows."""
        if self.value == inf:
            return Verdict.WORSE
        if self.low is None or self.high is None:
            return Verdict.TIE
        if self.high < 1:
            return Verdict.BETTER
        return Verdict.WORSE if self.low > 1 else Verdict.TIE

    def exceeds(self, limit: float) -> bool:
        """Say whether the ratio is above a limit beyond the confidence interval."""
        if self.value is None or self.value <= limit:
            return False
        return self.low is None or self.low > limit

    def as_json(self) -> dict[str, object]:
        """Return it under the names of the JSON output."""
        value = None if self.value in (None, inf) else self.value
        rounded = [None if x is None else round(x, 4) for x in (value, self.low, self.high)]
        return {
            "ratio": rounded[0],
            "low": rounded[1],
            "high": rounded[2],
            "verdict": self.verdict.value,
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
    if not pairs or any(b is None for _, b, _ in pairs):
        return Ratio(None)
    if any(a is None for a, _, _ in pairs):
        return Ratio(inf)
    sums: dict[int, list[float]] = {}
    for a, b, at_s in pairs:
        day = sums.setdefault(int(at_s // DAY_S), [0.0, 0.0])
        day[0] += a or 0.0
        day[1] += b or 0.0
    days = np.array([sums[day] for day in sorted(sums)])
    value = _quotient(days.sum(axis=0))
    if len(days) < 2:
        return Ratio(value)
    picks = np.random.default_rng(seed).integers(len(days), size=(DRAWS, len(days)))
    drawn = days[picks].sum(axis=1)
    ratios = drawn[:, 0] / np.maximum(drawn[:, 1], np.finfo(float).tiny)
    low, high = _bounds(ratios)
    return Ratio(value, low, high)


def geometric_mean(ratios: Sequence[float], seed: int = 0) -> Ratio:
    """Return the geometric mean of ratios of several cases, with its interval over cases."""
    if not ratios:
        return Ratio(None)
    logs = np.array([log(ratio) for ratio in ratios])
    value = exp(float(logs.mean()))
    if len(ratios) < 2:
        return Ratio(value)
    picks = np.random.default_rng(seed).integers(len(logs), size=(DRAWS, len(logs)))
    low, high = _bounds(np.exp(logs[picks].mean(axis=1)))
    return Ratio(value, low, high)


def _quotient(pair: FloatArray) -> float:
    own, other = float(pair[0]), float(pair[1])
    return own / other if other else 1.0


def _bounds(values: FloatArray) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)
