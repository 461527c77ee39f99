"""Pictures of studies for documents: PNG files, the same to the byte for the same results."""

from collections.abc import Sequence
from math import nan
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from autoscaler.adapters.yaml_tree import printable
from autoscaler.simulation.colors import EMPTY, TEXT, color_of
from autoscaler.simulation.study.comparison import CaseResult
from autoscaler.simulation.study.contrast import MARK
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.recipe import file_text
from autoscaler.simulation.study.report.curves import queue_curves
from autoscaler.simulation.study.report.look import GAP, MOST_GPUS, TIME, policy_color
from autoscaler.simulation.study.report.points import RatioPoint, ratio_points
from autoscaler.simulation.study.report.standing import Standing, groups_of, standings
from autoscaler.simulation.study.report.steps import thinned
from autoscaler.simulation.study.report.tracks import (
    Block,
    gpu_text,
    gpus_of,
    instance_blocks,
    job_blocks,
    on,
)
from autoscaler.simulation.study.splits import Case

WIDTH_IN, DPI = 8.0, 120
MOST_POINTS = 800
# A time of waiting below it is drawn as it: the scale has no zero.
LEAST_S = 10.0


def draw_study(results: Sequence[CaseResult], folder: Path) -> tuple[Path, ...]:
    """Draw all pictures of a study into a folder; return their files.

    Returns
    -------
    tuple[Path, ...]
        One of ratios where the mark was run, and of each case those of waiting times,
        queues, and the layout under each policy that tells it.
    """
    files = []
    for policy, points in ratio_points(results).items():
        files.append(folder / f"ratios-{file_text(policy)}.png")
        draw_ratios(points, files[-1], policy=policy)
    for name, result in zip(_names(results), results, strict=True):
        files.append(folder / f"{name}-waits.png")
        draw_waits(result, files[-1])
        files.append(folder / f"{name}-queues.png")
        draw_queues(result, files[-1])
        for outcome in result.outcomes:
            if gpus_of(outcome):
                files.append(folder / f"{name}-layout-{file_text(outcome.policy)}.png")
                draw_layout(outcome, result.case, files[-1])
    return tuple(files)


def _names(results: Sequence[CaseResult]) -> list[str]:
    """Return a name for the files of each case; those alike are numbered."""
    labels = [result.recipe.label for result in results]
    return [
        label if label not in labels[:place] else f"{label}_{labels[:place].count(label) + 1}"
        for place, label in enumerate(labels)
    ]


def draw_ratios(points: Sequence[RatioPoint], path: Path, *, policy: str) -> None:
    """Draw completion time against the mark by load, one line a rule.

    Parameters
    ----------
    points
        In any order; several of one line and load stand beside each other.
    """
    figure, axes = _sheet(4.2)
    axes.axhline(1.0, color=TEXT, linewidth=1, linestyle="--")
    for place, line in enumerate(sorted({point.line for point in points})):
        own = sorted((p for p in points if p.line == line), key=lambda p: (p.load, p.ratio))
        loads, ratios = [p.load for p in own], [p.ratio for p in own]
        below = [p.ratio - (p.ratio if p.low is None else p.low) for p in own]
        above = [(p.ratio if p.high is None else p.high) - p.ratio for p in own]
        # A bootstrap interval need not hold the value itself.
        bars = [[max(0.0, value) for value in side] for side in (below, above)]
        axes.errorbar(
            loads,
            ratios,
            yerr=bars,
            label=_plain_text(line),
            color=policy_color(place),
            marker="o",
            markersize=4,
            capsize=3,
            linewidth=1.4,
        )
    axes.set_xlabel("load")
    axes.set_ylabel(
        f"mean completion of {_plain_text(policy)},\nas a multiple of that of {MARK}"
    )
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False)
    _save(figure, path)


def draw_waits(result: CaseResult, path: Path) -> None:
    """Draw waiting by profile under each policy: the mean as a bar, p95 as a tick."""
    table, groups = standings(result), groups_of(result)
    figure, axes = _sheet(4.2)
    width = 0.8 / len(table)
    for place, standing in enumerate(table):
        left = [k - 0.4 + (place + 0.5) * width for k in range(len(groups))]
        _bars(axes, standing, left, (width, policy_color(place)))
    axes.set_yscale("log")
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel("waiting time, s: mean (bar), p95 (tick)")
    axes.set_title(_plain_text(result.case.name), fontsize=9, loc="left")
    figure.legend(frameon=False, ncols=min(4, len(table)), loc="outside lower right")
    _save(figure, path)


