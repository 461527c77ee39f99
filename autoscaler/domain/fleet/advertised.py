"""Whether a node advertises what it should.

The state label of MIG manager is stale or wrong at times, so a change is believed
only when kubelet offers its resources.
"""

from autoscaler.domain.cluster.marks import DEPLOY_PREFIX, MIG_CONFIG_STATE, PAUSED_FOR_CHANGE
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.resource import folded, is_gpu_resource

BUSY_STATES = frozenset({"pending", "rebooting"})


def advertised(amounts: Counts) -> Counts:
    """Return the GPU resources among extended resources; zero and absent are alike."""
    return Counts({name: n for name, n in amounts.items() if is_gpu_resource(name)})


def paused_labels(node: Node) -> tuple[str, ...]:
    """Return the deploy labels that read paused, sorted."""
    return tuple(
        sorted(
            name
            for name, value in node.labels.items()
            if name.startswith(DEPLOY_PREFIX) and value == PAUSED_FOR_CHANGE
        )
    )


def manager_state(node: Node) -> str:
    """Return what MIG manager last said of itself, empty when nothing."""
    return node.labels.get(MIG_CONFIG_STATE, "")


def is_manager_busy(node: Node) -> bool:
    """Say whether MIG manager is in the middle of a run, by its labels."""
    return manager_state(node) in BUSY_STATES or bool(paused_labels(node))


def advertises(node: Node, expected: Counts) -> bool:
    """Say whether the node offers exactly these resources, and can be believed.

    A device that turned unhealthy counts as there: the capacity must be exact, and
    some of each resource be allocatable. While the device plugin is away all of them
    are unhealthy, so a resource without any allocatable device is never taken as
    fulfilled. A node that is not ready shows what it had before; one with paused
    operands is not finished.

    Parameters
    ----------
    expected
        Amounts by resource name.
    """
    if node.ready is not True or paused_labels(node):
        return False
    wanted, offered = folded(expected), folded(advertised(node.allocatable))
    if offered == wanted:
        return True
    healthy = all(offered[name] > 0 for name in wanted)
    return bool(wanted) and healthy and folded(advertised(node.capacity)) == wanted


def is_sane(node: Node) -> bool:
    """Say whether the node offers any GPU resource at all, and kubelet is there."""
    return node.ready is True and advertised(node.allocatable).total() > 0
