"""Exit codes of the command; scripts rely on them."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the shell sees."""

    OK = 0
    ERROR = 1
    CHANGES = 2  # only with --detailed-exitcode
    BLOCKED = 3  # only with --detailed-exitcode
    USAGE = 64
    INPUT = 65
    INTERRUPTED = 130
