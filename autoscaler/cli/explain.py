"""``explain``: why a node is, or is not, changed; why a pod is, or is not, served."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console

from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.moment import moment_text, parse_moment, span_text
from autoscaler.cli.output import FORM_OPTION, Form, counts_text, emit
from autoscaler.cli.plan_view import amount_text, layout_text, some_text
from autoscaler.cli.sight import (
    AT_OPTION,
    FROM_OPTION,
    METRICS_OPTION,
    POLICY_OPTION,
    Question,
    look,
)
from autoscaler.cli.status import amounts_text, state_of
from autoscaler.cli.wiring import (
    CONTEXT_OPTION,
    KUBECONFIG_OPTION,
    NAMESPACE_OPTION,
    Access,
)
from autoscaler.control.explain import (
    NodeAccount,
    PodAccount,
    Sight,
    explain_node,
    explain_pod,
)
from autoscaler.control.proposal import propose
from autoscaler.domain.bundle import several_instances
from autoscaler.domain.objects import PodRef
from autoscaler.domain.plan import NodeChange
from autoscaler.domain.reasons import Block, Hold

Json = dict[str, object]
Lines = list[tuple[str, str]]


def explain(
    subject: Annotated[
        str, typer.Argument(help="node/NAME or pod/NAMESPACE/NAME", metavar="WHAT")
    ],
    policy: Annotated[str | None, POLICY_OPTION] = None,
    files: Annotated[list[str] | None, FROM_OPTION] = None,
    metrics: Annotated[str | None, METRICS_OPTION] = None,
    at: Annotated[str | None, AT_OPTION] = None,
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
    namespace: Annotated[str | None, NAMESPACE_OPTION] = None,
    form: Annotated[Form, FORM_OPTION] = Form.TABLE,
) -> int:
    """Say why a node is, or is not, changed, or why a pod is, or is not, served."""
    about = parse_subject(subject)
    access = Access(kubeconfig, context, namespace)
    at_s = None if at is None else parse_moment(at)
    answer = look(Question(policy, tuple(files or ()), metrics, at_s, access))
    found = propose(answer.sight, answer.policy, answer.now_s, answer.standing)
    sight = Sight(
        answer.sight.observation,
        found.snapshot,
        found.demand,
        found.plan,
        answer.standing.history,
    )
    if isinstance(about, PodRef):
        pod = explain_pod(about, sight)
        is_there, verdict, lines = pod.found is not None, pod.verdict, pod_lines(pod)
    else:
        node = explain_node(about, sight)
        is_there, verdict = node.node is not None, node.verdict
        lines = node_lines(node, answer.now_s)
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


def parse_subject(text: str) -> str | PodRef:
    """Return a node name or a pod; a usage error if the text names neither."""
    kind, *names = text.split("/")
    if kind in {"node", "nodes", "no"} and len(names) == 1 and names[0]:
        return names[0]
    if kind in {"pod", "pods", "po"} and len(names) == 2 and all(names):
        return PodRef(names[0], names[1])
    raise typer.BadParameter(f"{text!r} is neither node/NAME nor pod/NAMESPACE/NAME")


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
            ("free", amounts_text(member.free)),
            ("holders", some_text(str(pod.ref) for pod in member.holders)),
        ]
        lines += [(f"GPU {gpu.index}", _held_text(gpu.held)) for gpu in member.gpus if gpu.held]
    if account.journal is not None:
        journal = account.journal
        since = span_text(now_s - journal.state_since_s)
        lines.append(("rollout", f"{journal.id}: {journal.state} for {since}"))
        if journal.reason:
            lines.append(("trouble", journal.reason))
    lines += _change_lines(account.change)
    lines += [("hold", _reasoned(hold)) for hold in account.holds]
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
    if account.change is not None:
        lines.append(("node", account.change.node))
    return lines + _change_lines(account.change)


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
    lines += [("evicts", f"{e.pod}: {e.reason}") for e in change.evictions]
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
