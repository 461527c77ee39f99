"""Products: what the labels of a node say under strategy single, now and after a change.

Feature discovery then labels a node as if it had only the one kind of instance, and
pods that want that kind select it. So which pods a node may take changes with its GPUs.
"""

from collections.abc import Iterable, Mapping

from autoscaler.domain.cluster.objects import SelectorTerm
from autoscaler.domain.demand.eligibility import Eligibility, Needs
from autoscaler.domain.fleet.memory import GPU_COUNT, GPU_MEMORY, PRODUCT
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.profile import GpuModel, Profile
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.pool import Pool

SHARED = "-SHARED"
MARK = "-MIG-"
GPU_SLICES = "nvidia.com/gpu.slices.gi"
COMPUTE_SLICES = "nvidia.com/gpu.slices.ci"
# Labels that a change of instances changes too.
CHANGING = frozenset({PRODUCT, GPU_COUNT, GPU_MEMORY, GPU_SLICES, COMPUTE_SLICES})


def may_change(node: FleetNode) -> bool:
    """Say whether a node has instances of one kind, and may get those of another."""
    return (
        node.strategy is Strategy.SINGLE
        and node.model is not None
        and bool(node.pool)
        and bool(node.gpus)
        and all(gpu.mig_enabled for gpu in node.gpus)
    )


def units_in(pool: Pool, model: GpuModel) -> tuple[Profile, ...]:
    """Return the profiles that nodes of a pool may be cut into, as one kind for a node.

    Parameters
    ----------
    pool
        Names them; or does not, and then all count that are no variant.
    model
        The GPU model of the node.
    """
    if pool.profiles is None:
        return tuple(profile for profile in model.profiles if profile.is_plain)
    return tuple(profile for profile in model.profiles if profile.name in pool.profiles)


def labels_with(node: FleetNode, profile: Profile) -> dict[str, str]:
    """Return the labels of a node whose GPUs are full of instances of a profile."""
    base = node.node.labels.get(PRODUCT, "").removesuffix(SHARED).partition(MARK)[0]
    changed = {
        PRODUCT: f"{base}{MARK}{profile.name.replace('+', '.')}",
        GPU_COUNT: str(profile.max_instances * len(node.gpus)),
        GPU_SLICES: str(profile.compute_slices),
        COMPUTE_SLICES: str(profile.compute_slices),
    }
    if profile.memory_mib is not None:
        changed[GPU_MEMORY] = str(profile.memory_mib)
    return {**node.node.labels, **changed}


def selects_product(needs: Needs) -> bool:
    """Say whether a pod looks at labels that a change of instances changes."""
    keys = {key for key, _ in needs.selector}
    keys |= {key for term in needs.affinity for key in _keys(term)}
    return bool(keys & CHANGING)


def _keys(term: SelectorTerm) -> Iterable[str]:
    return (expression.key for expression in term.labels)


def takers(
    needs: Needs,
    nodes: Iterable[FleetNode],
    pools: Mapping[str, Pool],
    eligibility: Eligibility,
) -> tuple[str, frozenset[str]]:
    """Return which profile a pod selects by product, and the nodes that could have it.

    Parameters
    ----------
    needs
        Of a pod that asks for ``nvidia.com/gpu``.
    nodes
        Nodes whose instances may change.

    Returns
    -------
    tuple
        Of several profiles that it would take, the smallest; empty without any.
    """
    found: dict[tuple[int, str], set[str]] = {}
    for node in nodes:
        if node.model is None:
            continue
        present = node.model.profile(node.unit)
        profiles = {*units_in(pools[node.pool], node.model), *([present] if present else [])}
        for profile in sorted(profiles, key=lambda p: p.name):
            if eligibility.admits(needs, node.name, labels_with(node, profile)):
                key = (profile.memory_slices, profile.name)
                found.setdefault(key, set()).add(node.name)
    if not found:
        return "", frozenset()
    smallest = min(found)
    return smallest[1], frozenset(found[smallest])
