"""Composition: which instances each GPU of a node holds.

The API server knows only sums over a node. Three sources tell the GPUs apart, each
believed only when its sums equal what the node advertises: the agent's inventory, the
configuration that the node's label names, and a split into GPUs that are all alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autoscaler.domain.configuration import LayoutOfNode
from autoscaler.domain.counts import Counts
from autoscaler.domain.inventory import Inventory
from autoscaler.domain.marks import MIG_CONFIG, MIG_CONFIG_STATE
from autoscaler.domain.objects import Node
from autoscaler.domain.placement import fits
from autoscaler.domain.pool import Strategy
from autoscaler.domain.profile import GpuModel
from autoscaler.domain.reasons import Hold, Reason
from autoscaler.domain.resource import (
    GPU,
    PREFIX,
    folded,
    is_gpu_resource,
    is_shared,
    parse_resource,
    supply_of,
)
from autoscaler.domain.snapshot import Gpu


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


@dataclass(frozen=True, slots=True)
class Hardware:
    """A node with its GPU model, number of GPUs and strategy known.

    Parameters
    ----------
    obeys_label
        Whether MIG manager makes of the node what its label names.
    """

    node: Node
    model: GpuModel
    num_gpus: int
    strategy: Strategy
    obeys_label: bool = True

    @property
    def offered(self) -> Counts:
        """Devices that pods may get, by resource name; shares are no devices."""
        return devices(self.node.allocatable)

    @property
    def existing(self) -> Counts:
        """Devices that are there, healthy or not."""
        capacity, offered = devices(self.node.capacity), self.offered
        return Counts({n: max(capacity[n], offered[n]) for n in {*capacity, *offered}})

    def hold(self, reason: Reason, text: str) -> Hold:
        """Return a hold of this node."""
        return Hold(reason, f"node {self.node.name}: {text}", self.node.name)


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
    wrong = _contradiction(hardware, inventory)
    if wrong is not None:
        return wrong
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


def devices(amounts: Counts) -> Counts:
    """Return the GPU resources that count devices, not shares of them."""
    return Counts({n: k for n, k in amounts.items() if is_gpu_resource(n) and not is_shared(n)})


def _contradiction(hardware: Hardware, inventory: Inventory | None) -> Composition | None:
    """Return what makes a node's own words impossible, if anything does."""
    offered, model = hardware.offered, hardware.model
    unknown = [n for n in offered if n.startswith(PREFIX) and parse_resource(model, n) is None]
    if unknown:
        known = ", ".join(profile.name for profile in model.profiles)
        text = f"it advertises {unknown[0]}, which is no profile of {model.key} ({known})"
        return Composition((), (hardware.hold(Reason.UNKNOWN_PROFILE, text),))
    if inventory is not None and len(inventory.gpus) != hardware.num_gpus:
        text = (
            f"the inventory has {len(inventory.gpus)} GPUs, its label counts"
            f" {hardware.num_gpus} of {model.key}: the label does not describe every GPU"
        )
        return Composition((), (hardware.hold(Reason.MIXED_MODELS, text),))
    if inventory is not None:
        strange = [
            name
            for counts in inventory.layout
            for name in counts or ()
            if model.profile(name) is None
        ]
        if strange:
            text = f"the inventory shows {strange[0]}, which is no profile of {model.key}"
            return Composition((), (hardware.hold(Reason.UNKNOWN_PROFILE, text),))
    return _excess(hardware)


def _excess(hardware: Hardware) -> Composition | None:
    """Return the arithmetic of a node that advertises more than its GPUs can hold."""
    if hardware.strategy is not Strategy.MIXED:
        return None
    whole, counts = hardware.offered[GPU], profile_counts(hardware, hardware.offered)
    needed = whole + fewest_boards(hardware.model, counts)
    if needed <= hardware.num_gpus:
        return None
    if not counts:
        text = (
            f"it advertises {whole} whole GPUs and its label counts {hardware.num_gpus}"
            f" of {hardware.model.key}: the label does not describe every GPU"
        )
        return Composition((), (hardware.hold(Reason.MIXED_MODELS, text),))
    text = (
        f"advertised resources exceed hardware: {whole} whole GPUs and {counts} need at"
        f" least {needed} GPUs, its label counts {hardware.num_gpus}; restarting kubelet"
        " and the device plugin clears what is left over, a new layout does not"
    )
    hold = hardware.hold(Reason.EXCEEDS_HARDWARE, text)
    return Composition((), (hold,), is_countable=False)


def fewest_boards(model: GpuModel, counts: Counts) -> int:
    """Return a number of GPUs below which these instances cannot exist."""
    compute, memory, most = 0, 0, 0
    for name, number in counts.items():
        profile = model.profile(name)
        if profile is not None:
            compute += number * profile.compute_slices
            memory += number * profile.memory_slices
            most = max(most, -(-number // profile.max_instances))
    return max(-(-compute // model.compute_slices), -(-memory // model.memory_slices), most)


def profile_counts(hardware: Hardware, amounts: Counts) -> Counts:
    """Return instances by profile; whole GPUs and what is not known are left out."""
    found: dict[str, int] = {}
    for resource, number in amounts.items():
        name = parse_resource(hardware.model, resource) if resource != GPU else None
        if name is not None:
            found[name] = found.get(name, 0) + number
    return Counts(found)


def _adds_up(hardware: Hardware, layout: LayoutOfNode, amounts: Counts) -> bool:
    expected = supply_of(layout, hardware.strategy)
    return amounts in (expected, folded(hardware.model, expected))


def _matched(
    hardware: Hardware,
    matching: Sequence[LayoutOfNode],
    promised: Sequence[LayoutOfNode],
    inventory: Inventory | None,
    amounts: Counts,
) -> Composition:
    layout = matching[0]
    confirms = any(layout in promised for layout in matching)
    unhealthy = _unhealthy(hardware, amounts)
    if inventory is not None and layout == inventory.layout:
        gpus = tuple(
            replace(gpu, geometry=seen.geometry if seen.mig_enabled else None)
            for gpu, seen in zip(gpus_of(layout), inventory.gpus, strict=True)
        )
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
