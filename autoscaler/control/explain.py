"""Why a node is, or is not, changed, and why a pod is, or is not, served.

Values only, in the order in which a person asks: what it is, what is under way, what
is proposed, what forbids it.
"""

from dataclasses import dataclass, replace

from autoscaler.control.briefing import journal_on
from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.marks import QUARANTINE
from autoscaler.domain.cluster.objects import Node, Observation, Pod, PodRef
from autoscaler.domain.cluster.placeholder import placeholder_of
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.plan.plan import NodeChange, Plan
from autoscaler.domain.reasons import Hold, PodNote, Reason
from autoscaler.planning.inquiry import Alternative, Inquiry, Need, OneMore, Scarcity
from autoscaler.planning.reporting.unserved import obstacles
from autoscaler.planning.what_if import Binding, Sacrifice, at_any_price, bindings


@dataclass(frozen=True, slots=True)
class Sight:
    """What an explanation rests on, all of one moment; ``inquiry`` asks the same plan."""

    observation: Observation
    snapshot: Snapshot
    demand: Demand
    plan: Plan
    history: tuple[RolloutRecord, ...] = ()
    inquiry: Inquiry | None = None


@dataclass(frozen=True, slots=True)
class NodeAccount:
    """Everything about one node.

    Parameters
    ----------
    verdict
        One sentence that answers the question.
    member
        The node as a member of a pool; ``None`` when no pool has it.
    journal
        Its open rollout.
    change
        What the plan proposes for it.
    holds
        Why it may not be changed.
    quarantine
        Also when it is over, because it counts failures.
    history
        Its past rollouts, newest first.
    alternative
        The best change of it that the plan does not make.
    """

    name: str
    verdict: str
    node: Node | None = None
    member: FleetNode | None = None
    journal: Journal | None = None
    change: NodeChange | None = None
    holds: tuple[Hold, ...] = ()
    quarantine: Quarantine | None = None
    history: tuple[RolloutRecord, ...] = ()
    alternative: Alternative | None = None


@dataclass(frozen=True, slots=True)
class PodAccount:
    """Everything about one pod.

    Parameters
    ----------
    verdict
        One sentence that answers the question.
    group
        The demand it is part of.
    change
        The proposed change that is for it.
    note
        Why it is not demand, or stays unserved.
    alternative
        The cheapest change that would serve it, where none is proposed for it.
    worth
        What serving it is worth, in slice-seconds.
    sacrifice
        What serving it before all others would take, where no single GPU would do or none
        may be had.
    """

    pod: PodRef
    verdict: str
    found: Pod | None = None
    group: DemandGroup | None = None
    change: NodeChange | None = None
    note: PodNote | None = None
    alternative: Alternative | None = None
    worth: float | None = None
    sacrifice: Sacrifice | None = None


@dataclass(frozen=True, slots=True)
class FleetAccount:
    """What keeps the plan from being worth more.

    Parameters
    ----------
    scarcities
        What one more free instance would be worth.
    needs
        Fewest GPUs that would do.
    one_more
        What one more node would bring.
    bindings
        Rules, holds and switches without which the plan would be worth more.
    """

    verdict: str
    scarcities: tuple[Scarcity, ...] = ()
    needs: tuple[Need, ...] = ()
    one_more: tuple[OneMore, ...] = ()
    bindings: tuple[Binding, ...] = ()


def explain_fleet(sight: Sight) -> FleetAccount:
    """Return what binds the plan, the fewest GPUs that would do, and what more would bring."""
    inquiry = sight.inquiry
    if inquiry is None:
        return FleetAccount("the solver failed, so nothing is known of the fleet as a whole")
    scarcities = inquiry.scarcities()
    waiting = len(sight.plan.unserved)
    if scarcities:
        first = scarcities[0]
        where = f" in pool {first.pool}" if first.pool else ""
        verdict = f"{first.resource}{where} is what it lacks most; {waiting} pods stay unserved"
    else:
        verdict = f"nothing is scarce; {waiting} pods stay unserved"
    return FleetAccount(
        verdict, scarcities, inquiry.needs(), inquiry.one_more(), bindings(inquiry)
    )


