"""Composition: which instances each GPU of a node holds.

The API server knows only sums over a node. Three sources tell the GPUs apart, each
believed only when its sums equal what the node advertises: the agent's inventory, the
configuration that the node's label names, and a split into GPUs that are all alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.inventory import Inventory
from autoscaler.domain.cluster.marks import MIG_CONFIG, MIG_CONFIG_STATE
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.hardware import Hardware, contradiction, profile_counts
from autoscaler.domain.fleet.snapshot import Gpu
from autoscaler.domain.mig.configuration import LayoutOfNode
from autoscaler.domain.mig.placement import fits
from autoscaler.domain.mig.resource import (
    GPU,
    folded,
    parse_resource,
    supply_of,
)
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.reasons import Hold, Reason


@dataclass(frozen=True, slots=True)
class Composition:
    """What is known of a node's GPUs.

    Parameters
    ----------
    gpus
        In index order; empty when unknown. Where only the numbers of cut and of whole
        GPUs are known and not which is which, a hold says so.
    holds
        Why it is not known, or must not be changed.
    is_countable
        Whether what the node advertises may be counted as supply.
    confirms
        Whether the node advertises what its configuration promises.
    """

    gpus: tuple[Gpu, ...] = ()
    holds: tuple[Hold, ...] = ()
    is_countable: bool = True
    confirms: bool = False


def compose(
    hardware: Hardware, promised: Sequence[LayoutOfNode], inventory: Inventory | None
) -> Composition:
    """Return what each GPU of a node holds.

    Parameters
    ----------
    promised
        What the configuration named by the node may mean; empty when not known.
    inventory
        The agent's report, if there is one.
    """
    wrong = contradiction(hardware, inventory)
    if wrong is not None:
        is_countable = wrong.reason is not Reason.EXCEEDS_HARDWARE
        return Composition((), (wrong,), is_countable=is_countable)
    sources = (*([inventory.layout] if inventory else []), *promised)
    for amounts in dict.fromkeys((hardware.offered, hardware.existing)):
        matching = [layout for layout in sources if _adds_up(hardware, layout, amounts)]
        if matching:
            return _matched(hardware, matching, promised, inventory, amounts)
    found = _split(hardware)
    holds = [*found.holds, *_unhealthy(hardware, hardware.existing)]
    if inventory is not None:
        said = supply_of(inventory.layout)
        text = f"the inventory says {said}, it advertises {hardware.offered}"
        return Composition((), (hardware.hold(Reason.GEOMETRY_UNKNOWN, text), *holds))
    if promised and hardware.obeys_label:
        holds.append(_drifted(hardware, promised[0]))
    return replace(found, holds=tuple(holds))


def _adds_up(hardware: Hardware, layout: LayoutOfNode, amounts: Counts) -> bool:
    expected = supply_of(layout, hardware.strategy)
    return amounts in (expected, folded(expected))


def _matched(
    hardware: Hardware,
    matching: Sequence[LayoutOfNode],
    promised: Sequence[LayoutOfNode],
    inventory: Inventory | None,
    amounts: Counts,
) -> Composition:
    layout = matching[0]
    unhealthy = _unhealthy(hardware, amounts)
    if inventory is not None and layout == inventory.layout:
        gpus = tuple(
            replace(gpu, geometry=seen.geometry if seen.mig_enabled else None)
            for gpu, seen in zip(gpus_of(layout), inventory.gpus, strict=True)
        )
        confirms = layout in promised
        if promised and not confirms and hardware.obeys_label:
            unhealthy = (*unhealthy, _drifted(hardware, promised[0]))
        return Composition(gpus, unhealthy, confirms=confirms)
    if len(set(matching)) > 1:
        config = hardware.node.labels.get(MIG_CONFIG, "")
        text = f"ConfigMaps give {config} {len(set(matching))} meanings that all add up"
        return Composition((), (hardware.hold(Reason.GEOMETRY_UNKNOWN, text), *unhealthy))
    return Composition(gpus_of(layout), unhealthy, confirms=True)


def gpus_of(layout: LayoutOfNode) -> tuple[Gpu, ...]:
    """Return the GPUs of a layout, none of them held."""
    return tuple(
        Gpu(index=index, mig_enabled=counts is not None, counts=counts or Counts())
        for index, counts in enumerate(layout)
    )


def _unhealthy(hardware: Hardware, amounts: Counts) -> tuple[Hold, ...]:
    """Return the hold for devices that exist and are not offered.

    Parameters
    ----------
    amounts
        What the layout adds up to. A resource beyond it, of which nothing is offered
        any more, is the rest of an earlier layout and no fault.
    """
    missing = hardware.existing.minus(hardware.offered)
    faulty = {n: k for n, k in missing.items() if hardware.offered[n] or amounts[n]}
    if not faulty:
        return ()
    parts = [
        f"{number} unhealthy of {hardware.existing[name]} {name}"
        for name, number in sorted(faulty.items())
    ]
    text = f"{', '.join(parts)}: a new layout does not cure a device, and may need it"
    return (hardware.hold(Reason.UNHEALTHY_DEVICE, text),)


def _split(hardware: Hardware) -> Composition:
    """Return the split into GPUs that are all alike, if there is one."""
    whole = hardware.offered[GPU]
    counts = profile_counts(hardware, hardware.offered)
    cut = hardware.num_gpus - whole
    if hardware.strategy is Strategy.NONE or (not counts and cut <= 0):
        return Composition(gpus_of((None,) * hardware.num_gpus))
    if hardware.strategy is Strategy.SINGLE:
        counts, whole, cut = _single(hardware)
    if not counts:
        text = f"{cut} of its {hardware.num_gpus} GPUs advertise nothing"
        return Composition((), (hardware.hold(Reason.GEOMETRY_UNKNOWN, text),))
    each = Counts({name: number // cut for name, number in counts.items()})
    if Counts().plus(each, cut) != counts or not fits(hardware.model, each):
        text = (
            f"it advertises {counts} on {cut} GPUs, which no split into GPUs of one kind"
            " explains; the ConfigMap with its configuration or an inventory would"
        )
        return Composition((), (hardware.hold(Reason.GEOMETRY_UNKNOWN, text),))
    gpus = gpus_of((each,) * cut + (None,) * whole)
    if not whole:
        return Composition(gpus)
    text = (
        f"{cut} of its {hardware.num_gpus} GPUs hold {each} each and {whole} are whole, but"
        " which are which is not known; the ConfigMap with its configuration or an"
        " inventory would tell"
    )
    return Composition(gpus, (hardware.hold(Reason.GEOMETRY_UNKNOWN, text),))


def _single(hardware: Hardware) -> tuple[Counts, int, int]:
    product = hardware.node.labels.get("nvidia.com/gpu.product", "")
    name = parse_resource(hardware.model, product.rpartition("-MIG-")[2])
    number = hardware.offered[GPU]
    return Counts({} if name is None else {name: number}), 0, hardware.num_gpus


def _drifted(hardware: Hardware, layout: LayoutOfNode) -> Hold:
    labels = hardware.node.labels
    state = labels.get(MIG_CONFIG_STATE, "none")
    text = (
        f"configuration {labels.get(MIG_CONFIG)} (state {state}) promises"
        f" {supply_of(layout, hardware.strategy)}, it advertises {hardware.offered}"
    )
    return hardware.hold(Reason.DRIFTED, text)
