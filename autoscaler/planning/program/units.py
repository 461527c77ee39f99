"""Units: by which names the program counts devices.

Under strategy single every device is ``nvidia.com/gpu``, whatever its profile. Pods that
select a product want one of a profile, others take any, so each device counts twice: as
any, and as one of its profile.
"""

from collections.abc import Iterable, Sequence

from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import GPU, resource_name, supply_of
from autoscaler.domain.mig.strategy import Strategy

MARK = f"{GPU} as "


def unit_name(profile: str) -> str:
    """Return the name of a device of a profile under strategy single."""
    return MARK + profile


def profile_of_unit(name: str) -> str | None:
    """Return the profile of such a name, ``None`` for any other name."""
    return name.removeprefix(MARK) if name.startswith(MARK) else None


def name_of(profile: str, strategy: Strategy) -> str:
    """Return the name under which the instances of a profile count."""
    return unit_name(profile) if strategy is Strategy.SINGLE else resource_name(profile)


def names_of(gpus: Iterable[Counts], strategy: Strategy = Strategy.MIXED) -> Counts:
    """Return what GPUs with these instances offer, by the names of the program."""
    layout = list(gpus)
    if strategy is not Strategy.SINGLE:
        return supply_of(layout)
    return sum_of(
        {**{unit_name(profile): n for profile, n in counts.items()}, GPU: counts.total()}
        for counts in layout
    )


def free_of(node: FleetNode) -> Counts:
    """Return what pods may still take on a node, by the names of the program.

    A node that is being changed counts with what it is about to offer.
    """
    free = node.free
    if node.target_supply is not None:
        free = node.target_supply.minus(node.allocated)
    return free.plus({unit_name(node.unit): free[GPU]}) if node.unit and free[GPU] else free


def bundle_of(group: DemandGroup) -> Counts:
    """Return what a pod of a group needs, by the names of the program."""
    if not group.unit:
        return group.bundle
    return group.bundle.plus({unit_name(group.unit): group.bundle[GPU]})


def asked_of(group: DemandGroup, nodes: Sequence[FleetNode]) -> Counts:
    """Return the instances by which a pod of a group is valued.

    Parameters
    ----------
    nodes
        Nodes that may take it. Where one of them offers small devices under the name of
        whole GPUs, a pod that takes any device is worth the smallest.
    """
    if group.unit:
        return Counts({resource_name(group.unit): group.bundle[GPU]})
    models = [n.model for n in nodes if n.unit and n.model is not None]
    if not group.bundle[GPU] or not models:
        return group.bundle
    smallest = min(
        (p.compute_slices, resource_name(p.name)) for m in models for p in m.profiles
    )[1]
    others = {name: n for name, n in group.bundle.items() if name != GPU}
    return Counts({**others, smallest: group.bundle[GPU]})


def unit_slices(models: Iterable[GpuModel]) -> dict[str, int]:
    """Return the compute slices of a device of each profile under strategy single."""
    return {unit_name(p.name): p.compute_slices for m in models for p in m.profiles}
