"""How long a change has been proposed: a passing thought starts nothing.

What counts is each GPU and what it shall become, not the plan as a whole: while demand
grows, every plan is another one, and yet its older part has been wanted all the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaler.domain.plan.plan import GpuChange, NodeChange, Plan
from autoscaler.domain.policy.planning_rules import PlanningRules


@dataclass(frozen=True, slots=True)
class Sighting:
    """Since when something has been proposed without a break.

    Parameters
    ----------
    since_s
        When it was first seen, epoch seconds.
    looks
        How many plans in a row proposed it.
    last_s
        When it was last seen, epoch seconds.
    """

    since_s: float
    looks: int = 1
    last_s: float = 0.0

    def due_s(self, rules: PlanningRules, interval_s: float) -> float:
        """Return when it will have been there for long enough, in epoch seconds."""
        lacking = max(0, rules.persistence_looks - self.looks)
        return max(self.since_s + rules.persistence_s, self.last_s + lacking * interval_s)


Sightings = Mapping[str, Sighting]


def proposal_of(change: NodeChange, gpu: GpuChange) -> str:
    """Return what makes a proposal the same as one before: the GPU and its target."""
    return f"{change.node}/{gpu.index}/{gpu.after}"


def first_seen(plan: Plan, seen: Sightings, now_s: float) -> dict[str, Sighting]:
    """Return since when each proposal of a plan has been there without a break.

    Parameters
    ----------
    plan
        The plan of this cycle.
    seen
        The answer of the cycle before; empty at first. One of the future counts from now:
        the clock went back.
    now_s
        Epoch seconds.
    """
    found = {}
    for name in sorted(proposal_of(c, gpu) for c in plan.changes for gpu in c.gpus):
        before = seen.get(name, Sighting(now_s, 0))
        found[name] = Sighting(min(before.since_s, now_s), before.looks + 1, now_s)
    return found


def persistence_due(
    change: NodeChange, seen: Sightings, rules: PlanningRules, interval_s: float
) -> float | None:
    """Return when a change will have been proposed for long enough, in epoch seconds.

    Parameters
    ----------
    change
        A change of the plan that ``seen`` is about.
    seen
        Answer of ``first_seen``.
    rules
        How long is enough.
    interval_s
        Seconds between two looks.

    Returns
    -------
    float or None
        When half of its GPUs are due: the node is closed for all of them at once.
        ``None`` for a change that was never seen.
    """
    found = [seen.get(proposal_of(change, gpu)) for gpu in change.gpus]
    dues_s = sorted(own.due_s(rules, interval_s) for own in found if own is not None)
    half = (len(change.gpus) + 1) // 2
    return dues_s[half - 1] if len(dues_s) >= half > 0 else None