def explain_node(name: str, sight: Sight) -> NodeAccount:
    """Return why a node is, or is not, changed."""
    node = next((n for n in sight.observation.nodes if n.name == name), None)
    if node is None:
        return NodeAccount(name, f"there is no node {name}")
    member = sight.snapshot.node(name)
    change = next((c for c in sight.plan.changes if c.node == name), None)
    journal, _ = journal_on(node)
    quarantine = node.annotations.get(QUARANTINE)
    holds = tuple(hold for hold in sight.snapshot.holds if hold.node == name)
    account = NodeAccount(
        name=name,
        verdict="",
        node=node,
        member=member,
        journal=journal,
        change=change,
        holds=holds if member is None else member.holds,
        quarantine=None if quarantine is None else Quarantine.from_text(quarantine),
        history=tuple(
            sorted(
                (r for r in sight.history if r.node == name),
                key=lambda r: r.ended_at_s,
                reverse=True,
            )
        ),
    )
    if change is None and sight.inquiry is not None:
        account = replace(account, alternative=sight.inquiry.of_node(name))
    return replace(account, verdict=_node_verdict(account))


def _node_verdict(account: NodeAccount) -> str:
    """Return the sentence that matters most."""
    if account.journal is not None:
        journal = account.journal
        target = journal.target.config_name
        return f"it is being changed to {target}: {journal.state.value}"
    if account.change is not None and account.change.blocked_by:
        block = account.change.blocked_by[0]
        return f"a change is proposed and may not start: {block.message}"
    if account.change is not None:
        return f"a change to {account.change.config_name} is proposed and may start"
    if account.member is not None and account.member.reserved:
        return "it is reserved for whole GPUs, so it is never cut"
    if account.holds:
        return f"it is left alone: {account.holds[0].message}"
    if account.member is None:
        return "it is in no pool of the policy, so it is never changed"
    if account.alternative is None and all(gpu.held for gpu in account.member.gpus):
        return f"nothing of it may be changed now: {obstacles([account.member])}"
    return "its present layout is the best there is for the demand"


def explain_pod(pod: PodRef, sight: Sight) -> PodAccount:
    """Return why a pod is, or is not, served."""
    found = next((p for p in sight.observation.pods if p.ref == pod), None)
    if found is None:
        return _explain_placeholder(pod, sight)
    group = next((g for g in sight.demand.groups if pod in g.pods), None)
    change = next((c for c in sight.plan.changes if pod in c.serves), None)
    note = _note_on(pod, sight)
    verdict = _pod_verdict(found, change, note)
    account = PodAccount(pod, verdict, found, group, change, note)
    if sight.inquiry is None or change is not None or group is None:
        return account
    index = next((i for i, g in enumerate(sight.inquiry.problem.groups) if pod in g.pods), None)
    worth = None if index is None else sight.inquiry.problem.mix.wants[index].value
    return replace(
        account,
        alternative=sight.inquiry.of_pod(pod),
        worth=worth,
        sacrifice=at_any_price(sight.inquiry, pod),
    )


def _explain_placeholder(pod: PodRef, sight: Sight) -> PodAccount:
    found = next((p for p in sight.observation.placeholders if p.ref == pod), None)
    if found is None:
        return PodAccount(pod, f"there is no pod {pod}")
    own = placeholder_of(found)
    does = "keeps" if own.is_bound else "waits for"
    if own.is_over:
        does = "has kept"
    return PodAccount(
        pod, f"it is a placeholder of ours, and {does} a GPU of {own.node}", found
    )


def _note_on(pod: PodRef, sight: Sight) -> PodNote | None:
    """Return the first reason found: not demand, impossible, unserved, or fits today."""
    demand = sight.demand
    for notes in (demand.ignored, demand.impossible, sight.plan.unserved, demand.fits_today):
        for note in notes:
            if note.pod == pod:
                return note
    return None


def _pod_verdict(pod: Pod, change: NodeChange | None, note: PodNote | None) -> str:
    if change is not None:
        what = f"node {change.node} is to be re-cut for it"
        if not change.blocked_by:
            return f"{what}, and the change may start"
        return f"{what}, but not yet: {change.blocked_by[0].message}"
    if note is not None and note.reason is Reason.BOUND and pod.node is not None:
        return f"it is bound to node {pod.node}"
    if note is not None:
        return note.message
    if not effective_request(pod):
        return "it asks for no GPU"
    return "no change is needed for it, and none is proposed"