def _bars(
    axes: Axes, standing: Standing, left: Sequence[float], look: tuple[float, str]
) -> None:
    width, color = look
    means = [wait_height(cell.mean_s) for cell in standing.cells]
    tails = [wait_height(cell.p95_s) for cell in standing.cells]
    axes.bar(left, means, width * 0.9, color=color, label=_plain_text(standing.outcome.policy))
    axes.hlines(
        tails,
        [x - width * 0.4 for x in left],
        [x + width * 0.4 for x in left],
        color=color,
        linewidth=2,
    )


def wait_height(wait_s: float | None) -> float:
    """Return how high a wait is drawn; nothing is drawn where jobs wait for ever."""
    return nan if wait_s is None else max(LEAST_S, wait_s)


def draw_queues(result: CaseResult, path: Path) -> None:
    """Draw how many jobs wait for each profile over time, one line a policy."""
    case, names = result.case, groups_of(result)[1:]
    figure = Figure(figsize=(WIDTH_IN, 0.6 + 1.5 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for place, outcome in enumerate(result.outcomes):
        curves = queue_curves(outcome, case)
        for axes, name in zip(panels, names, strict=True):
            steps = thinned(curves[name], MOST_POINTS)
            days = [at_s / DAY_S for at_s in (*steps.times_s, steps.end_s)]
            values = [*steps.values, steps.values[-1]]
            color, label = policy_color(place), _plain_text(outcome.policy)
            axes.step(days, values, where="post", color=color, linewidth=1.1, label=label)
    for axes, name in zip(panels, names, strict=True):
        _plain(axes)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"waiting for\n{name}", fontsize=8)
    panels[0].legend(frameon=False, ncols=3, fontsize=8)
    panels[-1].set_xlabel(TIME)
    _save(figure, path)


def draw_layout(outcome: Outcome, case: Case, path: Path) -> None:
    """Draw which instance is where on each GPU over time, and which are held."""
    gpus = gpus_of(outcome)[:MOST_GPUS]
    rows = {gpu: row * (case.model.memory_slices + GAP) for row, gpu in enumerate(gpus)}
    figure, axes = _sheet(0.9 + 0.42 * len(gpus))
    blocks: tuple[tuple[list[Block], float], ...] = (
        (on(instance_blocks(outcome, case), gpus), 0.22),
        (on(job_blocks(outcome, case), gpus), 1.0),
    )
    for found, alpha in blocks:
        colors = [color_of(block.instance.profile) for block in found]
        corners = [_corners(block, rows[block.gpu]) for block in found]
        axes.add_collection(
            PolyCollection(corners, facecolors=colors, alpha=alpha, linewidths=0)
        )
    profiles = sorted({block.instance.profile for found, _ in blocks for block in found})
    for profile in profiles:
        axes.bar([0], [0], color=color_of(profile), label=profile)
    axes.set_xlim(0, case.present.span_s / DAY_S)
    axes.set_ylim((case.model.memory_slices + GAP) * len(gpus), -GAP)
    half = case.model.memory_slices / 2
    axes.set_yticks([top + half for top in rows.values()], [gpu_text(gpu) for gpu in gpus])
    axes.set_xlabel(TIME)
    axes.set_title(_plain_text(f"{case.name}, {outcome.policy}"), fontsize=9, loc="left")
    figure.legend(frameon=False, ncols=max(1, len(profiles)), loc="outside lower right")
    _save(figure, path)


def _corners(block: Block, top: float) -> list[tuple[float, float]]:
    left, right = block.start_s / DAY_S, block.end_s / DAY_S
    upper, lower = top + block.instance.start + 0.08, top + block.instance.end - 0.08
    return [(left, upper), (right, upper), (right, lower), (left, lower)]


def _sheet(height_in: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    axes = figure.subplots()
    _plain(axes)
    return figure, axes


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=EMPTY)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)


def _plain_text(text: str) -> str:
    """Return a text as it is for who takes dollar signs for formulas, as the library does."""
    return printable(text).replace("$", r"\$")


def _save(figure: Figure, path: Path) -> None:
    # Without the version of the library the same picture has the same bytes for longer.
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
