"""What a rollout can tell from the node agent's inventory and answer.

The agent re-cuts around what is in use, so a pod must leave only when it sits on an
instance that is to be destroyed, and only the inventory says so. It is believed once the
agent has answered this rollout: then it was read after the node was closed.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.inventory import Inventory, inventory_of
from autoscaler.domain.cluster.objects import Node, Pod, PodRef
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.fleet.advertised import advertises, is_sane
from autoscaler.domain.journal.rollout import Journal, Layout
from autoscaler.domain.mig.geometry import GpuInstance
from autoscaler.domain.mig.resource import GPU, supply_of
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.rollout.agent_report import Phase, Report, Way, report_of
from autoscaler.domain.rollout.situation import Situation


@dataclass(frozen=True, slots=True)
class Sitting:
    """Pods on instances that are to be destroyed.

    Parameters
    ----------
    pods
        In name order; all device holders where it is not known who sits where.
    gap
        Why it is not known; empty when it is.
    """

    pods: tuple[Pod, ...]
    gap: str = ""


def answer_to(node: Node, journal: Journal, way: Way | None = None) -> Report | None:
    """Return the agent's answer to a rollout, if it has given one.

    Parameters
    ----------
    way
        Only an answer about this way counts; ``None`` takes any.
    """
    report = report_of(node)
    if report is None or report.rollout != journal.id:
        return None
    return report if way is None or report.way is way else None


def readable_inventory(node: Node) -> Inventory | None:
    """Return the report on a node's GPUs; one that cannot be read shows nothing."""
    try:
        return inventory_of(node)
    except ConfigError:
        return None


def shows(node: Node, layout: Layout, gpus: Iterable[int]) -> bool:
    """Say whether the inventory shows a layout's instances at their places.

    Parameters
    ----------
    gpus
        Indexes of the GPUs to compare.
    """
    inventory = readable_inventory(node)
    if inventory is None or len(inventory.gpus) != len(layout.places):
        return False
    return all(inventory.gpus[i].geometry == layout.places[i] for i in gpus)


def has_become(s: Situation, layout: Layout, way: Way) -> bool:
    """Say whether the node is what a rollout asked the agent for.

    Amounts can be the same before and after with the instances elsewhere, so the agent
    must have seen the device plugin start anew, and the inventory show the places.
    """
    answer = answer_to(s.node, s.journal, way)
    if answer is None or answer.phase is not Phase.DONE:
        return False
    return shows(s.node, layout, s.journal.gpus) and advertises(s.node, layout.resources)


def is_half_cut(node: Node) -> bool:
    """Say whether the agent has begun something whose end it has not seen."""
    report = report_of(node)
    return report is not None and not report.is_settled


def may_open(node: Node) -> bool:
    """Say whether pods may be sent to a node that we have closed.

    It must offer something, and nothing that is not there: where the agent died half
    way, the device plugin still offers instances that it has destroyed.
    """
    if not is_sane(node) or is_half_cut(node):
        return False
    inventory = readable_inventory(node)
    if inventory is None:
        return True
    strategies = (Strategy.MIXED, Strategy.SINGLE)
    return any(advertises(node, supply_of(inventory.layout, own)) for own in strategies)


def sitting(s: Situation) -> Sitting:
    """Return the pods on instances that the target of a rollout does not keep."""
    holders = s.users
    if not holders:
        return Sitting(())
    if answer_to(s.node, s.journal) is None:
        return Sitting(holders, "the node agent has not looked since the cordon")
    inventory = readable_inventory(s.node)
    if inventory is None or len(inventory.gpus) != len(s.journal.target.places):
        return Sitting(holders, "the inventory does not show the GPUs of the plan")
    seats = _seats(inventory)
    has_whole = any(not gpu.mig_enabled for gpu in inventory.gpus)
    for pod in holders:
        gap = _gap(pod, seats.get(pod.ref, ()), has_whole=has_whole)
        if gap:
            return Sitting(holders, gap)
    doomed = _doomed(s.journal, inventory)
    return Sitting(tuple(p for p in holders if doomed.intersection(seats.get(p.ref, ()))))


Seats = dict[PodRef, tuple[tuple[int, GpuInstance], ...]]


def _seats(inventory: Inventory) -> Seats:
    seats: Seats = {}
    for gpu in inventory.gpus:
        for pod, instance in gpu.holders:
            seats[pod] = (*seats.get(pod, ()), (gpu.index, instance))
    return seats


def _gap(pod: Pod, seats: tuple[tuple[int, GpuInstance], ...], *, has_whole: bool) -> str:
    """Return what is not known of a pod's instances, empty when all are.

    Parameters
    ----------
    has_whole
        Whether there are boards with MIG off. Pods hold these by the name that means an
        instance where all boards are cut, and no instance of them is ever destroyed.
    """
    request = effective_request(pod)
    if pod.faults or not request:
        return f"pod {pod.ref} uses GPUs without saying how many"
    number = request.total() - (request[GPU] if has_whole else 0)
    if len(seats) < number:
        return f"pod {pod.ref} holds {number} instances, the inventory shows {len(seats)}"
    return ""


def _doomed(journal: Journal, inventory: Inventory) -> set[tuple[int, GpuInstance]]:
    found: set[tuple[int, GpuInstance]] = set()
    for index in journal.gpus:
        place = journal.target.places[index]
        kept = () if place is None else place.instances
        present = inventory.gpus[index].geometry.instances
        found |= {(index, instance) for instance in present if instance not in kept}
    return found
