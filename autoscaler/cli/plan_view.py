"""A plan for people: what changes, for whom, at what price, and what forbids it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.console import Console

from autoscaler.cli.moment import moment_text
from autoscaler.cli.output import amount_text, counts_text, section, table
from autoscaler.cli.plan_prices import draw_prices
from autoscaler.cli.plan_summary import summary_lines
from autoscaler.control.proposal import Proposal
from autoscaler.domain.cluster.objects import Observation, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.plan.plan import (
    GpuChange,
    NodeChange,
    NodePlaceholders,
    Optimality,
    Plan,
)
from autoscaler.domain.reasons import Hold, PodNote

SHOWN = 3


def draw_plan(
    out: Console, found: Proposal, observation: Observation, *, wide: bool = False
) -> None:
    """Draw a plan: the sentence first, then the tables that it rests on."""
    plan = found.plan
    out.print(
        f"plan {plan.id} of {moment_text(plan.observed_at_s)},"
        f" policy {plan.policy_name} ({plan.policy_hash}), mode {plan.mode}"
    )
    for line in summary_lines(found):
        out.print(line)
    _draw_changes(out, plan.changes, wide=wide)
    _draw_blocks(out, plan.changes)
    if wide:
        draw_prices(out, plan)
        _draw_placements(out, plan.changes)
    _draw_evictions(out, plan.changes, observation)
    _draw_waits(out, plan.changes)
    _draw_placeholders(out, plan.placeholders)
    _draw_demand(out, plan)
    _draw_unserved(out, plan.unserved)
    _draw_holds(out, plan.holds, wide=wide)
    out.print()
    if plan.optimality is not None:
        out.print(optimality_text(plan.optimality))
    for notice in plan.notices:
        out.print(f"note: {notice}")


def _draw_changes(out: Console, changes: Sequence[NodeChange], *, wide: bool) -> None:
    if not changes:
        return
    more = ("CONFIGURATION", "POOL") if wide else ()
    numbers = ("GPU", "SERVES", "GAIN", "COST", "MINUTES")
    columns = ("NODE", "GPU", "BEFORE", "AFTER", *numbers[1:], "BLOCKED BY", *more)
    drawn = table(*columns, title="CHANGES", right=numbers)
    for change in changes:
        blocks = ", ".join(dict.fromkeys(b.reason.value for b in change.blocked_by))
        ends = [
            str(len(change.serves)),
            amount_text(change.price.gain),
            amount_text(change.price.cost),
            f"{change.estimated_s / 60:.0f}",
            blocks or "-",
            *((change.config_name, change.pool) if wide else ()),
        ]
        for number, (gpus, before, after) in enumerate(_alike(change.gpus)):
            cells = [change.node, *ends] if number == 0 else [""] * (len(ends) + 1)
            drawn.add_row(cells[0], gpus, before, after, *cells[1:])
    section(out, drawn)


def _alike(gpus: Iterable[GpuChange]) -> Iterator[tuple[str, str, str]]:
    """Yield GPUs that change alike as one line: their indexes, before and after."""
    alike: dict[tuple[str, str], list[int]] = {}
    for gpu in gpus:
        key = (counts_text(gpu.before), counts_text(gpu.after))
        alike.setdefault(key, []).append(gpu.index)
    for (before, after), indexes in alike.items():
        yield ranges_text(indexes), before, after


def ranges_text(indexes: Iterable[int]) -> str:
    """Return indexes with runs of three and more joined: ``0,2-5``."""
    parts = []
    numbered = enumerate(sorted(indexes))
    for _, run in groupby(numbered, key=lambda pair: pair[1] - pair[0]):
        first, *rest = [index for _, index in run]
        last = rest[-1] if rest else first
        parts += [f"{first}-{last}"] if len(rest) > 1 else [str(i) for i in (first, *rest)]
    return ",".join(parts)


def _draw_blocks(out: Console, changes: Iterable[NodeChange]) -> None:
    """Say each block once, with the nodes it concerns."""
    nodes: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        for block in change.blocked_by:
            nodes.setdefault((block.reason.value, block.message), []).append(change.node)
    if not nodes:
        return
    drawn = table("REASON", "NODES", "WHY NOT NOW", title="BLOCKED")
    for (reason, message), names in nodes.items():
        drawn.add_row(reason, some_text(names), message)
    section(out, drawn)


def _draw_placements(out: Console, changes: Iterable[NodeChange]) -> None:
    known = [
        (change.node, gpu)
        for change in changes
        for gpu in change.gpus
        if gpu.placements_after is not None or gpu.placements_before is not None
    ]
    if not known:
        return
    drawn = table("NODE", "GPU", "BEFORE", "AFTER", title="PLACEMENTS", right=["GPU"])
    for name, gpu in known:
        places = (placed_text(gpu.placements_before), placed_text(gpu.placements_after))
        drawn.add_row(name, str(gpu.index), *places)
    section(out, drawn)


def placed_text(geometry: Geometry | None) -> str:
    """Return instances with the memory slices they take: ``1g.5gb@6``."""
    if geometry is None:
        return "?"
    return " ".join(f"{i.profile}@{i.start}" for i in geometry.instances) or "-"


def _draw_evictions(
    out: Console, changes: Iterable[NodeChange], observation: Observation
) -> None:
    leaving = [(change.node, e) for change in changes for e in change.evictions]
    if not leaving:
        return
    graces = {pod.ref: pod.grace_s for pod in observation.pods}
    worst = max(graces.get(eviction.pod, 0.0) for _, eviction in leaving)
    title = f"EVICTIONS ({len(leaving)}, longest grace period {worst:.0f} s)"
    drawn = table("NODE", "POD", "GRACE", "WHY", title=title, right=["GRACE"])
    for name, eviction in leaving:
        grace = f"{graces[eviction.pod]:.0f} s" if eviction.pod in graces else "?"
        drawn.add_row(name, str(eviction.pod), grace, eviction.reason)
    section(out, drawn)


def _draw_waits(out: Console, changes: Iterable[NodeChange]) -> None:
    waits = [(change.node, pod) for change in changes for pod in change.awaits]
    if not waits:
        return
    drawn = table("NODE", "POD", title=f"WAITS FOR ({len(waits)} to end by themselves)")
    for name, pod in waits:
        drawn.add_row(name, str(pod))
    section(out, drawn)


def _draw_placeholders(out: Console, wanted: Iterable[NodePlaceholders]) -> None:
    own = tuple(wanted)
    if not own:
        return
    title = f"KEEPS ({sum(one.number for one in own)} whole GPUs, once pods have ended there)"
    drawn = table("NODE", "RESOURCE", "NUMBER", "PODS", title=title, right=["NUMBER"])
    for one in own:
        drawn.add_row(one.node, one.resource, str(one.number), ", ".join(map(str, one.awaits)))
    section(out, drawn)


def _draw_demand(out: Console, plan: Plan) -> None:
    if not plan.demand:
        return
    numbers = ("PENDING", "FREE", "LACKING", "SERVED")
    drawn = table("POOL", "RESOURCE", *numbers, title="DEMAND", right=numbers)
    for line in plan.demand:
        amounts = (line.pending, line.free, line.lacking, line.served_by_plan)
        drawn.add_row(line.pool or "-", line.resource, *map(str, amounts))
    section(out, drawn)


def _draw_unserved(out: Console, notes: Iterable[PodNote]) -> None:
    """Group pods that stay unserved for the same reason."""
    pods: dict[tuple[str, str], list[PodRef]] = {}
    for note in notes:
        pods.setdefault((note.reason.value, note.message), []).append(note.pod)
    if not pods:
        return
    drawn = table("REASON", "NUMBER", "PODS", "WHY", title="UNSERVED", right=["NUMBER"])
    for (reason, message), refs in sorted(pods.items()):
        drawn.add_row(reason, str(len(refs)), some_text(map(str, refs)), message)
    section(out, drawn)


def _draw_holds(out: Console, holds: Sequence[Hold], *, wide: bool) -> None:
    """List holds; unless wide, those of one reason share a line."""
    if not holds:
        return
    drawn = table("REASON", "NODES", "WHY", title="ON HOLD")
    by_reason: dict[str, list[Hold]] = {}
    for number, hold in enumerate(holds):
        key = f"{hold.reason} {number}" if wide else hold.reason.value
        by_reason.setdefault(key, []).append(hold)
    for same in by_reason.values():
        nodes = [hold.node for hold in same if hold.node is not None]
        others = f" (and {len(same) - 1} more)" if len(same) > 1 else ""
        drawn.add_row(same[0].reason.value, some_text(nodes), same[0].message + others)
    section(out, drawn)


def some_text(names: Iterable[str]) -> str:
    """Return the first few names and how many more there are."""
    found = list(names)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return (", ".join(found[:SHOWN]) or "-") + more


def optimality_text(optimality: Optimality) -> str:
    """Return how good the plan provably is."""
    return (
        f"optimality: worth {amount_text(optimality.objective)} of at most"
        f" {amount_text(optimality.bound)} slice-seconds (gap {optimality.gap:.2%}),"
        f" stopped by {optimality.stopped_by} after {optimality.seconds:.2f} s"
    )


def layout_text(layout: Iterable[Counts | None]) -> str:
    """Return a node's layout, GPUs alike joined: ``4 x [7x1g.5gb]``."""
    texts = ["off" if gpu is None else counts_text(gpu) for gpu in layout]
    parts = [(text, len(list(run))) for text, run in groupby(texts)]
    return ", ".join(f"{number} x [{text}]" for text, number in parts) or "-"
