"""``apply``: carries a saved plan out in the foreground, exactly it or not at all."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from autoscaler.adapters.default_policy import default_policy_for, default_policy_in
from autoscaler.adapters.policy_file import load_policy, read_text
from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.moment import span_text
from autoscaler.cli.output import FORM_OPTION, Form, console, emit, table
from autoscaler.cli.plan_summary import counted
from autoscaler.cli.sight import POLICY_OPTION
from autoscaler.cli.wiring import (
    CONTEXT_OPTION,
    KUBECONFIG_OPTION,
    NAMESPACE_OPTION,
    Access,
    cluster_of,
    connect_client,
    metrics_of,
    own_identity,
    own_namespace,
    system_clock,
)
from autoscaler.control.apply import Applied, Apply
from autoscaler.control.outside import Outside
from autoscaler.control.rollouts import Progress
from autoscaler.control.setting import Setting, leadership_for
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.plan.plan import Plan
from autoscaler.domain.plan.plan_json import plan_from_json
from autoscaler.domain.policy.policy import Mode, Policy


def apply_plan(
    plan: Annotated[Path, typer.Argument(help="File of plan --save.", metavar="PLAN")],
    policy: Annotated[str | None, POLICY_OPTION] = None,
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
    namespace: Annotated[str | None, NAMESPACE_OPTION] = None,
    form: Annotated[Form, FORM_OPTION] = Form.TABLE,
) -> int:
    """Carry out exactly a saved plan, or refuse and say what has changed since."""
    wanted = read_plan(plan)
    access = Access(kubeconfig, context, namespace)
    setting = setting_for(access, policy)
    teller = Teller()
    with ending_on_sigterm():
        applied = Apply(setting, wanted, teller.tell).run()
    names = [record.node for record in applied.records]
    emit(
        document_of(wanted, applied),
        form,
        draw=lambda out, _: draw_applied(out, wanted, applied),
        names=names,
    )
    return ExitCode.OK if applied.is_done else ExitCode.ERROR


def read_plan(path: Path) -> Plan:
    """Return a saved plan; ConfigError says what is wrong with the file."""
    try:
        document = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply for a plan") from error
    try:
        return plan_from_json(document)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def setting_for(access: Access, path: str | None) -> Setting:
    """Return what an apply runs under: the policy, the ports, the Lease of mode auto."""
    clock = system_clock()
    client = connect_client(access, clock)
    if path is None:
        seen = cluster_of(client, default_policy_for(()), clock, access.namespace).observe()
        policy: Policy = default_policy_in(seen)
    else:
        policy = load_policy(path).policy
    outside = Outside(
        cluster=cluster_of(client, policy, clock, access.namespace),
        clock=clock,
        metrics=metrics_of(policy, clock),
        identity=own_identity(),
        namespace=own_namespace(access.namespace),
    )
    acting = policy.model_copy(update={"mode": Mode.AUTO})
    return Setting(outside, policy, leadership_for(outside, acting))


@dataclass
class Teller:
    """Tells people who wait what is new of each rollout, and nothing twice."""

    said: dict[str, str] = field(default_factory=dict)

    def tell(self, progress: Progress) -> None:
        """Print what is new."""
        for notice in progress.notices:
            self._say(progress.name, notice.message)
        if progress.record is not None:
            record = progress.record
            self._say(progress.name, f"{record.result} after {span_text(record.duration_s)}")
        elif progress.error:
            self._say(progress.name, progress.error)
        elif progress.journal is not None and progress.wait is not None:
            text = f"{progress.journal.state}: {progress.wait.message}"
            self._say(progress.name, text)

    def _say(self, name: str, text: str) -> None:
        if self.said.get(name) != text:
            self.said[name] = text
            console(stderr=True).print(f"{name}: {text}")


@contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end us as Ctrl-C does: the Lease is given up, rollouts stay as they are."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        console(stderr=True).print(
            "interrupted: open rollouts stay as they are until a loop goes on with them:"
            " mig-autoscaler run --mode auto"
        )
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def document_of(plan: Plan, applied: Applied) -> dict[str, object]:
    """Return the outcome as JSON values."""
    return {
        "apiVersion": "mig-autoscaler.io/v1alpha1",
        "kind": "MigApplied",
        "plan": plan.id,
        "done": applied.is_done,
        "refusals": list(applied.refusals),
        "rollouts": [
            {
                "node": record.node,
                "rollout": record.rollout,
                "result": record.result.value,
                "seconds": round(record.duration_s, 3),
                "message": record.message,
            }
            for record in applied.records
        ],
    }


def draw_applied(out: Console, plan: Plan, applied: Applied) -> None:
    """Draw the outcome."""
    if applied.records:
        drawn = table("NODE", "RESULT", "TOOK", "WHY")
        for record in applied.records:
            took = span_text(record.duration_s)
            drawn.add_row(record.node, record.result, took, record.message)
        out.print(drawn)
    for refusal in applied.refusals:
        console(stderr=True).print(f"refused: {refusal}")
    if not plan.changes:
        out.print(f"plan {plan.id} has no changes: nothing to do")
    elif applied.is_done:
        out.print(f"plan {plan.id} is carried out: {counted(len(applied.records), 'node')}")
