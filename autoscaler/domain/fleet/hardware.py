"""Hardware: a node's boards, and what they cannot possibly hold.

Words of a node that contradict its own boards are told with their arithmetic. Nothing
is repaired and nothing guessed: which of the words is wrong is not known.
"""

from dataclasses import dataclass, field

from autoscaler.domain.cluster.inventory import Inventory
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.profile import GpuModel, models_for_product
from autoscaler.domain.mig.resource import (
    GPU,
    PREFIX,
    is_gpu_resource,
    is_shared,
    parse_resource,
)
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.reasons import Hold, Reason


@dataclass(frozen=True, slots=True)
class Hardware:
    """A node with its GPU model, number of GPUs and strategy known.

    Parameters
    ----------
    obeys_label
        Whether MIG manager makes of the node what its label names.

    Attributes
    ----------
    offered
        Devices that pods may get, by resource name; shares are no devices.
    existing
        Devices that are there, healthy or not.
    """

    node: Node
    model: GpuModel
    num_gpus: int
    strategy: Strategy
    obeys_label: bool = True
    offered: Counts = field(init=False)
    existing: Counts = field(init=False)

    def __post_init__(self) -> None:
        capacity, offered = devices(self.node.capacity), devices(self.node.allocatable)
        most = {n: max(capacity[n], offered[n]) for n in {*capacity, *offered}}
        object.__setattr__(self, "offered", offered)
        object.__setattr__(self, "existing", Counts(most))

    def hold(self, reason: Reason, text: str) -> Hold:
        """Return a hold of this node."""
        return Hold(reason, f"node {self.node.name}: {text}", self.node.name)


def devices(amounts: Counts) -> Counts:
    """Return the GPU resources that count devices, not shares of them."""
    return Counts({n: k for n, k in amounts.items() if is_gpu_resource(n) and not is_shared(n)})


def contradiction(hardware: Hardware, inventory: Inventory | None) -> Hold | None:
    """Return what makes a node's own words impossible, if anything does.

    Parameters
    ----------
    inventory
        The agent's report, if there is one.

    Returns
    -------
    Hold or None
        With reason ExceedsHardware nothing that the node advertises can be counted on.
    """
    if inventory is not None:
        found = _report_contradiction(hardware, inventory)
        if found is not None:
            return found
    model = hardware.model
    for name in hardware.offered:
        if name.startswith(PREFIX) and parse_resource(model, name) is None:
            known = ", ".join(profile.name for profile in model.profiles)
            text = f"it advertises {name}, which is no profile of {model.key} ({known})"
            return hardware.hold(Reason.UNKNOWN_PROFILE, text)
    return _excess(hardware)


def _report_contradiction(hardware: Hardware, inventory: Inventory) -> Hold | None:
    model = hardware.model
    for product in inventory.products:
        if model not in models_for_product(product):
            text = f"its inventory shows {product} beside {model.key}: not all GPUs are alike"
            return hardware.hold(Reason.MIXED_MODELS, text)
    if len(inventory.gpus) != hardware.num_gpus:
        text = (
            f"its inventory has {len(inventory.gpus)} GPUs, its label counts"
            f" {hardware.num_gpus} of {model.key}: the label does not describe every GPU"
        )
        return hardware.hold(Reason.MIXED_MODELS, text)
    for counts in inventory.layout:
        for name in counts or ():
            if model.profile(name) is None:
                text = f"its inventory shows {name}, which is no profile of {model.key}"
                return hardware.hold(Reason.UNKNOWN_PROFILE, text)
    return None


def _excess(hardware: Hardware) -> Hold | None:
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
        return hardware.hold(Reason.MIXED_MODELS, text)
    text = (
        f"advertised resources exceed hardware: {whole} whole GPUs and {counts} need at"
        f" least {needed} GPUs, its label counts {hardware.num_gpus}; restarting kubelet"
        " and the device plugin clears what is left over, a new layout does not"
    )
    return hardware.hold(Reason.EXCEEDS_HARDWARE, text)


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
