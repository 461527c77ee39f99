"""Holders: pods that hold instances of one GPU, and how each of them may leave it.

Only where it is proven who sits where: a guess would evict the wrong pod. Pods whose
devices are on several GPUs are left out, because emptying one of these frees nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.objects import Observation, Pod, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.eligibility import needs_of
from autoscaler.domain.demand.gangs import gang_of
from autoscaler.domain.demand.possibility import Possibilities
from autoscaler.domain.fleet.evictions import budgets_of, lost_work_s, refusal
from autoscaler.domain.fleet.seating import table_of
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu, Snapshot
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.domain.reasons import PodNote, Reason


@dataclass(frozen=True, slots=True)
class Holder:
    """A pod whose devices are all on one GPU.

    Parameters
    ----------
    pod
        The pod.
    node, gpu
        Name of the node and index of the GPU.
    held
        What it holds, by profile.
    bundle
        The same by resource name.
    places
        Where its instances are; ``None`` when only the GPU is known.
    refusal
        Why it may not be evicted; ``None`` when it may be tried.
    gone_in_s
        Seconds in which it is gone at the latest, whatever we do; ``None`` for never.
    ends
        Whether it ends by itself some time.
    is_going
        Whether it has been told to go already.
    lost_work_s
        Seconds of work that an eviction destroys.
    grace_s
        Seconds it may take to end after an eviction.
    weight
        Priority weight of what it asks for.
    eligible
        Names of the nodes that may take it after an eviction.
    budgets
        Disruption budgets that select it, ``namespace/name``.
    """

    pod: PodRef
    node: str
    gpu: int
    held: Counts
    bundle: Counts
    places: Geometry | None = None
    refusal: PodNote | None = None
    gone_in_s: float | None = None
    ends: bool = False
    is_going: bool = False
    lost_work_s: float = 0.0
    grace_s: float = 30.0
    weight: float = 1.0
    eligible: frozenset[str] = frozenset()
    budgets: tuple[str, ...] = ()

    @property
    def may_be_evicted(self) -> bool:
        """Whether an eviction may be planned."""
        return self.refusal is None and not self.is_going


def holders_of(
    snapshot: Snapshot,
    observation: Observation,
    policy: Policy,
    possibilities: Possibilities,
    now_s: float,
) -> tuple[Holder, ...]:
    """Return who holds what, of nodes that may be changed.

    Parameters
    ----------
    snapshot
        The fleet, assessed with metrics.
    observation, policy
        As for the snapshot.
    possibilities
        Knows which nodes may take a pod.
    now_s
        Epoch seconds.

    Returns
    -------
    tuple
        In order of nodes, GPUs and pods; all pods of a GPU, or none.
    """
    found: list[Holder] = []
    for node in snapshot.nodes:
        if node.is_changeable and node.journal is None and node.holders:
            crowd = _Crowd(node, observation, policy, possibilities, now_s)
            found += crowd.holders()
    return tuple(found)


def told_by_agents(snapshot: Snapshot) -> Snapshot:
    """Return the nodes of which it is known without metrics who sits where."""
    nodes = tuple(node for node in snapshot.nodes if node.driver is Driver.AGENT)
    return replace(snapshot, nodes=nodes)


def kept(holder: Holder) -> Holder:
    """Return a holder who may not be evicted, for want of metrics at least."""
    message = "without metrics nobody is evicted"
    note = holder.refusal or PodNote(holder.pod, Reason.METRICS_MISSING, message)
    return replace(holder, refusal=note)


def room_of(observation: Observation, holders: Iterable[Holder]) -> dict[str, int]:
    """Return how many evictions each disruption budget allows now, by its name."""
    asked = {name for holder in holders for name in holder.budgets}
    room = {f"{b.namespace}/{b.name}": b.disruptions_allowed for b in observation.budgets}
    return {name: room.get(name, 0) for name in sorted(asked)}


class _Crowd:
    """The pods on one node."""

    def __init__(
        self,
        node: FleetNode,
        observation: Observation,
        policy: Policy,
        possibilities: Possibilities,
        now_s: float,
    ) -> None:
        self._node = node
        self._observation = observation
        self._policy = policy
        self._possibilities = possibilities
        self._now_s = now_s

    def holders(self) -> Iterator[Holder]:
        """Yield the holders of each GPU of which all holders are known."""
        node = self._node
        table = table_of(node)
        if table is None:
            return
        pods = {pod.ref: pod for pod in node.holders}
        times: dict[PodRef, int] = {}
        for gpu in node.gpus:
            for ref in gpu.holders:
                times[ref] = times.get(ref, 0) + 1
        for gpu in node.gpus:
            known = [pods[ref] for ref in sorted(gpu.holders) if ref in pods]
            needs = {pod.ref: table.needs(pod) for pod in known}
            if not _is_explained(gpu, known, needs, times) or table.is_folded:
                continue
            for pod in known:
                yield self._holder(gpu, pod, needs[pod.ref] or Counts())

    def _holder(self, gpu: Gpu, pod: Pod, held: Counts) -> Holder:
        budgets = self._observation.budgets
        note = self._refusal(pod)
        request = effective_request(pod)
        eligible: frozenset[str] = frozenset()
        if note is None:
            eligible = self._possibilities.judge(request, needs_of(pod)).eligible
        mine = tuple(instance for instance, ref in gpu.seats if ref == pod.ref)
        return Holder(
            pod=pod.ref,
            node=self._node.name,
            gpu=gpu.index,
            held=held,
            bundle=request,
            places=Geometry(mine) if mine else None,
            refusal=note,
            gone_in_s=gone_in_s(pod, self._now_s),
            ends=not pod.restarts,
            is_going=pod.deletion_s is not None,
            lost_work_s=lost_work_s(pod, self._now_s),
            grace_s=pod.grace_s,
            weight=self._policy.priorities.get(pod.priority_class, 1.0),
            eligible=eligible,
            budgets=tuple(f"{b.namespace}/{b.name}" for b in budgets_of(pod, budgets)),
        )

    def _refusal(self, pod: Pod) -> PodNote | None:
        if gang_of(pod):
            text = f"it is part of gang {gang_of(pod)}, which stops as a whole without it"
            return PodNote(pod.ref, Reason.GANG_MEMBER, text)
        rules = self._policy.disruption.eviction
        return refusal(pod, rules, self._observation.budgets, self._now_s)


def gone_in_s(pod: Pod, now_s: float) -> float | None:
    """Return the seconds in which a pod is gone whatever we do, ``None`` for never.

    A pod that was told to go ends with its grace period; kubelet ends one that has run
    for as long as it may.
    """
    if pod.deletion_s is not None:
        return max(0.0, pod.deletion_s - now_s)
    if pod.active_deadline_s is None or pod.started_s is None:
        return None
    return max(0.0, pod.started_s + pod.active_deadline_s - now_s) + pod.grace_s


def _is_explained(
    gpu: Gpu,
    pods: Iterable[Pod],
    needs: Mapping[PodRef, Counts | None],
    times: Mapping[PodRef, int],
) -> bool:
    """Say whether these pods are all that holds a GPU, and hold nothing else."""
    if not gpu.mig_enabled or not gpu.held or not gpu.proven:
        return False
    held = Counts()
    for pod in pods:
        own = needs[pod.ref]
        if own is None or times[pod.ref] != 1:
            return False
        held = held.plus(own)
    return held == gpu.held
