"""The demo's HTML report, put together from what was run and printed."""

import io
from collections.abc import Sequence

from rich.console import Console

from autoscaler.cli.demo_live import ZONE
from autoscaler.cli.demo_policy import policy_text
from autoscaler.cli.demo_report import figure_text, row_text
from autoscaler.cli.demo_run import AutoscaledRun, Rehearsal
from autoscaler.cli.plan_view import draw_plan
from autoscaler.simulation.demo.comparison import Row
from autoscaler.simulation.demo.report import Report, render_report
from autoscaler.simulation.demo.run_record import RunRecord
from autoscaler.simulation.demo.scenario import Scenario

WIDTH = 150


def demo_page(
    scenario: Scenario,
    alone: RunRecord,
    run: AutoscaledRun,
    rows: Sequence[Row],
    factors: Sequence[tuple[str, str]],
) -> str:
    """Return the page."""
    return render_report(
        Report(
            figures=[(figure_text(row), *row_text(row)) for row in rows],
            factors=factors,
            policy=policy_text(scenario),
            plan=plan_text(run.rehearsal),
            alone=alone,
            autoscaled=run.record,
            changes=run.changes,
            slices=scenario.settings.gpu_model.memory_slices,
            opened_s=run.opened_s,
            zone=ZONE,
        )
    )


def plan_text(rehearsal: Rehearsal) -> str:
    """Return the dry run as ``plan`` prints it."""
    target = io.StringIO()
    out = Console(file=target, width=WIDTH, no_color=True, highlight=False)
    draw_plan(out, rehearsal.proposal, rehearsal.observation)
    return target.getvalue()
