"""Kept results of an evaluation for tests, made up of ratios."""

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

from autoscaler.simulation.study.evaluation.kept import CaseRuns, Run
from autoscaler.simulation.study.evaluation.rows import Planned

MARK_S = 1000.0


def document(*ratios: float | None) -> dict[str, Any]:
    """Return a kept case as its file holds it: a run a ratio, the first the autoscaler's."""
    names = ("autoscaler", "unpartitioned", "threshold")
    return {
        "case": "made up",
        "model": "a100-40gb",
        "gpus": 7,
        "runs": [
            {
                "policy": name,
                "unfinished": 0,
                "meanCompletion": 1.5,
                "meanWait": None,
                "wait": {"p95": 3},
                "p95Wait": {},
                "utilisation": 0.5,
                "fragmentation": 0.1,
                "unmetSliceHours": 2.0,
                "changes": 1,
                "evictions": 0,
                "planGapMax": 0.0,
                "versusStaticPast": {
                    "ratio": ratio,
                    "low": ratio,
                    "high": ratio,
                    "verdict": "tie",
                },
            }
            for name, ratio in zip(names, ratios, strict=False)
        ],
    }


def run(policy: str, ratio: float, **figures: Any) -> Run:
    """Return a run of a policy that takes a multiple of 1,000 s; infinite if it never ends."""
    ends = isfinite(ratio)
    versus = {
        "ratio": ratio if ends else None,
        "low": ratio - 0.02 if ends else None,
        "high": ratio + 0.02 if ends else None,
        "verdict": "tie" if ends else "worse",
        "saved": MARK_S * (1 - ratio) if ends else None,
    }
    return Run(
        {
            "policy": policy,
            "unfinished": 0 if ends else 3,
            "meanCompletion": MARK_S * ratio if ends else None,
            "p95Wait": {"1g.5gb": 60.0, "7g.40gb": 1234.0},
            "wait": {"p95": 500.0},
            "versusStaticPast": versus,
            **figures,
        }
    )


def kept(case: Planned, ratio: float | None, **figures: Any) -> CaseRuns:
    """Return a planned case with a ratio of the autoscaler; ``None`` for not yet run."""
    if ratio is None:
        return CaseRuns(case.row, case.part, case.entry.recipe)
    runs: Mapping[str, Run] = {
        "autoscaler": run("autoscaler", ratio, **figures),
        "static-past": run("static-past", 1.0),
    }
    return CaseRuns(case.row, case.part, case.entry.recipe, runs, 7, "code")


def in_peaks(mark: float, whole: float) -> dict[str, object]:
    """Return figures of jobs in peaks: their ratios to the tuned mix and to whole GPUs."""
    pairs = {"static-past": mark, "unpartitioned": whole}
    return {
        name: {"ratio": value, "verdict": "tie"} for name, value in pairs.items() if value < inf
    }
