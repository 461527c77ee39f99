"""What NVML's return codes mean to us.

The client's own texts are only numbers for codes outside an old table, so the names are
written here.
"""

from collections.abc import Mapping

from autoscaler.domain.errors import (
    ActuationError,
    InUse,
    NoRoom,
    NotFound,
    Refused,
    Unavailable,
)

NAMES: Mapping[int, str] = {
    1: "UNINITIALIZED",
    2: "INVALID_ARGUMENT",
    3: "NOT_SUPPORTED",
    4: "NO_PERMISSION",
    6: "NOT_FOUND",
    7: "INSUFFICIENT_SIZE",
    9: "DRIVER_NOT_LOADED",
    10: "TIMEOUT",
    12: "LIBRARY_NOT_FOUND",
    13: "FUNCTION_NOT_FOUND",
    15: "GPU_IS_LOST",
    16: "RESET_REQUIRED",
    17: "OPERATING_SYSTEM",
    18: "LIB_RM_VERSION_MISMATCH",
    19: "IN_USE",
    20: "MEMORY",
    23: "INSUFFICIENT_RESOURCES",
    25: "ARGUMENT_VERSION_MISMATCH",
    27: "NOT_READY",
    28: "GPU_NOT_FOUND",
    29: "INVALID_STATE",
    999: "UNKNOWN",
}
# Whatever is not here is a no for good: a lost board, a call that is not permitted. The
# driver that is loading or being replaced, or out of memory, may answer later.
MEANINGS: Mapping[int, type[ActuationError]] = {
    1: Unavailable,
    6: NotFound,
    9: Unavailable,
    10: Unavailable,
    12: Unavailable,
    18: Unavailable,
    19: InUse,
    20: Unavailable,
    23: NoRoom,
    27: Unavailable,
    28: NotFound,
}
NOT_SUPPORTED = 3
INVALID_ARGUMENT = 2
FUNCTION_NOT_FOUND = 13
ARGUMENT_VERSION_MISMATCH = 25


def meaning_of(code: int, what: str) -> ActuationError:
    """Return what a failed call is to us.

    Parameters
    ----------
    code
        NVML's return code.
    what
        What was asked of which board.
    """
    name = NAMES.get(code, "an unknown code")
    return MEANINGS.get(code, Refused)(f"{what}: NVML says {name} ({code})")
