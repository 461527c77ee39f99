"""``history``: past rollouts with what they promised and what came of them."""

from typing import Annotated

import typer
from rich.console import Console

from autoscaler.adapters.dump import read_dumps
from autoscaler.cli.moment import moment_text, span_text
from autoscaler.cli.output import FORM_OPTION, Form, amount_text, emit, table
from autoscaler.cli.sight import FROM_OPTION
from autoscaler.cli.wiring import (
    CONTEXT_OPTION,
    KUBECONFIG_OPTION,
    NAMESPACE_OPTION,
    Access,
    connect_cluster,
    own_namespace,
    system_clock,
)
from autoscaler.control.status import NAME, kept_in, read_status
from autoscaler.domain.journal.history import RolloutRecord

MOST = 20


def show_history(
    files: Annotated[list[str] | None, FROM_OPTION] = None,
    node: Annotated[str | None, typer.Option(help="Only rollouts of this node.")] = None,
    last: Annotated[int, typer.Option(min=1, help="How many of the newest to show.")] = MOST,
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
    namespace: Annotated[str | None, NAMESPACE_OPTION] = None,
    form: Annotated[Form, FORM_OPTION] = Form.TABLE,
) -> None:
    """Show past changes, the newest last, with their measured effect."""
    own = own_namespace(namespace)
    if files:
        records = kept_in(read_dumps(files, system_clock().now_s()), own).history
    else:
        cluster = connect_cluster(Access(kubeconfig, context, namespace))
        found = cluster.read_config_map(own, NAME)
        records = () if found is None else read_status(found).history
    shown = [record for record in records if node in (None, record.node)][-last:]
    document = {
        "apiVersion": "mig-autoscaler.io/v1alpha1",
        "kind": "MigHistory",
        "rollouts": [_document(record) for record in shown],
    }
    names = [record.rollout for record in shown]
    emit(document, form, draw=lambda out, wide: _draw(out, shown, wide), names=names)


def _document(record: RolloutRecord) -> dict[str, object]:
    return {
        "rollout": record.rollout,
        "node": record.node,
        "pool": record.pool,
        "plan": record.plan,
        "startedAt": moment_text(record.started_at_s),
        "endedAt": moment_text(record.ended_at_s),
        "seconds": round(record.duration_s, 3),
        "result": record.result.value,
        "message": record.message,
        "before": record.before,
        "after": record.after,
        "gain": record.gain,
        "cost": record.cost,
        "serves": len(record.serves),
        "served": record.served,
    }


def _draw(out: Console, records: list[RolloutRecord], wide: bool) -> None:
    if not records:
        out.print("no rollouts yet")
        return
    more = ("GAIN", "COST", "PLAN", "WHY") if wide else ()
    numbers = ("SERVED", "GAIN", "COST")
    drawn = table("NODE", "ENDED", "TOOK", "RESULT", "AFTER", "SERVED", *more, right=numbers)
    for r in records:
        # Some time must pass before the effect of a change can be seen.
        served = f"{'?' if r.served is None else r.served}/{len(r.serves)}"
        cells = (amount_text(r.gain), amount_text(r.cost), r.plan, r.message) if wide else ()
        took = span_text(r.duration_s)
        drawn.add_row(
            r.node, moment_text(r.ended_at_s), took, r.result, r.after or "-", served, *cells
        )
    out.print(drawn)
