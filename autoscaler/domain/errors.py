"""Every exception of the project.

*Nothing to do*, *infeasible*, *over budget* and *outside the window* are results
with reasons, never exceptions. An adapter translates the errors of its outside
system into these and chains the cause, so nothing above ``ports`` meets another.
"""


class AutoscalerError(Exception):
    """Base of all errors the cycle handles."""


class ConfigError(AutoscalerError):
    """A policy, scenario or input file is wrong; the message names file, line and key."""


class LoadError(ConfigError):
    """Jobs and a fleet cannot make the load that is asked for."""


class ObservationError(AutoscalerError):
    """The view of the cluster is incomplete or stale: no action this cycle."""


class PlanningError(AutoscalerError):
    """The optimizer failed with nothing in hand: the geometry is kept."""


class ActuationError(AutoscalerError):
    """A step did not happen."""


class Conflict(ActuationError):
    """Someone else changed the object first; the next cycle sees it."""


class NotFound(ActuationError):
    """The object does not exist (any more)."""


class Unavailable(ActuationError):
    """Time-out, connection fault, 429 or 5xx.

    Parameters
    ----------
    message
        What was called and what came back.
    retry_after_s
        Seconds the server asked to wait, when it did.
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Refused(ActuationError):
    """The other side said no for good: 401, 403, 422, or NVML "in use"."""


class InUse(Refused):
    """A GPU instance is still held or worked on; it may be free later."""


class NoRoom(Refused):
    """The driver found no room for a GPU instance at its place."""


class Diverged(ActuationError):
    """A step reported success but the world disagrees."""


class InvariantError(AutoscalerError):
    """Our own bug: a plan or step that breaks its invariant."""
