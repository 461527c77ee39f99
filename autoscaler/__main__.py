"""``python -m autoscaler`` is the command, and so are the programs that are installed."""

import sys

from autoscaler.cli.exit_codes import ExitCode


def start() -> int:
    """Run the command; one that is interrupted while it is loaded shows no traceback."""
    try:
        from autoscaler.cli.main import main
        from autoscaler.cli.standard_output import is_output_open

        return main() if is_output_open() else ExitCode.ERROR
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


if __name__ == "__main__":
    sys.exit(start())
