"""Standard output of the process: what is done where it cannot be written."""

import io
import os
import sys

from autoscaler.cli.exit_codes import ExitCode

LOST = "error: standard output cannot be written"


class OutputLost(OSError):
    """Standard output cannot be written, e.g. because a disk is full."""


class StandardOutput(io.TextIOWrapper):
    """Standard output whose own errors are told from those of all other files."""

    def write(self, text: str) -> int:
        """Write text; OutputLost when that cannot be done."""
        try:
            return super().write(text)
        except OSError as error:
            raise _told(error) from error

    def flush(self) -> None:
        """Write what waits; OutputLost when that cannot be done."""
        try:
            super().flush()
        except OSError as error:
            raise _told(error) from error


def is_output_open() -> bool:
    """Take over standard output; say whether there is one, on standard error if not."""
    own = sys.stdout
    if own is None:
        sys.stderr.write(f"{LOST}: it is closed\n")
        return False
    if isinstance(own, io.TextIOWrapper):
        # Names of files need not be text, and not every encoding has all letters.
        sys.stdout = StandardOutput(
            own.buffer,
            encoding=own.encoding,
            errors="backslashreplace",
            line_buffering=own.line_buffering,
            write_through=own.write_through,
        )
    return True


def end_output(error: OSError) -> ExitCode:
    """Return the exit code where output cannot be written; the error if it is another."""
    if not isinstance(error, (OutputLost, BrokenPipeError)):
        raise error
    # What is left goes nowhere, or the end of the process would try again and fail.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        # The reader went away (``| head``): that is its right.
        return ExitCode.OK
    sys.stderr.write(f"{LOST}: {error.strerror}\n")
    return ExitCode.ERROR


def _told(error: OSError) -> OSError:
    return error if isinstance(error, BrokenPipeError) else OutputLost(*error.args)
