"""The run as it happens: a picture that is drawn over and over, or plain lines."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autoscaler.cli.demo_run import Phase, Rehearsal, Scene
from autoscaler.cli.moment import span_text
from autoscaler.cli.output import counts_text, table
from autoscaler.cli.plan_summary import counted
from autoscaler.cli.plan_view import draw_plan, layout_text, ranges_text
from autoscaler.cli.status import state_of
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.journal.rollout import Journal
from autoscaler.simulation.demo.comparison import mean, profile_of, profiles_of, short_name
from autoscaler.simulation.demo.run_record import RunRecord
from autoscaler.simulation.figures import PodTimes

ZONE = "Asia/Shanghai"
SHOWN_EVENTS = 6
# Of the wall clock: drawing more often would take time from the run.
DRAW_EVERY_S = 0.25
# Of the virtual clock, between two plain lines about nothing in particular.
REPORT_EVERY_S = 3600.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who waits for a profile at a moment, in one run."""

    number: int
    mean_s: float


class Show:
    """Shows a run on a console.

    Parameters
    ----------
    alone
        The run to compare with.
    is_live
        Whether to draw over what was drawn; otherwise lines are printed.
    speed
        Most virtual seconds in a second; ``None`` for as fast as it goes.
    """

    def __init__(
        self, out: Console, alone: RunRecord, *, is_live: bool, speed: float | None = None
    ) -> None:
        self.out = out
        self._alone = alone
        self._live = Live(console=out, auto_refresh=False) if is_live else None
        self._speed = speed
        self._began_s = time.monotonic()
        self._drawn_s = 0.0
        self._report_s = alone.start_s + REPORT_EVERY_S
        self._events: deque[str] = deque(maxlen=SHOWN_EVENTS)
        self._known: dict[str, Journal] = {}

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Keep the picture on the console meanwhile."""
        if self._live is None:
            yield
            return
        with self._live:
            yield
            self._live.update("", refresh=True)

    def show_rehearsal(self, rehearsal: Rehearsal) -> None:
        """Print the proposed changes, and that nothing was written."""
        self.out.print(f"\nDRY RUN, {self._clock(rehearsal.at_s)}: nothing is changed yet\n")
        draw_plan(self.out, rehearsal.proposal, rehearsal.observation)
        self.out.print(
            f"\nThe request log of the API server holds {rehearsal.requests:,} requests of the"
            f" autoscaler, {rehearsal.mutating} of them mutating.\n"
        )

    def watch(self, scene: Scene) -> None:
        """Show what happened in a cycle."""
        now_s = scene.outcome.started_s
        for text in self._news(scene):
            self._tell(f"{self._clock(now_s)}  {text}")
        if self._live is None:
            self._report(scene)
        elif time.monotonic() - self._drawn_s >= DRAW_EVERY_S:
            self._live.update(self._picture(scene), refresh=True)
            self._drawn_s = time.monotonic()
        self._pace(now_s)

    def _pace(self, now_s: float) -> None:
        if self._speed is None:
            return
        due_s = self._began_s + (now_s - self._alone.start_s) / self._speed
        time.sleep(max(0.0, due_s - time.monotonic()))

    def _tell(self, text: str) -> None:
        self._events.append(text)
        if self._live is None:
            self.out.print(text)

    def _news(self, scene: Scene) -> Iterator[str]:
        """Yield what is new about changes of nodes."""
        outcome = scene.outcome
        for record in outcome.records:
            took = span_text(record.duration_s)
            yield f"{record.node}: {record.result.value} after {took}: {record.message}"
        for node, journal in outcome.journals.items():
            known = self._known.get(node)
            if known is None or known.id != journal.id:
                yield f"{node}: {change_text(journal)}"
        for error in outcome.errors:
            yield f"error: {error}"
        self._known = dict(outcome.journals)

    def _report(self, scene: Scene) -> None:
        """Print a line on the state of things once an hour."""
        now_s = scene.outcome.started_s
        if now_s < self._report_s or scene.phase is Phase.LAST:
            return
        self._report_s += REPORT_EVERY_S
        there, here = self._waits(scene)
        text = ", ".join(
            f"{name} {here[name].number} ({there[name].number})" for name in sorted(here)
        )
        self._tell(f"{self._clock(now_s)}  waiting (and with the mix left alone): {text}")

    def _picture(self, scene: Scene) -> RenderableType:
        run, now_s = self._alone, scene.outcome.started_s
        bar = ProgressBar(run.end_s - run.start_s, max(0.0, now_s - run.start_s), width=40)
        top = Table.grid(padding=(0, 2))
        top.add_row(Text(self._clock(now_s), style="bold"), bar, Text(scene.phase))
        parts: list[RenderableType] = ["", top, ""]
        if scene.outcome.view is not None:
            parts += [nodes_table(scene.outcome.view.snapshot.nodes), ""]
        return Group(*parts, self._queue_table(scene), "", *map(Text, self._events))

    def _queue_table(self, scene: Scene) -> Table:
        there, here = self._waits(scene)
        numbers = ("WAITING", "MIX ALONE", "MEAN WAIT", "MIX ALONE ")
        drawn = table("PROFILE", *numbers, right=numbers)
        for name in here:
            mine, other = here[name], there[name]
            amounts = (str(mine.number), str(other.number))
            means = (f"{mine.mean_s:,.0f} s", f"{other.mean_s:,.0f} s")
            drawn.add_row(name, *amounts, *means)
        return drawn

    def _waits(self, scene: Scene) -> tuple[dict[str, Waiting], dict[str, Waiting]]:
        """Return who waits now without and with the autoscaler, by profile."""
        now_s = scene.outcome.started_s
        names = profiles_of(self._alone)
        alone = waits_at(self._alone.pods, names, now_s)
        return alone, waits_at(scene.world.observer.pods, names, now_s)

    @staticmethod
    def _clock(at_s: float) -> str:
        return f"{datetime.fromtimestamp(at_s, ZoneInfo(ZONE)):%a %H:%M}"


def waits_at(
    pods: Iterable[PodTimes], names: Iterable[str], now_s: float
) -> dict[str, Waiting]:
    """Return who waits at a moment, and the mean wait of all until then, by profile."""
    numbers = dict.fromkeys(names, 0)
    waits: dict[str, list[float]] = {name: [] for name in numbers}
    for pod in pods:
        if pod.submitted_s > now_s:
            continue
        started_s = now_s if pod.started_s is None else min(pod.started_s, now_s)
        name = profile_of(pod)
        waits[name].append(started_s - pod.submitted_s)
        numbers[name] += pod.started_s is None or pod.started_s > now_s
    return {name: Waiting(number, mean(waits[name])) for name, number in numbers.items()}


def nodes_table(nodes: Sequence[FleetNode]) -> Table:
    """Return the nodes with their states and layouts."""
    drawn = table("NODE", "STATE", "LAYOUT", "FREE")
    for node in nodes:
        layout = layout_text(gpu.counts if gpu.mig_enabled else None for gpu in node.gpus)
        free = counts_text({short_name(name): n for name, n in node.free.items()})
        state = "reserved" if node.reserved else state_of(node)
        drawn.add_row(node.name, state, layout, free)
    return drawn


def change_text(journal: Journal) -> str:
    """Say which GPUs of a node a change cuts anew, and how."""
    gpus: dict[str, list[int]] = {}
    for index in journal.gpus:
        before, after = journal.before.gpus[index], journal.target.gpus[index]
        gpus.setdefault(f"{_gpu_text(before)} to {_gpu_text(after)}", []).append(index)
    parts = [f"GPU {ranges_text(indexes)} from {text}" for text, indexes in gpus.items()]
    return f"closed, to cut {', '.join(parts)}; for {counted(len(journal.serves), 'pod')}"


def _gpu_text(counts: Counts | None) -> str:
    return "off" if counts is None else counts_text(counts)
