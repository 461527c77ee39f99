"""The command ``mig-autoscaler``: its parts, and what errors become."""

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, Protocol, runtime_checkable

import typer
from typer.main import get_command

from autoscaler import __version__
from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.standard_output import end_output
from autoscaler.domain.errors import AutoscalerError, ConfigError

NAME = "mig-autoscaler"
# Where each command is: only the one that is asked for is imported, because a dry run
# must not wait for servers and clients that it does not use.
COMMANDS = {
    "demo": "demo:run_demo",
    "plan": "plan:show_plan",
    "apply": "apply:apply_plan",
    "explain": "explain:explain",
    "run": "run:run_loop",
    "status": "status:show_status",
    "history": "history:show_history",
    "pause": "controls:pause",
    "resume": "controls:resume",
    "abort": "controls:abort",
    "quarantine": "controls:quarantine_app",
    "capacity": "capacity:show_capacity",
    "profiles": "profiles:show_profiles",
    "forecast": "forecast:show_forecast",
    "simulate": "simulate:simulate",
    "validate": "validate:validate_files",
}

# Typer carries a click of its own and shows of its usage errors only this child.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


@runtime_checkable
class Shown(Protocol):
    """An error that can print itself with the usage of its command."""

    def show(self) -> None:
        """Print it to standard error."""
        ...


def make_app(names: Iterable[str]) -> typer.Typer:
    """Return the command with some of its subcommands."""
    app = typer.Typer(
        name=NAME,
        no_args_is_help=True,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(about)
    for name in names:
        module, _, attribute = COMMANDS[name].partition(":")
        found = getattr(import_module(f"autoscaler.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def about(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True)
    ] = False,
) -> None:
    """Keep every MIG node of a Kubernetes cluster on its ideal mix of GPU instances."""
    if version:
        sys.stdout.write(f"mig-autoscaler {__version__}\n")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    names = given[:1] if given[:1] and given[0] in COMMANDS else list(COMMANDS)
    return run_app(make_app(names), given)


def run_app(app: typer.Typer, arguments: Sequence[str], name: str = NAME) -> int:
    """Run a command and return its exit code; errors are a line each, never a traceback.

    Parameters
    ----------
    name
        What was called, for the usage.
    """
    try:
        return invoke(app, arguments, name)
    except UsageError as error:
        if isinstance(error, Shown):
            error.show()
        return ExitCode.USAGE
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except ConfigError as error:
        return fail(error, ExitCode.INPUT)
    except AutoscalerError as error:
        return fail(error, ExitCode.ERROR)
    except OSError as error:
        return end_output(error)


def invoke(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    """Run a command without Typer's own end of a process.

    That would take a closed pipe for an error, and with it end in 1.
    """
    command = get_command(app)
    try:
        with command.make_context(name, list(arguments)) as context:
            code = command.invoke(context)
    except typer.Exit as end:
        code = end.exit_code
    sys.stdout.flush()
    return int(code or ExitCode.OK)


def fail(error: AutoscalerError, code: ExitCode) -> ExitCode:
    """Print an error a line at a time and return the exit code."""
    sys.stderr.writelines(f"error: {line}\n" for line in str(error).splitlines())
    return code
