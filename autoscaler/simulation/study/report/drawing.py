"""Pictures of a case for a browser: layouts, queues, what is busy and what idles in vain."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from plotly import graph_objects as go
from plotly.subplots import make_subplots

from autoscaler.simulation.colors import EMPTY, color_of
from autoscaler.simulation.page import styled
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.report.curves import busy_curve, lost_curve, queue_curves
from autoscaler.simulation.study.report.look import GAP, MOST_GPUS, TIME, policy_color
from autoscaler.simulation.study.report.steps import Steps, thinned
from autoscaler.simulation.study.report.tracks import (
    Block,
    Thinned,
    gpu_text,
    gpus_of,
    instance_blocks,
    job_blocks,
    longest,
    on,
)
from autoscaler.simulation.study.splits import Case

PIXELS_PER_SLICE = 5
Numbers = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture, and what of the run it leaves out, in sentences."""

    figure: go.Figure
    notes: tuple[str, ...] = ()


def draw_layout(outcome: Outcome, case: Case, most: int) -> Drawn | None:
    """Draw which instance is where on each GPU over time, and who holds it.

    Parameters
    ----------
    most
        Blocks that are drawn, those of jobs and those of instances each.

    Returns
    -------
    Drawn | None
        ``None`` where the run does not tell its layouts.
    """
    gpus = gpus_of(outcome)
    if not gpus:
        return None
    shown = gpus[:MOST_GPUS]
    instances = longest(on(instance_blocks(outcome, case), shown), most)
    jobs = longest(on(job_blocks(outcome, case), shown), most)
    rows = {gpu: row * (case.model.memory_slices + GAP) for row, gpu in enumerate(shown)}
    figure = go.Figure()
    for profile in sorted({b.instance.profile for b in (*instances.blocks, *jobs.blocks)}):
        figure.add_trace(_areas([b for b in instances.blocks if _is_of(b, profile)], rows))
        figure.add_trace(_bars([b for b in jobs.blocks if _is_of(b, profile)], rows))
    half = case.model.memory_slices / 2
    bottom = (case.model.memory_slices + GAP) * len(shown)
    figure.update_yaxes(
        range=[bottom, -GAP],
        tickvals=[top + half for top in rows.values()],
        ticktext=[gpu_text(gpu) for gpu in shown],
        showgrid=False,
        zeroline=False,
    )
    height = round(110 + PIXELS_PER_SLICE * (bottom + GAP))
    figure.update_layout(barmode="overlay", height=height, hovermode="closest")
    figure.update_xaxes(title=TIME)
    return Drawn(_timed(figure, case), _layout_notes(gpus, instances, jobs))


def _layout_notes(gpus: Sequence[str], instances: Thinned, jobs: Thinned) -> tuple[str, ...]:
    notes = []
    if len(gpus) > MOST_GPUS:
        notes.append(f"The first {MOST_GPUS} of {len(gpus)} GPUs are drawn.")
    for name, found in (("jobs", jobs), ("instances", instances)):
        if found.left_out:
            notes.append(
                f"{found.left_out:,} {name} that lasted less than {found.shortest_s / 60:.0f}"
                f" min are not drawn, {len(found.blocks):,} are."
            )
    return tuple(notes)


def _is_of(block: Block, profile: str) -> bool:
    return block.instance.profile == profile


def _areas(blocks: Sequence[Block], rows: dict[str, float]) -> go.Scatter:
    """Return all instances of a profile as one pale area: quick to draw, no hovering."""
    name = blocks[0].instance.profile if blocks else ""
    x, y = [], []
    for block in blocks:
        left, right = block.start_s / DAY_S, block.end_s / DAY_S
        top = rows[block.gpu] + block.instance.start + 0.06
        bottom = rows[block.gpu] + block.instance.end - 0.06
        x += [left, right, right, left, left, float("nan")]
        y += [top, top, bottom, bottom, top, float("nan")]
    return go.Scatter(
        x=_numbers(x),
        y=_numbers(y),
        fill="toself",
        mode="none",
        fillcolor=_pale(color_of(name)),
        hoverinfo="skip",
        showlegend=False,
        legendgroup=name,
    )


