"""What the demo has to say before and after the run, for people."""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rich.console import Console

from autoscaler.cli.demo_live import ZONE
from autoscaler.cli.output import counts_text, section, table
from autoscaler.simulation.demo.comparison import Row
from autoscaler.simulation.demo.scenario import Choice, Scenario
from autoscaler.simulation.traces import (
    JITTER_S,
    Hours,
    Rule,
    TraceJob,
    load_openb,
    work_by_slices,
)

RULES = {
    Rule.SHARE: "the smallest profile with at least the GPU share asked for",
    Rule.STRICT: "the same, with the memory share as a second limit",
    Rule.V100_EQUIVALENT: (
        "the share asked for times 0.4, since the trace's GPUs are of the V100 class"
    ),
}

# Figures below it are shown without the difference in percent.
LEAST_FOR_SHARE = 10.0


def draw_factors(out: Console, factors: Sequence[tuple[str, str]]) -> None:
    """Print what the run depends on."""
    drawn = table("FACTOR", "VALUE", title="WHAT IS RUN")
    for name, value in factors:
        drawn.add_row(name, value)
    section(out, drawn)


def factors_of(scenario: Scenario) -> tuple[tuple[str, str], ...]:
    """Return everything that the figures depend on, in words."""
    settings, load, choice = scenario.settings, scenario.load, scenario.settings.choice
    jobs = [arrival.job for arrival in load.arrivals]
    begin = datetime.fromtimestamp(settings.start_s, ZoneInfo(ZONE))
    return (
        ("trace", "openb, pods of a production cluster that shares GPUs (see NOTICE)"),
        ("profiles", f"column {choice.rule}: {RULES[choice.rule]}"),
        ("hours run", f"{hours_text(choice.present)}, the days on top of each other"),
        ("hours before", f"{hours_text(choice.past)}, for the starting mix"),
        ("jobs", candidates_text(choice)),
        (
            "arrivals",
            f"{len(jobs)} draws of these with replacement, each within"
            f" {JITTER_S / 60:g} min of its time of the day; seed {settings.seed}",
        ),
        (
            "pods",
            f"{len(scenario.tasks)}: a job of several GPUs is as many pods of one whole GPU",
        ),
        (
            "offered work",
            f"{load.offered / settings.capacity:.3f} of what {settings.gpus_in_use} GPUs"
            f" can do: {shares_text(jobs)}",
        ),
        (
            "fleet",
            f"{settings.nodes} nodes of {settings.gpus} {settings.model}, one of them"
            " reserved (MIG off, whole GPUs)",
        ),
        (
            "starting mix",
            f"{counts_text(scenario.mix.instances)}: the best static one for"
            f" {len(scenario.past)} draws of the hours before, at the same load",
        ),
        ("clock", f"virtual, from {begin:%A %Y-%m-%d %H:%M} {ZONE}"),
    )


def hours_text(hours: Hours) -> str:
    """Return hours of days in words."""
    return (
        f"{hours.start_h:g} to {hours.end_h:g} h of days {hours.first_day}"
        f" to {hours.last_day} of the trace"
    )


def candidates_text(choice: Choice) -> str:
    """Say which jobs of the hours are drawn from, and what the others come to."""
    arrived = [job for job in load_openb(choice.rule) if choice.present.contains(job.arrival_s)]
    shorter = [job for job in arrived if job.duration_s < choice.shortest_s]
    longer = [job for job in arrived if job.duration_s > choice.longest_s]
    kept = choice.candidates(choice.present)
    share = sum(job.work for job in shorter) / sum(job.work for job in (*shorter, *kept))
    return (
        f"{len(kept)} of the {len(arrived)} that arrived then: not {len(shorter)} that ran"
        f" less than {choice.shortest_s / 60:g} min (many pods, {share:.0%} of the work) and"
        f" {len(longer)} that ran more than {choice.longest_s / 3600:g} h (they cannot end)"
    )


def shares_text(jobs: Sequence[TraceJob]) -> str:
    """Return the share of the work by compute slices of an instance."""
    work = work_by_slices(jobs)
    total = sum(work.values())
    return ", ".join(f"{amount / total:.0%} of {slices}g" for slices, amount in work.items())


def draw_comparison(out: Console, rows: Sequence[Row]) -> None:
    """Print the figures of both runs."""
    numbers = ("MIX LEFT ALONE", "AUTOSCALED", "DIFFERENCE")
    drawn = table("FIGURE", *numbers, title="THE SAME HOURS TWICE", right=numbers)
    for row in rows:
        drawn.add_row(figure_text(row), *row_text(row))
    section(out, drawn)


def figure_text(row: Row) -> str:
    """Return the name of a figure with its unit."""
    return f"{row.figure} ({row.unit})" if row.unit else row.figure


def row_text(row: Row) -> tuple[str, str, str]:
    """Return both figures and by how much the second differs.

    Of small figures a share says nothing, only the difference itself.
    """
    form = f",.{row.digits}f"
    difference = f"{row.autoscaled - row.alone:+{form}}"
    if row.alone >= LEAST_FOR_SHARE:
        difference += f" ({row.autoscaled / row.alone - 1:+.0%})"
    return f"{row.alone:{form}}", f"{row.autoscaled:{form}}", difference
