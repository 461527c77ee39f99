"""The command ``mig-autoscaler``: its parts, and what errors become."""

import sys

import click
import typer

from autoscaler.cli import (
    capacity,
    profiles,
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
app.command("profiles")(profiles.show_profiles)
app.command("capacity")(capacity.show_capacity)


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        code = app(args=arguments, standalone_mode=False)
    except click.UsageError as error:
        error.show()
        return ExitCode.USAGE
    except click.exceptions.Abort:
        return ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except ConfigError as error:
        sys.stderr.write(f"error: {error}\n")
        return ExitCode.INPUT
    except AutoscalerError as error:
        sys.stderr.write(f"error: {error}\n")
        return ExitCode.ERROR
    except BrokenPipeError:
        # The reader of our output went away (``| head``): that is its right.
        sys.stderr.close()
        return ExitCode.OK
    return int(code or ExitCode.OK)
