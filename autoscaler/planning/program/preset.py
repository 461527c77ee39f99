"""Presets in force: which GPUs shall have which layout now.

A preset is a rule of the program, as a floor is: it outweighs what demand offers, is met
as far as it can be, and goes through the same gate as every other change.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Policy, Pool
from autoscaler.domain.policy.policy import Strategy as MigStrategy
from autoscaler.domain.policy.preset_rules import PresetUse, Threshold
from autoscaler.domain.policy.quantity import share_of
from autoscaler.domain.policy.window import span_active


@dataclass(frozen=True, slots=True)
class Wish:
    """A preset that holds now on some nodes of a pool.

    Parameters
    ----------
    name
        Name under which options count what they do for it.
    preset, pool
        What people call it, and where it holds.
    layouts
        What one GPU shall hold, by node name.
    number
        How many GPUs shall.
    present
        How many do; a node that is changing counts with what it is about to hold.
    slices
        Compute slices of one GPU.
    """

    name: str
    preset: str
    pool: str
    layouts: Mapping[str, Counts]
    number: int
    present: int
    slices: int


@dataclass(frozen=True, slots=True)
class Wishes:
    """All presets that hold now; ``of_node`` says which one is for a node."""

    wishes: tuple[Wish, ...] = ()
    of_node: Mapping[str, Wish] = field(default_factory=dict)

    def layout_for(self, node: str) -> tuple[str, Counts] | None:
        """Return the rule and the layout that GPUs of a node shall have, if any."""
        wish = self.of_node.get(node)
        return None if wish is None else (wish.name, wish.layouts[node])


def wishes_of(policy: Policy, snapshot: Snapshot, demand: Demand, now_s: float) -> Wishes:
    """Return the presets that hold now.

    Parameters
    ----------
    policy
        Presets, and their uses by pool. Of several for a node the first one counts.
    snapshot, demand
        Nodes and waiting pods.
    now_s
        Epoch seconds.
    """
    found: list[Wish] = []
    of_node: dict[str, Wish] = {}
    for pool in policy.pools:
        left = [node for node in snapshot.nodes if node.pool == pool.name and _may_have(node)]
        for index, use in enumerate(pool.presets):
            if not holds(use, demand, now_s):
                continue
            layouts = policy.presets[use.preset]
            mine = [n for n in left if _is_for(use, n) and n.model and n.model.key in layouts]
            if not mine:
                continue
            wish = _wish(pool, index, mine, layouts)
            found.append(wish)
            of_node |= {node.name: wish for node in mine}
            left = [node for node in left if node.name not in of_node]
    return Wishes(tuple(found), of_node)


def holds(use: PresetUse, demand: Demand, now_s: float) -> bool:
    """Say whether time and waiting pods call for a preset."""
    if use.at is not None and not span_active(use.at, now_s):
        return False
    return use.when is None or num_waiting(use.when, demand, now_s) > use.when.more_than


def num_waiting(threshold: Threshold, demand: Demand, now_s: float) -> int:
    """Count the pods that a threshold is about; those of unknown age count as new."""
    name, number = resource_name(threshold.profile), 0
    for group in demand.groups:
        if not group.bundle[name]:
            continue
        ages_s = [now_s - created_s for created_s in group.created_s]
        ages_s += [0.0] * (group.number - len(ages_s))
        number += sum(1 for age_s in ages_s if age_s >= threshold.for_s)
    return number


def _may_have(node: FleetNode) -> bool:
    return node.strategy is MigStrategy.MIXED and node.model is not None and not node.reserved


def _is_for(use: PresetUse, node: FleetNode) -> bool:
    return all(node.node.labels.get(k) == value for k, value in use.node_selector.items())


def _wish(
    pool: Pool, index: int, nodes: Iterable[FleetNode], layouts: Mapping[str, dict[str, int]]
) -> Wish:
    use, own = pool.presets[index], list(nodes)
    by_node = {n.name: Counts(layouts[n.model.key]) for n in own if n.model is not None}
    gpus = [(by_node[n.name], counts) for n in own for counts in _layouts_of(n)]
    return Wish(
        name=f"preset {use.preset} of {pool.name}[{index}]",
        preset=use.preset,
        pool=pool.name,
        layouts=by_node,
        number=min(len(gpus), share_of(use.gpus, len(gpus))),
        present=sum(1 for layout, counts in gpus if counts == layout),
        slices=max((n.model.compute_slices for n in own if n.model is not None), default=1),
    )


def _layouts_of(node: FleetNode) -> tuple[Counts, ...]:
    """Return what each GPU with MIG on holds, or will once the change under way is over.

    With what it holds meanwhile the next look would find a GPU too few or too many, and
    cut another one there and back.
    """
    if node.journal is not None:
        return tuple(counts for counts in node.journal.target.gpus if counts is not None)
    return tuple(gpu.counts for gpu in node.gpus if gpu.mig_enabled)
