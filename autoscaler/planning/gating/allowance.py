"""How many rollouts the budgets still allow, counted from what the cluster shows.

Nodes that are out of service for whatever reason count, not only those that we
closed: the budget is a promise to the users of the fleet, and they do not care who
took the node away.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Journal, Result
from autoscaler.domain.policy.policy import Budgets
from autoscaler.domain.policy.quantity import format_duration, share_of
from autoscaler.domain.reasons import Block, Reason
from autoscaler.planning.gating.timing import moment

HOUR_S = 3600.0
NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Allowance:
    """Budgets of one moment and what of them is used.

    Parameters
    ----------
    budgets
        As the policy says.
    fleet
        Number of nodes in all pools.
    unavailable
        Nodes out of service, each with the reason, sorted.
    starts_s
        When rollouts of the last hour started, ascending, epoch seconds.
    now_s
        The moment, epoch seconds.
    """

    budgets: Budgets
    fleet: int
    unavailable: tuple[str, ...]
    starts_s: tuple[float, ...]
    now_s: float

    def blocks(self, granted: int) -> tuple[Block, ...]:
        """Return why no further rollout may start after so many granted now."""
        blocks = (self._node_block(granted), self._hour_block(granted))
        return tuple(block for block in blocks if block is not None)

    def _node_block(self, granted: int) -> Block | None:
        limit = share_of(self.budgets.nodes, self.fleet)
        if len(self.unavailable) + granted < limit:
            return None
        said = f"budgets.nodes is {self.budgets.nodes}"
        if isinstance(self.budgets.nodes, str):
            said += f", rounded down {limit} of {self.fleet} nodes"
        if limit == 0:
            return Block(Reason.NODE_BUDGET, f"{said}: nothing may start")
        used = [f"{granted} of this plan go first"] if granted else []
        used = [*_some(self.unavailable), *used]
        return Block(Reason.NODE_BUDGET, f"{said}, all used: {', '.join(used)}")

    def _hour_block(self, granted: int) -> Block | None:
        limit = self.budgets.per_hour
        starts_s = [*self.starts_s, *[self.now_s] * granted]
        if len(starts_s) < limit:
            return None
        if limit == 0:
            return Block(Reason.HOURLY_BUDGET, "budgets.perHour is 0: nothing may start")
        free_s = starts_s[len(starts_s) - limit] + HOUR_S
        return Block(
            Reason.HOURLY_BUDGET,
            f"budgets.perHour is {limit}, and {len(starts_s)} rollouts started in the last"
            f" {format_duration(HOUR_S)}; the next may start at {moment(free_s)}",
        )


def allowance(
    snapshot: Snapshot, budgets: Budgets, history: Iterable[RolloutRecord], now_s: float
) -> Allowance:
    """Return what the budgets allow.

    Parameters
    ----------
    snapshot
        The fleet; its journals are the open rollouts.
    budgets
        As the policy says.
    history
        Rollouts that are over, in any order.
    now_s
        Epoch seconds.
    """
    # A node that only waits is in full use, and its wait changes nothing.
    starts_s = [r.started_at_s for r in history if r.result is not Result.WAITED]
    journals = (node.journal for node in snapshot.nodes)
    starts_s += [start_of(own) for own in journals if own is not None and not own.is_waiting]
    reasons = ((node.name, why_unavailable(node)) for node in snapshot.nodes)
    return Allowance(
        budgets=budgets,
        fleet=len(snapshot.nodes),
        unavailable=tuple(sorted(f"{name} ({why})" for name, why in reasons if why)),
        starts_s=tuple(sorted(s for s in starts_s if s > now_s - HOUR_S)),
        now_s=now_s,
    )


def why_unavailable(node: FleetNode) -> str:
    """Return why a node is out of service, empty when it is not."""
    if node.has_waited or (node.journal is not None and node.journal.is_waiting):
        return ""
    if node.journal is not None:
        return f"rollout {node.journal.state}"
    if node.node.unschedulable:
        return "cordoned"
    return "" if node.node.ready else "not ready"


def start_of(journal: Journal) -> float:
    """Return when an open rollout started; an old journal may not say."""
    if journal.started_at_s:
        return journal.started_at_s
    return journal.cordoned_at_s or journal.state_since_s


def _some(names: tuple[str, ...]) -> list[str]:
    rest = len(names) - NAMES_SHOWN
    return [*names[:NAMES_SHOWN], f"{rest} more"] if rest > 0 else list(names)
