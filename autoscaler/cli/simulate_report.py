"""Files that ``simulate`` writes of what it has run: a page, and pictures."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.output import FORM_OPTION, Form, write_file
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.policy import policy_hash
from autoscaler.simulation.study.comparison import CaseResult, Comparison
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.splits import Case


def folder_named(text: str) -> Path:
    """Return a folder; a usage error for no text, which would be taken for this one."""
    if not text:
        raise typer.BadParameter("name a folder")
    return Path(text)


ReportOption = Annotated[
    Path | None,
    typer.Option(help="Write a page for a browser; it needs no network.", metavar="FILE"),
]
PngOption = Annotated[
    Path | None,
    typer.Option(
        "--png",
        help="Write pictures into a folder (needs matplotlib).",
        metavar="DIR",
        parser=folder_named,
    ),
]


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """What is made of the results."""

    report: ReportOption = None
    png: PngOption = None
    form: Annotated[Form, FORM_OPTION] = Form.TABLE


def check(outputs: OutputOptions) -> None:
    """Refuse files that cannot be written before anything runs, because runs take long."""
    if outputs.report is not None:
        check_file(outputs.report)
    if outputs.png is not None:
        check_folder(outputs.png)
    if outputs.png is not None and find_spec("matplotlib") is None:
        raise ConfigError("--png needs matplotlib: install mig-autoscaler[pictures]")


def check_file(path: Path) -> None:
    """Refuse a file that could not be written, as far as that shows beforehand."""
    if not path.parent.is_dir():
        raise ConfigError(f"{path}: cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise ConfigError(f"{path}: cannot be written: it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"{path}: cannot be written: no right to write there")


def check_folder(path: Path) -> None:
    """Refuse a folder that is something else, or in which no file could be written."""
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{path}: is a file, not a folder")
    if path.exists():
        check_file(path / "any")
    else:
        check_file(path)


def write_files(
    outputs: OutputOptions, comparison: Comparison, results: Sequence[CaseResult]
) -> None:
    """Write what is asked for; ConfigError when that cannot be done."""
    # The libraries of pictures take a while to load, so only for who wants them.
    if outputs.report is not None:
        from autoscaler.simulation.study.report.page import render_study

        write_file(outputs.report, render_study(results, factors_of(comparison, results)))
    if outputs.png is not None:
        write_pictures(outputs.png, results)


def write_pictures(folder: Path, results: Sequence[CaseResult]) -> None:
    """Write the pictures; ConfigError when that cannot be done."""
    from autoscaler.simulation.study.report.images import draw_study

    try:
        folder.mkdir(exist_ok=True)
        draw_study(results, folder)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error


def factors_of(comparison: Comparison, results: Sequence[CaseResult]) -> list[tuple[str, str]]:
    """Return what the figures depend on, in words."""
    conditions, cases = comparison.conditions, [result.case for result in results]
    policy = conditions.policy
    closing = "until the autoscaler looks again" if conditions.closes_by_profile else "no"
    return [
        ("cases", _listed(case.name for case in cases)),
        ("fleet", _listed(f"{case.gpus} x {case.model.key}" for case in cases)),
        ("days", _listed(_days_text(case) for case in cases)),
        ("notes", _listed(notice for case in cases for notice in case.notices) or "none"),
        ("policies", ", ".join(comparison.policies)),
        ("autoscaler's policy", f"{policy.metadata.name}, hash {policy_hash(policy)}"),
        (
            "autoscaler's driver",
            f"{conditions.driver}, GPUs a node: {conditions.gpus_per_node}",
        ),
        ("free instances held back", closing),
    ]


def _days_text(case: Case) -> str:
    past, present = (round(work.span_s / DAY_S) for work in (case.past, case.present))
    return f"{past} to learn from, {present} to be judged on"


def _listed(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))
