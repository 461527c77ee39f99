"""``explain``: why a node is changed or not, a pod served or not, and what a fleet lacks."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console

from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.moment import moment_text, span_text
from autoscaler.cli.output import Form, amount_text, counts_text, emit
from autoscaler.cli.plan_prices import WHOSE
from autoscaler.cli.plan_view import layout_text, some_text
from autoscaler.cli.sight import (
    Answer,
    ContextOption,
    FilesOption,
    FormOption,
    KubeconfigOption,
    MetricsOption,
    MomentOption,
    NamespaceOption,
    PolicyOption,
    Question,
    look,
)
from autoscaler.cli.status import amounts_text, state_of
from autoscaler.cli.wiring import Access
from autoscaler.control.explain import (
    FleetAccount,
    NodeAccount,
    PodAccount,
    Sight,
    explain_fleet,
    explain_node,
    explain_pod,
)
from autoscaler.control.proposal import propose
from autoscaler.domain.cluster.bundle import several_instances
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.plan.plan import NodeChange
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.policy.window import next_open_s
from autoscaler.domain.reasons import Block, Hold
from autoscaler.planning.inquiry import Alternative, inquire
from autoscaler.planning.planner import PlannerSettings
from autoscaler.planning.what_if import Sacrifice

Json = dict[str, object]
Lines = list[tuple[str, str]]


def explain(
    subject: Annotated[
        str, typer.Argument(help="node/NAME, pod/NAMESPACE/NAME or fleet", metavar="WHAT")
    ],
    policy: PolicyOption = None,
    files: FilesOption = None,
    metrics: MetricsOption = None,
    at: MomentOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    form: FormOption = Form.TABLE,
) -> int:
    """Say why a node is changed or not, why a pod is served or not, or what a fleet lacks."""
    about = parse_subject(subject)
    access = Access(kubeconfig, context, namespace)
    answer = look(Question.of_options(policy, files, metrics, at, access))
    is_there, verdict, lines = account_of(about, answer)
    document: Json = {
        "apiVersion": "mig-autoscaler.io/v1alpha1",
        "kind": "MigExplanation",
        "about": subject,
        "found": is_there,
        "verdict": verdict,
        "facts": [{"name": name, "text": text} for name, text in lines],
        "notices": list(answer.notices),
    }
    emit(
        document,
        form,
        draw=lambda out, _: _draw(out, document, lines, answer.notices),
        names=[subject] if is_there else [],
    )
    return ExitCode.OK if is_there else ExitCode.ERROR


def account_of(about: str | PodRef | None, answer: Answer) -> tuple[bool, str, Lines]:
    """Return whether the subject is there, the sentence on it, and its facts."""
    sight = sight_of(answer)
    if about is None:
        fleet = explain_fleet(sight)
        return True, fleet.verdict, fleet_lines(fleet)
    if isinstance(about, PodRef):
        pod = explain_pod(about, sight)
        lines = pod_lines(pod)
        if pod.change is None and pod.group is not None:
            lines += window_lines(answer.policy, answer.now_s)
        return pod.found is not None, pod.verdict, lines
    node = explain_node(about, sight)
    return node.node is not None, node.verdict, node_lines(node, answer.now_s)


def sight_of(answer: Answer) -> Sight:
    """Return the plan of what was looked at, and the same as something to ask."""
    seen, history = answer.sight, answer.standing.history
    found = propose(seen, answer.policy, answer.now_s, answer.standing)
    settings = PlannerSettings(seen.values, history, guard=seen.guard)
    asked = inquire(found.snapshot, found.demand, answer.policy, answer.now_s, settings)
    return Sight(seen.observation, found.snapshot, found.demand, found.plan, history, asked)


def parse_subject(text: str) -> str | PodRef | None:
    """Return a node name, a pod, or None for the fleet; a usage error for anything else."""
    kind, *names = text.split("/")
    if text == "fleet":
        return None
    if kind in {"node", "nodes", "no"} and len(names) == 1 and names[0]:
        return names[0]
    if kind in {"pod", "pods", "po"} and len(names) == 2 and all(names):
        return PodRef(names[0], names[1])
    raise typer.BadParameter(f"{text!r} is none of node/NAME, pod/NAMESPACE/NAME, fleet")


def node_lines(account: NodeAccount, now_s: float) -> Lines:
    """Return the facts of a node, in the order in which people ask."""
    lines: Lines = []
    member = account.member
    if member is not None:
        layout = layout_text(gpu.counts if gpu.mig_enabled else None for gpu in member.gpus)
        model = "unknown model" if member.model is None else member.model.key
        lines += [
            ("state", state_of(member)),
            ("pool", f"{member.pool}, {model}, driver {member.driver}"),
            ("layout", layout),
            ("advertised", amounts_text(member.supply)),
            ("free", amounts_text(member.takeable)),
            ("holders", some_text(str(pod.ref) for pod in member.holders)),
        ]
        lines += [(f"GPU {gpu.index}", _held_text(gpu.held)) for gpu in member.gpus if gpu.held]
        if member.kept:
            lines.append(("placeholders", f"keep {amounts_text(member.kept)} to be re-cut"))
        if member.unseen:
            lines.append(("metrics", f"{member.unseen}: only an empty node may be changed"))
    if account.journal is not None:
        journal = account.journal
        since = span_text(now_s - journal.state_since_s)
        lines.append(("rollout", f"{journal.id}: {journal.state} for {since}"))
        if journal.reason:
            lines.append(("trouble", journal.reason))
    lines += _change_lines(account.change)
    lines += [("hold", _reasoned(hold)) for hold in account.holds]
    if account.alternative is not None:
        lines.append(("alternative", alternative_text(account.alternative)))
        off = account.alternative.difference
        lines.append(("difference", f"{amount_text(off)} slice-seconds to the plan's worth"))
    if account.quarantine is not None:
        own = account.quarantine
        state = "over" if own.is_over(now_s) else f"until {_end_text(own.until_s)}"
        lines.append(("quarantine", f"{state}, {own.attempt} failures: {own.message}"))
    for record in account.history[:3]:
        ended = moment_text(record.ended_at_s)
        lines.append(("past", f"{record.result} at {ended}: {record.message}"))
    return lines


def pod_lines(account: PodAccount) -> Lines:
    """Return the facts of a pod, in the order in which people ask."""
    lines: Lines = []
    pod = account.found
    if pod is None:
        return lines
    lines.append(("state", f"{pod.phase}{f' on {pod.node}' if pod.node else ''}"))
    lines += [("fault", fault) for fault in pod.faults]
    if account.note is not None:
        lines.append(("reason", f"{account.note.reason}: {account.note.message}"))
    warning = several_instances(pod)
    if warning:
        lines.append(("warning", warning))
    if account.group is not None:
        group = account.group
        lines += [
            ("asks", amounts_text(group.bundle)),
            ("alike", f"{group.number} pods, weight {group.weight:g}"),
            ("eligible", some_text(sorted(group.eligible))),
        ]
        if group.gang:
            lines.append(("gang", f"{group.gang}, {group.gang_min} at once"))
    if pod.unschedulable_message:
        lines.append(("scheduler", pod.unschedulable_message))
    if account.worth is not None:
        lines.append(("worth", f"{amount_text(account.worth)} slice-seconds"))
    if account.alternative is not None:
        lines.append(("would take", alternative_text(account.alternative)))
    lines += sacrifice_lines(account.sacrifice)
    if account.change is not None:
        lines.append(("node", account.change.node))
    return lines + _change_lines(account.change)


def sacrifice_lines(own: Sacrifice | None) -> Lines:
    """Return what serving a pod before all others would take."""
    if own is None:
        return []
    lines: Lines = [
        ("at any price", f"GPU {gpu} of {node}: {counts_text(before)} -> {counts_text(after)}")
        for node, gpu, before, after in own.changes
    ]
    if own.evicted:
        lines.append(("at any price", f"evicts {some_text(map(str, own.evicted))}"))
    loss = amount_text(own.loss)
    return [*lines, ("at any price", f"all else would be worth {loss} slice-seconds less")]


def fleet_lines(account: FleetAccount) -> Lines:
    """Return the facts of a fleet, what it lacks first."""
    lines: Lines = [
        (
            "scarce",
            f"one more {own.resource} in pool {own.pool or '-'} would be worth"
            f" {amount_text(own.worth)} slice-seconds",
        )
        for own in account.scarcities
    ]
    lines += [
        ("binding", f"without {own.what} the plan would be worth {amount_text(own.worth)} more")
        for own in account.bindings
    ]
    for need in account.needs:
        why = f", bound by {need.binding}" if need.binding else ""
        lines.append(
            (
                "fewest GPUs",
                f"{need.fewest} empty {need.model} hold all that runs and waits in pool"
                f" {need.pool}, which has {need.gpus}{why}",
            )
        )
    lines += [
        (
            "one more node",
            f"with {own.gpus} GPUs in pool {own.pool} would serve {own.pods} more pods, worth"
            f" {amount_text(own.worth)} slice-seconds",
        )
        for own in account.one_more
    ]
    return lines


def window_lines(policy: Policy, now_s: float) -> Lines:
    """Return when changes may start, where that is not at any time."""
    rules = policy.disruption
    if rules.windows is None and not rules.freezes:
        return []
    opens_s = next_open_s(rules.windows, now_s, rules.freezes)
    if opens_s is None:
        return [("window", "none ever opens")]
    return [("window", "open now" if opens_s <= now_s else f"opens {moment_text(opens_s)}")]


def alternative_text(own: Alternative) -> str:
    """Return what a GPU would become, and at which price."""
    cost = own.cost
    must = f"; it must gain {amount_text(cost.disturbance + cost.churn)}"
    return (
        f"GPU {own.gpu} of {own.node}: {counts_text(own.before)} -> {counts_text(own.after)},"
        f" costs {amount_text(cost.disturbance)} slice-seconds{must if cost.churn else ''}"
    )


def _change_lines(change: NodeChange | None) -> Lines:
    if change is None:
        return []
    price = change.price
    lines = [
        (f"GPU {gpu.index} change", f"{counts_text(gpu.before)} -> {counts_text(gpu.after)}")
        for gpu in change.gpus
    ]
    lines.append(("serves", f"{len(change.serves)}: {some_text(map(str, change.serves))}"))
    lines.append(
        (
            "price",
            f"gains {amount_text(price.gain)} for {amount_text(price.cost)} slice-seconds,"
            f" takes about {span_text(change.estimated_s)}",
        )
    )
    lines += [
        ("for", f"{WHOSE[own.scenario]}, {own.resource}: {amount_text(own.worth)}")
        for own in price.avoided
    ]
    lines += [("evicts", f"{e.pod}: {e.reason}") for e in change.evictions]
    lines += [("waits for", f"{pod} to end by itself") for pod in change.awaits]
    return lines + [("blocked", _reasoned(block)) for block in change.blocked_by]


def _reasoned(value: Hold | Block) -> str:
    return f"{value.reason}: {value.message}"


def _held_text(held: Iterable[str]) -> str:
    return f"held or maybe held: {held}"


def _end_text(until_s: float) -> str:
    return "cleared" if until_s == float("inf") else moment_text(until_s)


def _draw(out: Console, document: Json, lines: Lines, notices: Iterable[str]) -> None:
    out.print(f"{document['about']}: {document['verdict']}")
    width = max((len(name) for name, _ in lines), default=0)
    for name, text in lines:
        out.print(f"  {name:{width}}  {text}")
    for notice in notices:
        out.print(f"note: {notice}")
