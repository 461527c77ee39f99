"""How long a change has been proposed: a passing thought starts nothing."""

from collections.abc import Mapping

from autoscaler.domain.plan import NodeChange, Plan


def proposal_of(change: NodeChange) -> str:
    """Return what makes a proposal the same as one before: the node and its target."""
    return f"{change.node}/{change.config_name}"


def first_seen(plan: Plan, seen: Mapping[str, float], now_s: float) -> dict[str, float]:
    """Return since when each proposal of a plan has been there without a break.

    Parameters
    ----------
    plan
        The plan of this cycle.
    seen
        The answer of the cycle before; empty at first.
    now_s
        Epoch seconds.
    """
    proposals = sorted(proposal_of(change) for change in plan.changes)
    return {name: min(seen.get(name, now_s), now_s) for name in proposals}


def persistence_due(
    change: NodeChange, seen: Mapping[str, float], persistence_s: float
) -> float | None:
    """Return when a change will have been proposed for long enough, in epoch seconds.

    Parameters
    ----------
    change
        A change of the plan that ``seen`` is about.
    seen
        Answer of ``first_seen``.
    persistence_s
        How long is enough, in seconds.

    Returns
    -------
    float or None
        ``None`` for a change that was never seen.
    """
    since_s = seen.get(proposal_of(change))
    return None if since_s is None else since_s + persistence_s
