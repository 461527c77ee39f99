"""The report of a run: one page that needs nothing but a browser."""

from collections.abc import Sequence
from dataclasses import dataclass

from autoscaler.simulation.demo.report_figures import draw_changes, draw_layouts, draw_queues
from autoscaler.simulation.demo.run_record import ChangeRecord, RunRecord
from autoscaler.simulation.page import picture, render_page

TEMPLATE = "demo.html"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the page shows.

    Parameters
    ----------
    figures
        Name, both values and their difference, as they are printed.
    factors
        What the figures depend on, in words.
    policy, plan
        The policy's text, and the dry run as it was printed.
    slices
        Memory slices of each GPU.
    opened_s
        When changes were allowed, epoch seconds.
    zone
        Whose clocks the page shows.
    """

    figures: Sequence[tuple[str, str, str, str]]
    factors: Sequence[tuple[str, str]]
    policy: str
    plan: str
    alone: RunRecord
    autoscaled: RunRecord
    changes: Sequence[ChangeRecord]
    slices: int
    opened_s: float
    zone: str


def render_report(report: Report) -> str:
    """Return the page."""
    run, zone = report.autoscaled, report.zone
    return render_page(
        TEMPLATE,
        report=report,
        layouts=picture(draw_layouts(run, report.slices), "layouts"),
        queues=picture(draw_queues(report.alone, run, zone), "queues"),
        changes=picture(draw_changes(run, report.changes, report.opened_s, zone), "changes"),
    )
