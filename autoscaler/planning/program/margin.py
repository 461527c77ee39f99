"""Margins: how many times its cost a change must gain.

They are part of the objective, so what does not pay well enough never displaces what
does. A GPU that a rollout has just re-cut keeps its layout unless much more is won: a
demand that swings would otherwise swing the fleet with it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.planning_rules import PlanningRules

ALL_GPUS = -1


@dataclass(frozen=True, slots=True)
class Margins:
    """Margins of one moment, each at least 1.

    Parameters
    ----------
    usual
        Where nothing was changed of late.
    recent
        Of GPUs that were, by node name and GPU index (``ALL_GPUS`` for any).
    """

    usual: float = 1.0
    recent: Mapping[tuple[str, int], float] = field(default_factory=dict)

    def of_gpu(self, node: str, index: int) -> float:
        """Return the margin of re-cutting a GPU."""
        if not self.recent:
            return self.usual
        own = self.recent.get((node, index), self.usual)
        return max(own, self.recent.get((node, ALL_GPUS), self.usual))


def margins_of(rules: PlanningRules, history: Iterable[RolloutRecord], now_s: float) -> Margins:
    """Return the margins of a moment.

    Parameters
    ----------
    rules
        Minimum gain, and how it grows for what was done of late.
    history
        Rollouts that are over; those that changed nothing do not count. Records that do
        not say which GPUs they changed stand for all of the node's.
    now_s
        Epoch seconds; a record of the future counts as of now.
    """
    usual = max(1.0, rules.min_gain)
    most = max(usual, rules.undo_gain)
    recent: dict[tuple[str, int], float] = {}
    for record in history:
        age_s = max(0.0, now_s - record.ended_at_s)
        if record.result is not Result.DONE or age_s >= rules.undo_within_s:
            continue
        margin = most - (most - usual) * age_s / rules.undo_within_s
        for index in record.gpus or (ALL_GPUS,):
            recent[record.node, index] = max(margin, recent.get((record.node, index), usual))
    return Margins(usual, recent)
