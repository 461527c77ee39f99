"""Under what a cycle runs: ports, policy, and the Lease it needs."""

from dataclasses import dataclass, replace

from autoscaler.control.leadership import DEFAULT_TIMES, Leadership
from autoscaler.control.outside import Outside
from autoscaler.domain.policy.policy import Mode, Policy
from autoscaler.planning.program.settlements import Settler, settle_steadily

LEASES = {Mode.AUTO: "mig-autoscaler", Mode.RECOMMEND: "mig-autoscaler-recommend"}


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything a cycle is given beside its memory and the time.

    Parameters
    ----------
    leadership
        ``None`` in the modes that take no Lease.
    is_patient
        Whether a proposal must persist before it starts; not when run only once.
    by_hand
        Whether a person applies a plan and watches.
    settle
        Settles the problems of plans; may remember those of earlier cycles.
    """

    outside: Outside
    policy: Policy
    leadership: Leadership | None = None
    is_patient: bool = True
    by_hand: bool = False
    settle: Settler = settle_steadily


def leadership_for(outside: Outside, policy: Policy) -> Leadership | None:
    """Return a contender for the Lease of a policy's mode, ``None`` where it takes none.

    The Lease outlasts three cycles, so that a slow one does not lose it.
    """
    name = LEASES.get(policy.mode)
    if name is None:
        return None
    duration_s = max(DEFAULT_TIMES.duration_s, 3 * policy.loop.interval_s)
    times = replace(DEFAULT_TIMES, duration_s=duration_s, renew_deadline_s=duration_s * 2 / 3)
    return Leadership(outside, name, times)
