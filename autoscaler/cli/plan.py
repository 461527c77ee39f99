"""``plan``: one dry run, of the cluster or of files, and why nothing more would change."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.output import Form, emit
from autoscaler.cli.plan_view import draw_plan, some_text
from autoscaler.cli.sight import (
    ContextOption,
    FilesOption,
    FormOption,
    KubeconfigOption,
    MetricsOption,
    MomentOption,
    PolicyOption,
    Question,
    look,
    progress,
)
from autoscaler.cli.wiring import Access
from autoscaler.control.proposal import Proposal, propose
from autoscaler.domain.cluster.bundle import several_instances
from autoscaler.domain.cluster.objects import Observation
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.plan.plan import Plan
from autoscaler.domain.plan.plan_json import plan_to_json
from autoscaler.domain.reasons import Reason


def show_plan(
    policy: PolicyOption = None,
    files: FilesOption = None,
    metrics: MetricsOption = None,
    at: MomentOption = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the plan, for apply.", metavar="PLAN")
    ] = None,
    detailed_exitcode: Annotated[
        bool,
        typer.Option(
            "--detailed-exitcode", help="Exit 0 for no change, 2 for changes, 3 if all blocked."
        ),
    ] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    form: FormOption = Form.TABLE,
) -> int:
    """Show what would change now, what each change serves and costs, and what blocks it."""
    access = Access(kubeconfig, context)
    answer = look(Question.of_options(policy, files, metrics, at, access))
    with progress("planning"):
        found = propose(answer.sight, answer.policy, answer.now_s, answer.standing)
    notices = (*answer.notices, *advice_on(found, answer.sight.observation))
    found = replace(found, plan=with_notices(found.plan, notices))
    emit(
        plan_to_json(found.plan),
        form,
        draw=lambda out, wide: draw_plan(out, found, answer.sight.observation, wide=wide),
        names=[change.node for change in found.plan.changes],
    )
    if save is not None:
        save_plan(found, save)
    return exit_code_of(found.plan) if detailed_exitcode else ExitCode.OK


# Why a pod that waits for GPUs is no reason for a change.
SET_ASIDE = frozenset(
    {
        Reason.CLAIMS,
        Reason.GANG_INCOMPLETE,
        Reason.GATED,
        Reason.NOMINATED,
        Reason.OVER_QUOTA,
        Reason.TOO_YOUNG,
    }
)


def advice_on(found: Proposal, observation: Observation) -> Iterator[str]:
    """Yield what owners of waiting pods should know, those of one kind together."""
    aside = Counter(n.reason.value for n in found.demand.ignored if n.reason in SET_ASIDE)
    if aside:
        kinds = ", ".join(f"{number} {reason}" for reason, number in sorted(aside.items()))
        yield f"pending pods that are no demand: {kinds}; explain says why for each"
    waiting = {pod for group in found.demand.groups for pod in group.pods}
    odd = [p for p in observation.pods if p.ref in waiting and several_instances(p)]
    if odd:
        names = some_text(str(pod.ref) for pod in odd)
        yield f"several GPU instances in one container ({names}): a CUDA process uses one"


def with_notices(plan: Plan, notices: tuple[str, ...]) -> Plan:
    """Return the plan with what was missing when it was made, each said once."""
    return replace(plan, notices=tuple(dict.fromkeys((*notices, *plan.notices))))


def exit_code_of(plan: Plan) -> ExitCode:
    """Return what ``--detailed-exitcode`` says of a plan."""
    if not plan.changes:
        return ExitCode.OK
    may_start = any(not change.blocked_by for change in plan.changes)
    return ExitCode.CHANGES if may_start else ExitCode.BLOCKED


def save_plan(found: Proposal, path: Path) -> None:
    """Write a plan file whole, or not at all."""
    text = json.dumps(plan_to_json(found.plan), indent=2) + "\n"
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
