"""The page of a study: everything about its cases in one file for a browser."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from markupsafe import Markup
from plotly.graph_objects import Figure

from autoscaler.simulation.page import render_page, styled
from autoscaler.simulation.study.comparison import CaseResult
from autoscaler.simulation.study.contrast import MARK
from autoscaler.simulation.study.figures import busy_spells, idle_while_waiting, integral
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.pairing import (
    CONFIDENCE,
    POD_START_S,
    Ratio,
    geometric_mean,
)
from autoscaler.simulation.study.report.drawing import (
    Drawn,
    draw_layout,
    draw_queues,
    draw_usage,
)
from autoscaler.simulation.study.report.standing import Cell, Standing, groups_of, standings
from autoscaler.simulation.study.splits import Case

TEMPLATE = "study.html"
# What a laptop draws without a pause, and of all pictures together what it loads.
MOST_BLOCKS, ALL_BLOCKS, LEAST_BLOCKS = 3_000, 60_000, 200
MOST_POINTS, ALL_POINTS, LEAST_POINTS = 720, 120_000, 60
NONE = "-"

Value = dict[str, object]


@dataclass(frozen=True, slots=True)
class Text:
    """One entry of a table, and how sure it is."""

    text: str
    verdict: str = ""
    wins: bool = False


def render_study(results: Sequence[CaseResult], factors: Sequence[tuple[str, str]]) -> str:
    """Return the page.

    Parameters
    ----------
    results
        One a case, at least one.
    factors
        What the figures depend on, in words.
    """
    tables = [standings(result) for result in results]
    return render_page(
        TEMPLATE,
        introduction=_introduction(results),
        mark=MARK,
        confidence=f"{CONFIDENCE:.0%}",
        pod_start=duration_text(POD_START_S),
        has_mark=any(own.ratio is not None for table in tables for own in table),
        overview=_overview(results, tables),
        cases=[_case(r, t) for r, t in zip(results, tables, strict=True)],
        factors=factors,
        pictures=_as_script([_pictures(result, results) for result in results]),
        look=_as_script(json.loads(styled(Figure()).to_json())["layout"]["template"]),
    )


def _introduction(results: Sequence[CaseResult]) -> str:
    jobs = sum(len(result.case.present.jobs) for result in results)
    policies = len({o.policy for result in results for o in result.outcomes})
    return (
        f"{_number(len(results), 'case')}, {_number(policies, 'policy', 'policies')},"
        f" {_number(jobs, 'job')}. The same jobs under each policy, on a virtual clock."
    )


def _number(number: int, noun: str, nouns: str = "") -> str:
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def _overview(results: Sequence[CaseResult], tables: Sequence[Sequence[Standing]]) -> Value:
    policies = tuple(dict.fromkeys(o.policy for result in results for o in result.outcomes))
    rows, ratios = [], dict[str, list[float]]()
    for result, table in zip(results, tables, strict=True):
        own = {standing.outcome.policy: standing for standing in table}
        cells = [_contrast(own[p]) if p in own else Text(NONE) for p in policies]
        rows.append({"name": result.case.name, "gpus": result.case.gpus, "cells": cells})
        for standing in table:
            ratio = standing.ratio
            if ratio is not None and ratio.value is not None and ratio.is_finite:
                ratios.setdefault(standing.outcome.policy, []).append(ratio.value)
    # A mean over some of the cases would flatter whoever fails in the others.
    means = [
        _ratio(geometric_mean(found)) if len(found) == len(results) else Text(NONE)
        for found in (ratios.get(policy, []) for policy in policies)
    ]
    is_known = len(results) > 1 and any(ratios.values())
    return {"policies": policies, "rows": rows, "means": means if is_known else []}


def _contrast(standing: Standing) -> Text:
    if standing.outcome.policy == MARK or standing.ratio is None:
        return Text(duration_text(standing.completion_s))
    return _ratio(standing.ratio)


def _ratio(ratio: Ratio) -> Text:
    if ratio.value is None:
        return Text(NONE)
    if ratio.value == inf:
        return Text("some never ran", ratio.verdict.value)
    if ratio.value == 0:
        return Text(f"all ran, not so in {MARK}", ratio.verdict.value)
    if ratio.low is None or ratio.high is None:
        return Text(f"{ratio.value:.3f}", ratio.verdict.value)
    text = f"{ratio.value:.3f} [{ratio.low:.2f}, {ratio.high:.2f}]"
    return Text(text, ratio.verdict.value)


def _case(result: CaseResult, table: Sequence[Standing]) -> Value:
    case = result.case
    return {
        "name": f"{case.name}, {case.gpus} x {case.model.key}",
        "groups": groups_of(result),
        "rows": [
            {
                "policy": standing.outcome.policy,
                "completion": duration_text(standing.completion_s),
                "used": f"{_used(standing.outcome, case):.0%}",
                "lost": f"{idle_while_waiting(standing.outcome, case):.1%}",
                "changes": f"{standing.outcome.changes:,}",
                "cells": [_waits(cell) for cell in standing.cells],
            }
            for standing in table
        ],
    }


def _used(outcome: Outcome, case: Case) -> float:
    span_s = case.present.span_s
    busy = integral(busy_spells(outcome, case), span_s)
    return busy / (case.gpus * case.model.compute_slices * span_s)


def _waits(cell: Cell) -> Text:
    text = f"{duration_text(cell.mean_s)} / {duration_text(cell.p95_s)}"
    if cell.never_ran:
        text += f", {cell.never_ran} never ran"
    return Text(text, wins=cell.wins)


def duration_text(seconds: float | None) -> str:
    """Return a length of time with two or three digits that count."""
    if seconds is None:
        return NONE
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:,.1f} h"


def _pictures(result: CaseResult, results: Sequence[CaseResult]) -> Value:
    """Return the pictures of one case; the more there are in all, the coarser each is."""
    case, outcomes = result.case, result.outcomes
    layouts = sum(len(each.outcomes) for each in results)
    blocks = min(MOST_BLOCKS, max(LEAST_BLOCKS, ALL_BLOCKS // layouts))
    lines = layouts * (2 + len({job.profile for job in case.present.jobs}))
    points = min(MOST_POINTS, max(LEAST_POINTS, ALL_POINTS // lines))
    return {
        "layouts": {o.policy: _drawn(draw_layout(o, case, blocks)) for o in outcomes},
        "queues": _drawn(draw_queues(outcomes, case, points)),
        "usage": _drawn(draw_usage(outcomes, case, points)),
    }


def _drawn(drawn: Drawn | None) -> Value | None:
    if drawn is None:
        return None
    figure = json.loads(drawn.figure.to_json())
    # It is the same for all, so the page has it once.
    del figure["layout"]["template"]
    return {"figure": figure, "notes": drawn.notes}


def _as_script(pictures: object) -> Markup:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(pictures, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))
