"""``status``: the fleet as it is now, open rollouts, the next window, and the loop's word."""

import json
from collections.abc import Mapping

from rich.console import Console

from autoscaler.cli.moment import moment_text, span_text
from autoscaler.cli.output import Form, counts_text, emit, section, table
from autoscaler.cli.plan_view import layout_text
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
from autoscaler.cli.wiring import Access, own_namespace
from autoscaler.control.status import STATUS, kept_in, window_json
from autoscaler.domain.fleet.assessment import assess
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.policy.policy import Policy, policy_hash
from autoscaler.planning.gating.timing import timing

Json = dict[str, object]


def show_status(
    policy: PolicyOption = None,
    files: FilesOption = None,
    metrics: MetricsOption = None,
    at: MomentOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    form: FormOption = Form.TABLE,
) -> None:
    """Show nodes and what their GPUs hold, open rollouts, windows, and how the loop does."""
    access = Access(kubeconfig, context, namespace)
    answer = look(Question.of_options(policy, files, metrics, at, access))
    sight = answer.sight
    snapshot = assess(sight.observation, answer.policy, sight.metrics, answer.now_s)
    document = status_document(answer, snapshot, own_namespace(namespace))
    names = [node.name for node in snapshot.nodes]

    def draw(out: Console, wide: bool) -> None:
        draw_status(out, answer, snapshot, document=document, wide=wide)

    emit(document, form, draw=draw, names=names)


def status_document(answer: Answer, snapshot: Snapshot, namespace: str) -> Json:
    """Return the status as JSON values."""
    policy, now_s = answer.policy, answer.now_s
    return {
        "apiVersion": "mig-autoscaler.io/v1alpha1",
        "kind": "MigFleetStatus",
        "observedAt": moment_text(now_s),
        "policy": {"name": policy.metadata.name, "hash": policy_hash(policy)},
        "mode": policy.mode.value,
        "paused": answer.standing.paused,
        "window": window_of(policy, now_s),
        "nodes": [_node(node) for node in snapshot.nodes],
        "openRollouts": [
            _rollout(node.name, node.journal)
            for node in snapshot.nodes
            if node.journal is not None
        ],
        "holds": [
            {"reason": hold.reason.value, "node": hold.node, "message": hold.message}
            for hold in snapshot.holds
        ],
        "loop": _loop(answer, namespace),
        "notices": list(answer.notices),
    }


def window_of(policy: Policy, now_s: float) -> Json:
    """Return what the loop says of its window, and whether a freeze holds."""
    said = window_json(policy, now_s)
    is_frozen = timing(policy.disruption, now_s).frozen is not None
    return {"open": said["open"], "frozen": is_frozen} | said


def _node(node: FleetNode) -> Json:
    return {
        "name": node.name,
        "pool": node.pool,
        "model": None if node.model is None else node.model.key,
        "state": state_of(node),
        "reserved": node.reserved,
        "supply": dict(node.supply),
        "allocated": dict(node.allocated),
        "free": dict(node.takeable),
        "gpus": [
            {
                "index": gpu.index,
                "migEnabled": gpu.mig_enabled,
                "instances": dict(gpu.counts),
                "held": dict(gpu.held),
                "proven": gpu.proven,
            }
            for gpu in node.gpus
        ],
        "holds": [hold.reason.value for hold in node.holds],
    }


def state_of(node: FleetNode) -> str:
    """Return the one word about a node: its rollout, or whether it may change."""
    if node.journal is not None:
        return node.journal.state.value
    if node.holds:
        return "hold"
    return "reserved" if node.reserved else "ready"


def _rollout(name: str, journal: Journal) -> Json:
    return {
        "node": name,
        "id": journal.id,
        "state": journal.state.value,
        "since": moment_text(journal.state_since_s),
        "deadline": moment_text(journal.deadline_s),
        "from": journal.before.config_name,
        "to": journal.target.config_name,
        "reason": journal.reason,
    }


