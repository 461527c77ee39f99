"""A plan in one sentence, and when there is nothing to do, why."""

from collections import Counter

from autoscaler.control.proposal import Proposal
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.plan.plan import NodeChange, StoppedBy


def summary_lines(found: Proposal) -> list[str]:
    """Return what the plan comes to: one or two sentences."""
    plan = found.plan
    if not plan.changes:
        return [f"Nothing to do: {why_nothing(found)}."]
    served = len({pod for change in plan.changes for pod in change.serves})
    blocked = [change for change in plan.changes if change.blocked_by]
    lines = [
        f"{counted(len(plan.changes), 'node')} of {len(found.snapshot.nodes)} would change,"
        f" {counted(served, 'pod')} served, {len(plan.unserved)} unserved"
        f"{_evicted(plan.changes)}."
    ]
    if len(blocked) == len(plan.changes):
        lines.append("None may start now: see BLOCKED.")
    elif blocked:
        lines.append(f"{len(blocked)} of them may not start now: see BLOCKED.")
    return lines


def _evicted(changes: tuple[NodeChange, ...]) -> str:
    number = sum(len(change.evictions) for change in changes)
    return f", {counted(number, 'pod')} evicted" if number else ""


def why_nothing(found: Proposal) -> str:
    """Say why a plan has no changes, the first cause that explains it."""
    plan, demand, snapshot = found.plan, found.demand, found.snapshot
    if plan.optimality is not None and plan.optimality.stopped_by is StoppedBy.FAILURE:
        return "the solver failed, so the present geometry is kept"
    if not snapshot.nodes:
        return "no node is in a pool of the policy"
    waiting = sum(group.number for group in demand.groups)
    changeable = sum(node.is_changeable for node in snapshot.nodes)
    if waiting + len(plan.unserved) == 0:
        kept = _set_aside(found)
        return f"no pod waits for GPUs{kept}{_held(snapshot) if not changeable else ''}"
    fitting = len(demand.fits_today)
    if fitting and not plan.unserved:
        subject = "the waiting pod fits" if fitting == 1 else f"all {fitting} waiting pods fit"
        return f"{subject} free instances of today"
    if not changeable:
        return f"no node may be changed{_held(snapshot)}; see UNSERVED"
    reasons = Counter(note.reason.value for note in plan.unserved)
    text = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
    fits = f"{counted(fitting, 'pod')} fit today; " if fitting else ""
    return f"{fits}no change serves the rest ({text}); see UNSERVED"


def _set_aside(found: Proposal) -> str:
    """Return which pods ask for GPUs and are not demand."""
    reasons = Counter(note.reason.value for note in found.demand.ignored)
    reasons.pop("Bound", None)
    text = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
    return f" ({text} do not count)" if text else ""


def _held(snapshot: Snapshot) -> str:
    reasons = Counter(hold.reason.value for node in snapshot.nodes for hold in node.holds)
    text = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
    return f" (on hold: {text})" if text else ""


def counted(number: int, what: str) -> str:
    """Return a number with its noun: ``1 node``, ``2 nodes``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
