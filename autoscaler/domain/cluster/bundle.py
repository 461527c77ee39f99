"""Bundle: what one pod needs on its node, all at once.

The amounts are those the scheduler reserves, which is not the sum of all containers:
init containers run one after another, sidecars run beside everything after them.
"""

from collections.abc import Iterable

from autoscaler.domain.cluster.objects import Container, Pod
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.resource import PREFIX, is_gpu_resource

CPU = "cpu"
MEMORY = "memory"


def effective_request(pod: Pod) -> Counts:
    """Return the GPU resources a pod needs on its node, by resource name.

    Parameters
    ----------
    pod
        Its containers in the order in which they start, init containers first.

    References
    ----------
    Kubernetes, "Sidecar containers", resource sharing within containers: the larger of
    the sum of all that run together and of each init container with the sidecars
    started before it.
    """
    asking = [container for container in pod.containers if container.requests]
    if not asking:
        return Counts()
    if len(asking) == 1:
        peak = asking[0].requests
    else:
        peak = _peak(tuple((c, c.requests) for c in asking))
    if all(is_gpu_resource(name) for name in peak):
        return peak
    return Counts({name: number for name, number in peak.items() if is_gpu_resource(name)})


def several_instances(pod: Pod) -> str:
    """Return a warning when one container asks for several GPU instances, empty else.

    The scheduler takes such a request, and CUDA shows a process one instance only.

    References
    ----------
    NVIDIA, "Multi-Instance GPU User Guide", CUDA device enumeration: at most one
    instance a process.
    """
    for container in pod.containers:
        asked = Counts({n: k for n, k in container.requests.items() if n.startswith(PREFIX)})
        if asked.total() > 1:
            return f"container {container.name} asks for {asked}; a CUDA process uses one"
    return ""


def effective_compute(pod: Pod) -> tuple[int, int]:
    """Return the CPU (thousandths) and memory (bytes) a pod needs on its node."""
    if len(pod.containers) == 1:
        only = pod.containers[0]
        return only.cpu_milli, only.memory_bytes
    peak = _peak(
        tuple((c, Counts({CPU: c.cpu_milli, MEMORY: c.memory_bytes})) for c in pod.containers)
    )
    return peak[CPU], peak[MEMORY]


def compute_of_others(pods: Iterable[Pod]) -> dict[str, tuple[int, int]]:
    """Return the CPU (thousandths) and memory (bytes) that pods without GPUs take.

    By node name. Pods with GPUs come and go with what is cut for them, so what they take
    is no lasting lack; those that are on their way out take nothing for long.
    """
    found: dict[str, tuple[int, int]] = {}
    for pod in pods:
        if pod.node is None or pod.is_finished or pod.deletion_s is not None:
            continue
        if not effective_request(pod):
            own, before = effective_compute(pod), found.get(pod.node, (0, 0))
            found[pod.node] = before[0] + own[0], before[1] + own[1]
    return found


def _peak(asked: tuple[tuple[Container, Counts], ...]) -> Counts:
    running, started, peak = Counts(), Counts(), Counts()
    for container, amounts in asked:
        if container.sidecar:
            started = started.plus(amounts)
        elif container.init:
            peak = _larger(peak, started.plus(amounts))
        else:
            running = running.plus(amounts)
    return _larger(peak, running.plus(started))


def _larger(left: Counts, right: Counts) -> Counts:
    if not left:
        return right
    return Counts({name: max(left[name], right[name]) for name in {*left, *right}})
