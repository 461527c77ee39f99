"""The page on decision quality, written from kept results and nothing else."""

from collections.abc import Iterator, Sequence

from autoscaler.simulation.study.evaluation.kept import CaseRuns, Cases, part_of
from autoscaler.simulation.study.evaluation.rows import WAYS, Part, Row
from autoscaler.simulation.study.evaluation.summary import HEAD as SUMMARY_HEAD
from autoscaler.simulation.study.evaluation.summary import summary_rows
from autoscaler.simulation.study.evaluation.tables import (
    clusters_table,
    findings_table,
    markdown,
    open_text,
    peaks_table,
    peers_table,
    resampled_table,
    single_table,
    waits_table,
)
from autoscaler.simulation.study.evaluation.targets import findings_of
from autoscaler.simulation.study.report.points import evaluated_points

HEAD = """# Decision quality

Does re-cutting pay? Jobs of a real trace (openb) are replayed under the autoscaler and under
the static mix that is best on the days before. The ratio is that of the mean completion
times, from arrival to end; below 1 the autoscaler is better. The autoscaler is the real loop
with its planner and rollouts, on the embedded cluster with all delays of a change; all others
run in the light simulator, which charges each what its changes take, and has no pods that
take up to 2 s to start.

Intervals hold 95 % of 2,000 draws: days are drawn with replacement, the same ones for both.
A difference that the draws do not agree on is a tie, and so is one of less than those 2 s.
Rules A and C are two ways to say what a job needs: the columns `mig_share` and `mig_v100eq` of
the trace. Base: tuned on days 115 to 134, judged on days 134 to 149. Swapped: the other way
round. Resampled: each day judged on is drawn from days 134 to 149. Peaks: on four days from 10
to 16 h jobs of some profiles are added, until the work is 2.5 times the mean. "over hindsight"
is by how much jobs take longer than under the static mix that was best on the days judged.

This page is written by `make quality` from `simulations/results/`, which `make evaluate`
fills for hours and goes on with where it was stopped. Each result is checked when it is made:
each job runs once, no instance is held twice, and Little's law holds.
"""
CHANCE = """Which of several free devices a pod gets, and how long each step of a change
takes, is drawn for each cluster. Where a case depends on it, a single run says little.
"""
# Lies beside the page.
PICTURE = "decision-quality.png"
PARTS = {
    Part.BASE: "Base",
    Part.SWAPPED: "Swapped",
    Part.PEAKS: "Peaks",
    Part.ANNOUNCED: "Announced peaks",
    Part.RESAMPLED: "Resampled",
    Part.CLUSTERS: "The same cases on other clusters",
}


def page_of(cases: Sequence[CaseRuns]) -> str:
    """Return the page for planned cases, run or not."""
    lines = [HEAD, _state(cases)]
    if evaluated_points(cases):
        lines.append(
            "Ratios by set of cases; of peaks those of the jobs that arrive in them.\n"
        )
        lines.append(markdown(SUMMARY_HEAD, summary_rows(cases)))
        lines.append(f"![Ratio by load and rule, base cases; below 1 is faster]({PICTURE})\n")
    for row, way in WAYS.items():
        lines.append(f"## {way.title}\n")
        lines += [f"{way.note}\n"] if way.note else []
        lines += _peers(cases) if row is Row.PEERS else _row(row, cases)
    return "\n".join(lines)


def _state(cases: Sequence[CaseRuns]) -> str:
    run = [case for case in cases if case.is_run]
    text = f"{len(run)} of {len(cases)} planned cases are run."
    codes = sorted({case.code for case in run})
    if len(codes) > 1:
        text += (
            f" They come from {len(codes)} states of the code ({', '.join(codes)}), so they "
            "are not all of one product; `make evaluate` runs those of older states anew."
        )
    elif codes:
        text += f" All come from one state of the code ({codes[0]})."
    return text + "\n"


def _row(row: Row, cases: Sequence[CaseRuns]) -> Iterator[str]:
    findings = findings_of(row, cases)
    if findings:
        yield findings_table(findings)
    for part, title in PARTS.items():
        own = part_of(cases, row, part)
        if not own.all:
            continue
        yield f"### {title}\n"
        if own.run:
            yield from _tables(part, own)
        yield from filter(None, [open_text(own)])


def _tables(part: Part, own: Cases) -> Iterator[str]:
    if part is Part.RESAMPLED:
        yield resampled_table(own)
        return
    if part is Part.CLUSTERS:
        yield CHANCE
        yield clusters_table(own)
        return
    has_peaks = part in (Part.PEAKS, Part.ANNOUNCED)
    yield peaks_table(own) if has_peaks else single_table(own)
    yield "Seconds waited, tuned mix / autoscaler: mean, and 95th percentile by profile.\n"
    yield waits_table(own)


def _peers(cases: Sequence[CaseRuns]) -> Iterator[str]:
    peers, ours = part_of(cases, Row.PEERS, Part.BASE), part_of(cases, Row.AGENT, Part.BASE)
    yield (
        "Geometric means of the ratio to the tuned mix, base, over the loads of the first "
        "table. `free-repack` and `miso` are bounds that nobody can buy: jobs move at no cost, "
        "or share a GPU at sizes that nobody asked for.\n"
    )
    if peers.run or ours.run:
        yield peers_table(peers, ours)
    yield from filter(None, [open_text(peers)])
