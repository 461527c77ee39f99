"""Commands whose options come from dataclasses."""

from dataclasses import dataclass
from typing import Annotated

import typer

from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.main import run_app
from autoscaler.cli.option_groups import GroupedCommand


@dataclass(frozen=True)
class Place:
    """Where."""

    node: Annotated[str, typer.Option(help="Name of the node.")] = "gpu-1"
    index: Annotated[int, typer.Option(min=0)] = 0


@dataclass(frozen=True)
class Look:
    """How."""

    wide: Annotated[bool, typer.Option("--wide", help="More columns.")] = False


def app_of(seen):
    def show(place: Place, look: Look) -> None:
        """Show a GPU."""
        seen.append((place, look))

    app = typer.Typer(rich_markup_mode=None)
    app.command("show")(GroupedCommand(show, Place, Look))
    return app


def test_each_group_gets_its_options():
    """What is not given keeps the default of the field."""
    seen = []
    assert run_app(app_of(seen), ["--index", "3", "--wide"]) == 0
    assert seen == [(Place("gpu-1", 3), Look(wide=True))]


def test_help_is_that_of_the_function_and_the_fields(capsys):
    """As if all of them were arguments of one function."""
    assert run_app(app_of([]), ["--help"]) == 0
    text = capsys.readouterr().out
    assert "Show a GPU." in text
    assert "Name of the node." in text
    assert "--wide" in text


def test_a_wrong_value_is_a_usage_error(capsys):
    """Limits of the fields hold."""
    seen = []
    assert run_app(app_of(seen), ["--index", "-1"]) == ExitCode.USAGE
    assert seen == []
    assert "--index" in capsys.readouterr().err
