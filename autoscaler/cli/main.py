"""The command ``mig-autoscaler``: its parts, and what errors become."""

import sys
from typing import Protocol, runtime_checkable

import typer

from autoscaler.cli import (
    apply,
    capacity,
    controls,
    explain,
    history,
    plan,
    profiles,
    run,
    status,
    validate,
)
from autoscaler.cli.exit_codes import ExitCode
from autoscaler.domain.errors import AutoscalerError, ConfigError

app = typer.Typer(
    name="mig-autoscaler",
    help="Keeps every MIG node of a Kubernetes cluster on its ideal mix of GPU instances.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("plan")(plan.show_plan)
app.command("apply")(apply.apply_plan)
app.command("explain")(explain.explain)
app.command("run")(run.run_loop)
app.command("status")(status.show_status)
app.command("history")(history.show_history)
app.command("pause")(controls.pause)
app.command("resume")(controls.resume)
app.command("abort")(controls.abort)
app.add_typer(controls.quarantine_app, name="quarantine")
app.command("profiles")(profiles.show_profiles)
app.command("capacity")(capacity.show_capacity)
app.command("validate")(validate.validate_files)

# Typer carries a click of its own and shows of its usage errors only this child.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


@runtime_checkable
class Shown(Protocol):
    """An error that can print itself with the usage of its command."""

    def show(self) -> None:
        """Print it to standard error."""
        ...


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        code = app(args=arguments, prog_name="mig-autoscaler", standalone_mode=False)
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
    except BrokenPipeError:
        # The reader of our output went away (``| head``): that is its right.
        sys.stderr.close()
        return ExitCode.OK
    return int(code or ExitCode.OK)


def fail(error: AutoscalerError, code: ExitCode) -> ExitCode:
    """Print an error a line at a time and return the exit code."""
    sys.stderr.writelines(f"error: {line}\n" for line in str(error).splitlines())
    return code