def _loop(answer: Answer, namespace: str) -> Json | None:
    """Return what the leader last wrote, ``None`` where it writes nothing."""
    kept = kept_in(answer.sight.observation, namespace)
    if kept.config_map is None:
        return None
    try:
        found = json.loads(kept.config_map.data.get(STATUS, ""))
    except (ValueError, RecursionError):
        return None
    wanted = ("mode", "holder", "updatedAt", "conditions", "plan", "errors")
    return {key: found.get(key) for key in wanted} if isinstance(found, dict) else None


def draw_status(
    out: Console, answer: Answer, snapshot: Snapshot, *, document: Json, wide: bool
) -> None:
    """Draw the status."""
    policy = answer.policy
    out.print(f"policy {policy.metadata.name}, mode {policy.mode}, {_window_text(answer)}")
    if answer.standing.paused is not None:
        out.print(f"paused: {answer.standing.paused}")
    _draw_loop(out, document["loop"])
    _draw_nodes(out, snapshot, wide=wide)
    _draw_rollouts(out, answer, snapshot)
    _draw_holds(out, snapshot)
    for notice in answer.notices:
        out.print(f"note: {notice}")


def _window_text(answer: Answer) -> str:
    window = window_of(answer.policy, answer.now_s)
    if window["open"]:
        closes = window["closesAt"]
        return "changes may start" + (f" until {closes}" if closes else "")
    opens = window["opensAt"]
    why = "frozen" if window["frozen"] else "no window is open"
    return f"{why}; " + (f"changes may start from {opens}" if opens else "none ever opens")


def _draw_loop(out: Console, loop: object) -> None:
    if not isinstance(loop, Mapping):
        out.print("loop: no status in the cluster (modes off and dry-run write none)")
        return
    out.print(
        f"loop: mode {loop['mode']}, led by {loop['holder'] or 'nobody'},"
        f" last word {loop['updatedAt']}"
    )
    conditions = loop["conditions"]
    for c in conditions if isinstance(conditions, list) else []:
        if isinstance(c, Mapping) and c.get("type") in {"Ready", "Degraded", "MetricsFresh"}:
            out.print(f"  {c['type']}={c['status']} {c['reason']}: {c['message']}")


def _draw_nodes(out: Console, snapshot: Snapshot, *, wide: bool) -> None:
    more = ("MODEL", "HELD") if wide else ()
    drawn = table("NODE", "POOL", "STATE", "LAYOUT", "FREE", *more)
    for node in snapshot.nodes:
        layout = layout_text(gpu.counts if gpu.mig_enabled else None for gpu in node.gpus)
        model = "?" if node.model is None else node.model.key
        cells = (model, amounts_text(node.allocated)) if wide else ()
        state = state_of(node)
        drawn.add_row(node.name, node.pool, state, layout, amounts_text(node.takeable), *cells)
    section(out, drawn)


def amounts_text(amounts: Mapping[str, int]) -> str:
    """Return amounts of resources without NVIDIA's prefix."""
    return counts_text({name.removeprefix("nvidia.com/"): n for name, n in amounts.items()})


def _draw_rollouts(out: Console, answer: Answer, snapshot: Snapshot) -> None:
    opened = [(n.name, n.journal) for n in snapshot.nodes if n.journal is not None]
    if not opened:
        return
    drawn = table("NODE", "STATE", "SINCE", "DEADLINE", "TO", "WHY", title="OPEN ROLLOUTS")
    for name, journal in opened:
        since = f"{span_text(answer.now_s - journal.state_since_s)} ago"
        deadline = f"in {span_text(journal.deadline_s - answer.now_s)}"
        target = journal.target.config_name or "-"
        drawn.add_row(name, journal.state, since, deadline, target, journal.reason or "-")
    section(out, drawn)


def _draw_holds(out: Console, snapshot: Snapshot) -> None:
    if not snapshot.holds:
        return
    drawn = table("NODE", "REASON", "WHY", title="ON HOLD")
    for hold in snapshot.holds:
        drawn.add_row(hold.node or "-", hold.reason.value, hold.message)
    section(out, drawn)
