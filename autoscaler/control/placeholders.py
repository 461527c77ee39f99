"""Makes and removes placeholders, so that there are as many as the last plan wants.

Nothing is remembered but the pods themselves: whatever was done half is done, or undone,
by the next plan, which comes at once unless the server refuses what we ask for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from math import ceil

from autoscaler.control.leadership import Leadership
from autoscaler.control.outside import Outside
from autoscaler.domain.cluster.placeholder import (
    Placeholder,
    PlaceholderOrder,
    placeholder_name,
)
from autoscaler.domain.errors import AutoscalerError, Conflict, Refused
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.plan.plan import NodePlaceholders, Plan
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.reasons import Reason
from autoscaler.planning.placeholders import is_used

# Blocks that pass before a placeholder would be ended by its deadline.
SOON_OVER = frozenset({Reason.NODE_BUDGET})
# What a rollout of another node may take once it has drained that node.
CHANGE_S = 900


def deadline_s(policy: Policy) -> int:
    """Return how many seconds a placeholder may be bound, should nobody remove it.

    Longer than what it was made for may need until it starts: it has to be proposed for a
    while, and a rollout of another node may have to end first.
    """
    planning = policy.planning
    looks_s = planning.persistence_looks * policy.loop.interval_s
    proposed_s = max(planning.persistence_s, looks_s)
    return ceil(policy.rollout.drain_deadline_s + proposed_s) + CHANGE_S


@dataclass
class Placeholders:
    """The placeholders of one cycle.

    Parameters
    ----------
    policy
        What they run, and how long they may be bound.
    there
        Those that there are.
    errors
        What failed, one sentence each; grows.
    is_unfinished
        Whether something failed that may succeed when it is tried again.
    """

    outside: Outside
    leadership: Leadership
    policy: Policy
    there: tuple[Placeholder, ...]
    errors: list[str] = field(default_factory=list)
    is_unfinished: bool = False

    def tidy(self, journals: Mapping[str, Journal]) -> None:
        """Remove those that are over, and those on nodes whose change has begun."""
        for own in self.there:
            if own.is_over or (own.is_bound and own.node in journals):
                self._remove(own)

    def follow(self, plan: Plan, snapshot: Snapshot, journals: Mapping[str, Journal]) -> None:
        """Make those that a plan wants, and remove those that it does not want any more."""
        free = {c.node: c for c in plan.changes if c.reasons <= SOON_OVER}
        wanted = {wish.node: wish for wish in plan.placeholders}
        waiting: dict[str, list[Placeholder]] = {}
        unused: list[Placeholder] = []
        for own in self.there:
            if own.is_over or own.node in journals:
                continue
            if not own.is_bound:
                waiting.setdefault(own.node, []).append(own)
            elif not is_used(own, free):
                unused.append(own)
        # What is given back would go to the next of ours, and nobody would ever have it.
        giving = {own.node for own in unused}
        for name in sorted({*waiting, *wanted} - set(journals) - (set(free) - giving)):
            wish, node = wanted.get(name), snapshot.node(name)
            mine = [p for p in waiting.get(name, ()) if not p.is_going]
            if wish is None or node is None or name in giving:
                self._remove(*mine)
                continue
            self._remove(*mine[wish.number :])
            self._make(wish, node, wish.number - len(mine))
        self._remove(*unused)

    def _make(self, wish: NodePlaceholders, node: FleetNode, number: int) -> None:
        taken = {own.pod.name for own in self.there}
        every = (placeholder_name(node.node.uid, wish.resource, n) for n in count())
        fresh = (name for name in every if name not in taken)
        for _ in range(number):
            order = PlaceholderOrder(
                name=next(fresh),
                node=node.name,
                resource=wish.resource,
                image=self.policy.rollout.placeholder_image,
                deadline_s=deadline_s(self.policy),
                taints=node.node.taints,
            )
            if not self.leadership.guard():
                return
            try:
                self.outside.cluster.create_placeholder(self.outside.namespace, order)
            except Conflict:
                # One of this name is still ending.
                continue
            except AutoscalerError as error:
                self._complain(f"no placeholder for node {node.name}", error)
                if isinstance(error, Refused):
                    return

    def _remove(self, *owns: Placeholder) -> None:
        for own in owns:
            if own.is_going or not self.leadership.guard():
                continue
            try:
                self.outside.cluster.delete_pod(own.pod)
            except Conflict:
                # Another pod of this name, which the next cycle sees.
                continue
            except AutoscalerError as error:
                self._complain(f"placeholder {own.pod} stays", error)

    def _complain(self, what: str, error: AutoscalerError) -> None:
        self.errors.append(f"{what}: {error}")
        self.is_unfinished |= not isinstance(error, Refused)
