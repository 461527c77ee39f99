"""Ratios by load: what the picture of them is drawn from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autoscaler.simulation.study.comparison import CaseResult
from autoscaler.simulation.study.contrast import MARK
from autoscaler.simulation.study.evaluation.kept import CaseRuns
from autoscaler.simulation.study.evaluation.rows import RULES, Part, Row
from autoscaler.simulation.study.pairing import Ratio
from autoscaler.simulation.study.report.standing import standings

# Rows of the evaluation that are drawn, and what they are called there.
DRAWN_ROWS = {Row.AGENT: "agent", Row.MIG_MANAGER: "MIG manager"}


@dataclass(frozen=True, slots=True)
class RatioPoint:
    """How one policy does against the mark in one case, or in several of one load.

    Parameters
    ----------
    line
        What is drawn as one line, e.g. the rule by which jobs get profiles.
    low, high
        Bounds of the interval; ``None`` where there is none.
    """

    line: str
    load: float
    ratio: float
    low: float | None = None
    high: float | None = None


def point_of(line: str, load: float, ratio: Ratio | None) -> RatioPoint | None:
    """Return the point of a ratio; ``None`` where nothing finite can be drawn."""
    if ratio is None or ratio.value is None or not ratio.is_finite:
        return None
    return RatioPoint(line, load, ratio.value, ratio.low, ratio.high)


def ratio_points(results: Sequence[CaseResult]) -> dict[str, list[RatioPoint]]:
    """Return the points of each policy that can be compared with the mark."""
    found: dict[str, list[RatioPoint]] = {}
    for result in results:
        for standing in standings(result):
            policy = standing.outcome.policy
            point = point_of(result.recipe.column, result.case.load, standing.ratio)
            if point is not None and policy != MARK:
                found.setdefault(policy, []).append(point)
    return found


def evaluated_points(cases: Iterable[CaseRuns]) -> list[RatioPoint]:
    """Return the points of the evaluation: base cases, one line a rule and way to act."""
    points = [
        point_of(
            f"rule {RULES[case.recipe.column]}, {DRAWN_ROWS[case.row]}",
            load,
            case.ours.ratio,
        )
        for case in cases
        if case.part is Part.BASE and case.row in DRAWN_ROWS and case.is_run
        if (load := case.recipe.draw.load) is not None
    ]
    return [point for point in points if point is not None]