def _bars(blocks: Sequence[Block], rows: dict[str, float]) -> go.Bar:
    """Return all jobs that ran on a profile."""
    name = blocks[0].instance.profile if blocks else ""
    return go.Bar(
        name=name,
        legendgroup=name,
        showlegend=bool(blocks),
        orientation="h",
        y=_numbers(rows[b.gpu] + b.instance.start + b.instance.size / 2 for b in blocks),
        x=_numbers(b.span_s / DAY_S for b in blocks),
        base=[round(b.start_s / DAY_S, 5) for b in blocks],
        width=_numbers(b.instance.size - 0.24 for b in blocks),
        marker={"color": color_of(name), "line": {"width": 0}},
        customdata=[_told(block) for block in blocks],
        hovertemplate=f"{name}: job %{{customdata[0]}}, waited %{{customdata[1]}} min, runs"
        " %{customdata[2]} min<extra></extra>",
    )


def _told(block: Block) -> list[int]:
    times = block.times
    if times is None:
        return [0, 0, 0]
    return [times.job.number, round((times.wait_s or 0.0) / 60), round(times.job.run_s / 60)]


def draw_queues(outcomes: Sequence[Outcome], case: Case, most: int) -> Drawn:
    """Draw how many jobs wait for each profile over time, one line a policy.

    Parameters
    ----------
    most
        Points of one line.
    """
    curves = [queue_curves(outcome, case) for outcome in outcomes]
    names = sorted({job.profile for job in case.present.jobs})
    titles = [f"jobs that wait for {name}" for name in names]
    lines = [[own.get(name) for own in curves] for name in names]
    return _panels(outcomes, case, (titles, lines), most)


def draw_usage(outcomes: Sequence[Outcome], case: Case, most: int) -> Drawn:
    """Draw which share of all slices is busy, and which is idle though a job waits."""
    titles = ["busy", "idle though a job waits that they would be enough for"]
    lines: list[list[Steps | None]] = [
        [busy_curve(outcome, case) for outcome in outcomes],
        [lost_curve(outcome, case) for outcome in outcomes],
    ]
    drawn = _panels(outcomes, case, (titles, lines), most)
    drawn.figure.update_yaxes(tickformat=".0%")
    return drawn


def _panels(
    outcomes: Sequence[Outcome],
    case: Case,
    panels: tuple[Sequence[str], Sequence[Sequence[Steps | None]]],
    most: int,
) -> Drawn:
    titles, lines = panels
    rows = len(titles)
    figure = make_subplots(
        rows=rows,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.25 / (rows + 1),
        subplot_titles=list(titles),
    )
    spans_s = set()
    for row, curves in enumerate(lines, start=1):
        for place, (outcome, steps) in enumerate(zip(outcomes, curves, strict=True)):
            if steps is not None:
                few = thinned(steps, most)
                spans_s.add(few.mean_over_s)
                figure.add_trace(_line(outcome.policy, few, place, row), row=row, col=1)
    figure.update_yaxes(rangemode="tozero", gridcolor=EMPTY)
    figure.update_xaxes(title=TIME, row=rows, col=1)
    figure.update_layout(height=110 + 150 * rows, hovermode="x")
    longest_s = max(spans_s, default=0.0)
    note = f"Lines with more than {most} changes show means over {longest_s / 60:.0f} min."
    return Drawn(_timed(figure, case), (note,) if longest_s else ())


def _line(policy: str, steps: Steps, place: int, row: int) -> go.Scatter:
    return go.Scatter(
        name=policy,
        legendgroup=policy,
        showlegend=row == 1,
        x=_numbers([*(at_s / DAY_S for at_s in steps.times_s), steps.end_s / DAY_S]),
        y=_numbers([*steps.values, steps.values[-1]]),
        mode="lines",
        line={"color": policy_color(place), "width": 1.4, "shape": "hv"},
    )


def _timed(figure: go.Figure, case: Case) -> go.Figure:
    days = case.present.span_s / DAY_S
    figure.update_xaxes(range=[0, days], gridcolor=EMPTY, zeroline=False)
    return styled(figure)


def _pale(color: str) -> str:
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.22)"


def _numbers(values: Iterable[float]) -> Numbers:
    # Half the size on the page, and finer than a pixel.
    return np.fromiter(values, dtype=np.float32)
