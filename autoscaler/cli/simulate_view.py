"""Draws what ``simulate`` has found."""

import re
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from autoscaler.cli.output import table
from autoscaler.domain.journal.rollout import Result
from autoscaler.simulation.study.contrast import MARK
from autoscaler.simulation.study.figures import Json
from autoscaler.simulation.study.peaks import ANNOUNCED
from autoscaler.simulation.study.report.standing import priorities_shown, priority_text

Figures = Mapping[str, object]
NUMBER = re.compile(r"\d[\d,.]*")


def draw_cases(out: Console, cases: Sequence[Json], *, wide: bool) -> None:
    """Draw one table a case; ``wide`` adds columns, and waiting by profile and priority."""
    for case in cases:
        runs = runs_of(case)
        title = f"{case['case']}, {case['gpus']} x {case['model']}"
        out.print(_runs_table(runs, title, wide=wide))
        if wide:
            out.print(_waits_table(runs))
    for notice in (*_alike_once(notices_of(cases)), *_complaints(cases)):
        out.print(f"note: {notice}", markup=False, highlight=False)


def notices_of(cases: Sequence[Json]) -> list[str]:
    """Return what a reader must know about the jobs of some cases, each once."""
    found: dict[str, None] = {}
    for case in cases:
        notices = case.get("notices")
        found.update(dict.fromkeys(notices if isinstance(notices, list) else []))
    return list(found)


def _alike_once(notices: Sequence[str]) -> list[str]:
    """Return notices with one for all that differ in numbers only, as those of seeds do."""
    found: dict[str, list[str]] = {}
    for notice in notices:
        found.setdefault(NUMBER.sub("#", notice), []).append(notice)
    return [
        first if not others else f"{first}; {len(others)} more with other numbers (-o json)"
        for first, *others in found.values()
    ]


def _complaints(cases: Sequence[Json]) -> list[str]:
    """Return where a loop complained: what it did not do is in no other figure."""
    found = []
    for case in cases:
        for run in runs_of(case):
            errors, first = (_of(run, "loop").get(name) for name in ("errors", "firstError"))
            if errors:
                found.append(
                    f"{run['policy']} on {case['case']}: {errors} errors, first: {first}"
                )
    return found


def runs_of(case: Json) -> list[Figures]:
    """Return the figures of a case's runs."""
    runs = case["runs"]
    return [run for run in runs if isinstance(run, dict)] if isinstance(runs, list) else []


def told_runs(cases: Sequence[Json]) -> list[Json]:
    """Return all runs, each with what tells its case from the others."""
    return [
        {"case": case["case"], "model": case["model"], **_told_peaks(case), **run}
        for case in cases
        for run in runs_of(case)
    ]


def _told_peaks(case: Json) -> Json:
    """Return the peaks of a case as text, and whether the autoscaler is told of any."""
    peaks = [part.split() for part in str(case.get("peak") or "").split(";")]
    if not any(peaks):
        return {}
    told = [ANNOUNCED in words for words in peaks]
    if all(told):
        # The same peaks read the same, announced or not: such cases are to be paired.
        peaks = [[word for word in words if word != ANNOUNCED] for words in peaks]
    return {"peaks": "; ".join(map(" ".join, peaks)), "announced": any(told)}


def _runs_table(runs: Sequence[Figures], title: str, *, wide: bool) -> Table:
    has_peak = any("peak" in run for run in runs)
    columns = ["policy", "completion s", "wait s", "p95 wait s", "to static-past"]
    columns += ["in peaks s"] if has_peak else []
    columns += ["used", "changes", "never ran"]
    if wide:
        columns += ["p99 wait s", "over hindsight", "fragmentation", "unmet slice-h"]
        columns += ["evictions", "given up", "plan gap"]
    made = table(*columns, title=title, right=columns[1:])
    for run in runs:
        row = [
            str(run["policy"]),
            _seconds(run["meanCompletion"]),
            _seconds(run["meanWait"]),
            _seconds(_of(run, "wait").get("p95")),
            "" if run["policy"] == MARK else ratio_text(_of(run, "versusStaticPast")),
        ]
        row += [_seconds(_of(run, "peak").get("meanCompletion"))] if has_peak else []
        row += [_text(run["utilisation"]), str(run["changes"]), str(run["unfinished"] or "")]
        made.add_row(*row, *(_wide(run) if wide else ()))
    return made


def _wide(run: Figures) -> list[str]:
    over = _of(_of(run, "regret"), "static-hindsight").get("share")
    return [
        _seconds(_of(run, "wait").get("p99")),
        f"{over:+.1%}" if isinstance(over, int | float) else "-",
        *(_text(run[name]) for name in ("fragmentation", "unmetSliceHours", "evictions")),
        _text(_given_up(_of(run, "loop"))),
        _share(run["planGapMax"]),
    ]


def _given_up(loop: Figures) -> int | None:
    """Return how many rollouts ended without a change; ``None`` where there is no loop."""
    if not loop:
        return None
    ends = _of(loop, "ends")
    return sum(n for end, n in ends.items() if isinstance(n, int) and end != Result.DONE)


def _waits_table(runs: Sequence[Figures]) -> Table:
    waits = [_waits_of(run) for run in runs]
    groups = list(dict.fromkeys(name for own in waits for name in own))
    made = table("p95 wait s", *groups, right=groups)
    for run, own in zip(runs, waits, strict=True):
        made.add_row(str(run["policy"]), *(_seconds(own.get(name)) for name in groups))
    return made


def _waits_of(run: Figures) -> dict[str, object]:
    """Return how long jobs waited, by profile and, if there are several, by priority."""
    found = dict(_of(run, "p95Wait"))
    groups = _of(run, "byPriority")
    for own in priorities_shown(map(int, groups)):
        found[priority_text(own)] = _of(_of(groups, str(own)), "wait").get("p95")
    return found


def ratio_text(ratio: Figures) -> str:
    """Return a ratio with its interval, and who is better if that is known."""
    value, low, high = (ratio.get(name) for name in ("ratio", "low", "high"))
    if not isinstance(value, int | float):
        verdict = ratio.get("verdict")
        return str(verdict) if verdict in ("better", "worse") else "-"
    text = f"{value:.3f}"
    if isinstance(low, int | float) and isinstance(high, int | float):
        text += f" ({low:.3f} to {high:.3f})"
    return f"{text} {ratio['verdict']}"


def _of(figures: Figures, name: str) -> Figures:
    value = figures.get(name)
    return value if isinstance(value, Mapping) else {}


def _share(value: object) -> str:
    return f"{value:.2%}" if isinstance(value, int | float) else _text(value)


def _text(value: object) -> str:
    return "-" if value is None else str(value)


def _seconds(value: object) -> str:
    return f"{value:,.0f}" if isinstance(value, int | float) else "-"
