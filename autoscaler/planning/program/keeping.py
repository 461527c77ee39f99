"""Keeping: whole GPUs in use that others may have next.

A request for a whole GPU that becomes free is served before any plan can look, so a flood
of them would keep every GPU that it ever got. So their GPUs may be kept from new pods
before they are free: which of them ends first nobody knows. That costs nobody anything as
long as their pods run, and a node has no other GPU. What becomes free the next plan cuts
anew or gives back; what the past entitles whole GPUs to is part of its objective.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Driver, Policy

Place = tuple[str, int]

# Of a large fleet not all need be kept to have one soon that becomes free.
MOST_PER_SURPLUS = 2
LEAST = 16


@dataclass(slots=True)
class _WholeGpus:
    """The whole GPUs of a pool and model in use.

    Parameters
    ----------
    in_use
        How many.
    waiting
        How many of them are on nodes that are closed until they are free.
    """

    in_use: int = 0
    waiting: int = 0


def allows_placeholders(policy: Policy) -> bool:
    """Say whether a policy lets placeholders wait for pods to end."""
    rules = policy.disruption.draining
    return rules.enabled and rules.placeholders


def may_wait_for(node: FleetNode) -> bool:
    """Say whether a node may be closed until a GPU in use is free, at no cost to anybody.

    The agent knows who holds it, and there is no other GPU that others could use.
    """
    return node.driver is Driver.AGENT and len(node.gpus) == 1


def keepable(
    holders: Iterable[Holder],
    nodes: Collection[FleetNode],
    home: Mapping[tuple[str, str], int],
    may_be_kept: Callable[[FleetNode], bool],
) -> dict[Place, bool]:
    """Return the GPUs in use, by node name and index, that may be kept from new pods.

    Parameters
    ----------
    holders
        Who holds what.
    nodes
        All nodes.
    home
        Home mix by pool and resource. None are kept in pools without one: nothing says
        what whole GPUs are needed for.
    may_be_kept
        Says of which nodes GPUs may be kept from new pods. Those that are kept already
        come first.

    Returns
    -------
    dict
        Whether a GPU is part of the home share, because no more than that are in use.
    """
    able = {
        node.name: (node.pool, node.model.whole_gpu.name)
        for node in nodes
        if node.model is not None and not node.reserved
    }
    numbers: dict[tuple[str, str], _WholeGpus] = {}
    for node in nodes:
        if node.name in able:
            own = numbers.setdefault(able[node.name], _WholeGpus())
            held = sum((gpu.held[able[node.name][1]] for gpu in node.gpus), 0)
            own.in_use += held
            own.waiting += held if node.journal is not None and node.journal.is_waiting else 0
    surplus = {
        key: own.in_use - home[key[0], resource_name(key[1])]
        for key, own in numbers.items()
        if (key[0], resource_name(key[1])) in home
    }
    left = {
        key: max(LEAST, MOST_PER_SURPLUS * own) - numbers[key].waiting
        for key, own in surplus.items()
    }
    numbers_kept = {n.name: len(n.placeholders) for n in nodes if may_be_kept(n)}
    found: dict[Place, bool] = {}
    ours = (holder for holder in holders if holder.node in numbers_kept)
    for holder in sorted(
        ours, key=lambda own: (not numbers_kept[own.node], own.node, own.gpu, own.pod)
    ):
        key = able.get(holder.node)
        if key is None or not holder.held[key[1]]:
            continue
        if left.get(key, 0) > 0:
            left[key] -= 1
            found[holder.node, holder.gpu] = surplus[key] <= 0
    return found
