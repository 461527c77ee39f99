"""``pause``, ``resume``, ``abort``, ``quarantine``: what people tell the loop to do.

Each writes one annotation, and the leader reads it in its next cycle: so nothing here
needs the Lease, and nothing is lost when there is no leader at the moment.
"""

from collections.abc import Callable
from dataclasses import replace
from math import isinf
from typing import Annotated, TypeVar

import typer
from rich.console import Console

from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.moment import moment_text
from autoscaler.cli.output import FORM_OPTION, Form, console, emit, table
from autoscaler.cli.wiring import (
    CONTEXT_OPTION,
    KUBECONFIG_OPTION,
    NAMESPACE_OPTION,
    Access,
    connect_cluster,
    own_namespace,
    system_clock,
)
from autoscaler.control.briefing import journal_on
from autoscaler.control.status import NAME
from autoscaler.domain.cluster.marks import ABORT, PAUSE, QUARANTINE, is_set
from autoscaler.domain.cluster.objects import ConfigMap, Node
from autoscaler.domain.errors import ActuationError, Conflict, NotFound
from autoscaler.domain.journal.quarantine import CLEAR, Quarantine
from autoscaler.ports import ClusterApi, NodePatch

# The loop writes the same objects, so a conflict is nothing unusual.
TRIES = 5
T = TypeVar("T")

quarantine_app = typer.Typer(help="Nodes that are left alone after a failure.")


def pause(
    reason: Annotated[str, typer.Option(help="Why, for those who find it paused.")] = "",
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
    namespace: Annotated[str | None, NAMESPACE_OPTION] = None,
) -> None:
    """Start no new rollout and evict nothing until resume; open ones are finished."""
    access = Access(kubeconfig, context, namespace)
    since = f"since {moment_text(system_clock().now_s())}"
    said = f"{' '.join(reason.split())}, {since}" if reason.strip() else since
    _mark_status(access, said)
    console().print(f"paused ({said}); mig-autoscaler resume ends it")


def resume(
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
    namespace: Annotated[str | None, NAMESPACE_OPTION] = None,
) -> None:
    """End a pause."""
    was = _mark_status(Access(kubeconfig, context, namespace), None)
    console().print("resumed" if was else "it was not paused")


def _mark_status(access: Access, value: str | None) -> bool:
    """Set or remove the pause on our status ConfigMap; say whether it was set."""
    cluster, namespace = connect_cluster(access), own_namespace(access.namespace)

    def write() -> bool:
        found = cluster.read_config_map(namespace, NAME)
        was = found is not None and is_set(found.annotations.get(PAUSE))
        if value is None and not was:
            return False
        # Without data: keys that are not named are kept.
        known = found or ConfigMap(namespace, NAME)
        cluster.write_config_map(replace(known, data={}), {PAUSE: value})
        return was

    return _again(write)


def abort(
    node: Annotated[str, typer.Argument(help="Node with an open rollout.", metavar="NODE")],
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
) -> None:
    """Give up the rollout of a node: undone before its GPUs are touched, else rolled back."""
    cluster = connect_cluster(Access(kubeconfig, context))

    def write() -> str:
        found = _read(cluster, node)
        journal, problem = journal_on(found)
        if journal is None:
            raise ActuationError(problem or f"node {node} has no open rollout")
        _annotate(cluster, found, {ABORT: "true"})
        return journal.state.value

    console().print(f"asked to abort the rollout of {node}, which is {_again(write)}")


@quarantine_app.command("list")
def list_quarantine(
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
    form: Annotated[Form, FORM_OPTION] = Form.TABLE,
) -> None:
    """List nodes that are left alone after a failure, and until when."""
    cluster = connect_cluster(Access(kubeconfig, context))
    now_s = system_clock().now_s()
    found = [
        (node.name, entry)
        for node in cluster.observe().nodes
        if QUARANTINE in node.annotations
        and not (entry := Quarantine.from_text(node.annotations[QUARANTINE])).is_over(now_s)
    ]
    document = {"nodes": [_document(name, entry) for name, entry in found]}

    def draw(out: Console, _: bool) -> None:
        if not found:
            out.print("no node is in quarantine")
            return
        drawn = table("NODE", "REASON", "FAILURES", "UNTIL", "WHY", right=["FAILURES"])
        for name, entry in found:
            drawn.add_row(
                name, entry.reason or "-", str(entry.attempt), _end(entry), entry.message
            )
        out.print(drawn)

    emit(document, form, draw=draw, names=[name for name, _ in found])


@quarantine_app.command("clear")
def clear_quarantine(
    node: Annotated[str, typer.Argument(help="Node in quarantine.", metavar="NODE")],
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
) -> int:
    """Let a node be planned for again before its time is over."""
    cluster = connect_cluster(Access(kubeconfig, context))

    def write() -> bool:
        found = _read(cluster, node)
        text = found.annotations.get(QUARANTINE)
        if text is None:
            return False
        entry = Quarantine.from_text(text)
        cleared = CLEAR if isinf(entry.until_s) else replace(entry, cleared=True).to_text()
        _annotate(cluster, found, {QUARANTINE: cleared})
        return True

    if _again(write):
        console().print(f"cleared the quarantine of {node}")
    else:
        console().print(f"node {node} is not in quarantine")
    return ExitCode.OK


def _document(name: str, entry: Quarantine) -> dict[str, object]:
    return {
        "node": name,
        "reason": entry.reason,
        "message": entry.message,
        "failures": entry.attempt,
        "since": moment_text(entry.since_s),
        "until": None if isinf(entry.until_s) else moment_text(entry.until_s),
        "cordoned": entry.cordoned,
    }


def _end(entry: Quarantine) -> str:
    return "cleared" if isinf(entry.until_s) else moment_text(entry.until_s)


def _read(cluster: ClusterApi, name: str) -> Node:
    try:
        return cluster.read_node(name)
    except NotFound as error:
        raise NotFound(f"there is no node {name}") from error


def _annotate(cluster: ClusterApi, node: Node, annotations: dict[str, str | None]) -> None:
    patch = NodePatch(
        annotations=annotations, resource_version=node.resource_version, uid=node.uid
    )
    cluster.patch_node(node.name, patch)


def _again(write: Callable[[], T]) -> T:
    """Call until no other writer was first, a few times."""
    for _ in range(TRIES - 1):
        try:
            return write()
        except Conflict:
            continue
    return write()
