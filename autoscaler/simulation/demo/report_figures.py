"""Pictures of a run for the report: layouts, queues, changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from plotly import graph_objects as go
from plotly.subplots import make_subplots

from autoscaler.domain.counts import Counts
from autoscaler.simulation.colors import EMPTY, OFF, color_of
from autoscaler.simulation.demo.comparison import profiles_of, short_name
from autoscaler.simulation.demo.run_record import BoardRecord, ChangeRecord, RunRecord
from autoscaler.simulation.figures import Sample
from autoscaler.simulation.page import styled

ALONE = OFF
RESULTS = {"done": "#43a692", "aborted": "#e9b44c"}
FAILED = "#c4513a"
WHOLE = "whole GPU, MIG off"
# Between two nodes, in memory slices.
GAP = 1.5


@dataclass(frozen=True, slots=True)
class Block:
    """One instance in a picture: where it is drawn and what is said of it."""

    kind: str
    x: float
    size: float
    gpu: int
    text: str


def draw_layouts(run: RunRecord, slices: int) -> go.Figure:
    """Draw which instance is where on every GPU, before and after.

    Parameters
    ----------
    slices
        Memory slices of each GPU.
    """
    figure = make_subplots(
        rows=2, cols=1, vertical_spacing=0.14, subplot_titles=("at the start", "at the end")
    )
    nodes = list(dict.fromkeys(board.node for board in run.before))
    shown: set[str] = set()
    for row, boards in enumerate((run.before, run.after), start=1):
        blocks = [block for board in boards for block in blocks_of(board, nodes, slices)]
        figure.add_trace(_background(boards, nodes, slices), row=row, col=1)
        for kind in sorted({block.kind for block in blocks}):
            same = [block for block in blocks if block.kind == kind]
            figure.add_trace(_bars(kind, same, is_new=kind not in shown), row=row, col=1)
            shown.add(kind)
        centers = [_left(node, nodes, slices) + slices / 2 for node in nodes]
        figure.update_xaxes(tickvals=centers, ticktext=nodes, row=row, col=1)
    for box in changed_boxes(run, nodes, slices):
        figure.add_shape(box, row=2, col=1)
    gpus = max((board.index for board in run.before), default=0) + 1
    figure.update_yaxes(
        autorange="reversed", tickvals=list(range(gpus)), title="GPU", showgrid=False
    )
    figure.update_xaxes(showgrid=False, zeroline=False)
    figure.update_layout(barmode="overlay", height=130 + 2 * (70 + 22 * gpus))
    return styled(figure)


def blocks_of(board: BoardRecord, nodes: Sequence[str], slices: int) -> list[Block]:
    """Return what is drawn for one GPU."""
    left = _left(board.node, nodes, slices)
    where = f"{board.node} GPU {board.index}"
    if board.geometry is None:
        return [Block(WHOLE, left, slices, board.index, f"{where}: {WHOLE}")]
    return [
        Block(
            i.profile,
            left + i.start,
            i.size,
            board.index,
            f"{where}: {i.profile}, memory slices {i.start} to {i.start + i.size - 1}",
        )
        for i in board.geometry.instances
    ]


def changed_boxes(run: RunRecord, nodes: Sequence[str], slices: int) -> list[dict[str, object]]:
    """Return a frame for each GPU whose instances are not those of the start."""
    before = {(board.node, board.index): board.geometry for board in run.before}
    return [
        {
            "type": "rect",
            "x0": _left(board.node, nodes, slices) - 0.15,
            "x1": _left(board.node, nodes, slices) + slices + 0.15,
            "y0": board.index - 0.48,
            "y1": board.index + 0.48,
            "line": {"color": "#111418", "width": 1.5},
        }
        for board in run.after
        if board.geometry != before.get((board.node, board.index))
    ]


def _left(node: str, nodes: Sequence[str], slices: int) -> float:
    return nodes.index(node) * (slices + GAP)


def _background(boards: Iterable[BoardRecord], nodes: Sequence[str], slices: int) -> go.Bar:
    """Return the room of all GPUs: what no instance covers stays visible."""
    found = list(boards)
    return go.Bar(
        y=[board.index for board in found],
        x=[slices] * len(found),
        base=[_left(board.node, nodes, slices) for board in found],
        orientation="h",
        width=0.8,
        marker={"color": EMPTY},
        hoverinfo="skip",
        showlegend=False,
    )


def _bars(kind: str, blocks: Sequence[Block], *, is_new: bool) -> go.Bar:
    return go.Bar(
        name=kind,
        legendgroup=kind,
        showlegend=is_new,
        y=[block.gpu for block in blocks],
        x=[block.size for block in blocks],
        base=[block.x for block in blocks],
        orientation="h",
        width=0.8,
        marker={"color": color_of(kind), "line": {"color": "white", "width": 1}},
        hovertext=[block.text for block in blocks],
        hoverinfo="text",
    )


def draw_queues(alone: RunRecord, run: RunRecord, zone: str) -> go.Figure:
    """Draw how many instances of each profile are waited for over time, in both runs."""
    names = profiles_of(alone)
    figure = make_subplots(
        rows=max(1, len(names)),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.05,
        subplot_titles=[f"waiting for {name}" for name in names],
    )
    for row, name in enumerate(names, start=1):
        for record, label, color in (
            (alone, "mix left alone", ALONE),
            (run, "autoscaled", color_of(name)),
        ):
            line = {"color": color, "width": 2, "shape": "hv"}
            times, values = steps_of(record, record.queue, name, zone)
            trace = go.Scatter(
                x=times, y=values, name=label, line=line, mode="lines", showlegend=False
            )
            figure.add_trace(trace, row=row, col=1)
    figure.update_yaxes(rangemode="tozero", gridcolor=EMPTY)
    figure.update_layout(height=80 + 150 * len(names))
    return styled(figure)


def steps_of(
    run: RunRecord, samples: Sequence[Sample], name: str, zone: str
) -> tuple[list[datetime], list[int]]:
    """Return the amounts of one profile within the hours of a run, where they change."""
    inside = [s for s in samples if run.start_s <= s.at_s <= run.end_s]
    points = [(run.start_s, 0)]
    for sample in inside:
        amount = sum(n for key, n in sample.amounts.items() if short_name(key) == name)
        if amount != points[-1][1]:
            points.append((sample.at_s, amount))
    points.append((run.end_s, points[-1][1]))
    return [local(at_s, zone) for at_s, _ in points], [amount for _, amount in points]


def draw_changes(
    run: RunRecord, changes: Sequence[ChangeRecord], opened_s: float, zone: str
) -> go.Figure:
    """Draw when which node was changed.

    Parameters
    ----------
    opened_s
        When changes were allowed, epoch seconds.
    """
    figure = go.Figure()
    nodes = list(dict.fromkeys(board.node for board in run.before))
    for result in sorted({change.record.result.value for change in changes}):
        same = [c for c in changes if c.record.result.value == result]
        figure.add_trace(
            go.Bar(
                name=result,
                y=[c.record.node for c in same],
                base=[local(c.record.started_at_s, zone) for c in same],
                x=[1000 * c.record.duration_s for c in same],
                orientation="h",
                width=0.7,
                marker={"color": RESULTS.get(result, FAILED)},
                hovertext=[change_text(c, zone) for c in same],
                hoverinfo="text",
            )
        )
    figure.add_vline(x=local(opened_s, zone), line={"color": "#2b3038", "dash": "dot"})
    figure.update_xaxes(
        type="date",
        range=[local(run.start_s, zone), local(max(run.end_s, _last_s(changes)), zone)],
        gridcolor=EMPTY,
    )
    figure.update_yaxes(
        categoryorder="array", categoryarray=nodes[::-1], range=[-0.6, len(nodes) - 0.4]
    )
    figure.update_layout(height=110 + 24 * len(nodes), barmode="overlay", showlegend=True)
    return styled(figure)


def _last_s(changes: Iterable[ChangeRecord]) -> float:
    return max((change.record.ended_at_s for change in changes), default=0.0)


def change_text(change: ChangeRecord, zone: str) -> str:
    """Return what a change did, a line a GPU."""
    record, journal = change.record, change.journal
    begin, end = (local(s, zone) for s in (record.started_at_s, record.ended_at_s))
    lines = [f"<b>{record.node}</b> {begin:%H:%M} to {end:%H:%M}, {record.result.value}"]
    for index in journal.gpus:
        before, after = journal.before.gpus[index], journal.target.gpus[index]
        lines.append(f"GPU {index}: {_counts(before)} to {_counts(after)}")
    lines.append(f"for {len(record.serves)} waiting pods")
    return "<br>".join(lines)


def _counts(counts: Counts | None) -> str:
    return "MIG off" if counts is None else str(counts)


def local(at_s: float, zone: str) -> datetime:
    """Return a moment as clocks of a zone show it: pictures know no zones."""
    return datetime.fromtimestamp(at_s, ZoneInfo(zone)).replace(tzinfo=None)
