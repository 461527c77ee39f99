"""Requests: from pending pods to demand.

Each pod that counts becomes part of a group of pods that are alike for the planner:
the same bundle, the same nodes, the same weight.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autoscaler.domain.cluster.bundle import compute_of_others, effective_request
from autoscaler.domain.cluster.objects import MetricsView, Observation, Pod, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.demand.eligibility import needs_of
from autoscaler.domain.demand.exclusion import Rules, concerns_gpus, exclude
from autoscaler.domain.demand.fitting import fitting_pods
from autoscaler.domain.demand.gangs import Gangs, complete_gangs, gang_of
from autoscaler.domain.demand.holder import holders_of, kept, room_of, told_by_agents
from autoscaler.domain.demand.possibility import Possibilities
from autoscaler.domain.demand.quotas import pods_over_quota
from autoscaler.domain.fleet.nomination import nominations_of
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.reasons import PodNote, Reason

__all__ = ["demand_of", "effective_request"]

Kind = tuple[str, tuple[tuple[str, str], ...]]

# Labels that tell pods of one kind apart.
OWN_LABELS = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "controller-revision-hash",
        "pod-template-hash",
        "statefulset.kubernetes.io/pod-name",
    }
)


@dataclass(frozen=True, slots=True)
class _Key:
    """What makes pods interchangeable."""

    bundle: Counts
    eligible: frozenset[str]
    weight: float
    gang: str
    apart: Kind | None
    unit: str


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A pod that counts, and the nodes that could serve it."""

    pod: Pod
    eligible: frozenset[str]
    unit: str = ""


def demand_of(
    snapshot: Snapshot,
    observation: Observation,
    policy: Policy,
    metrics: MetricsView | None,
    now_s: float,
) -> Demand:
    """Return what pods ask for that do not run yet.

    Parameters
    ----------
    snapshot
        The fleet, assessed from the same observation.
    observation, policy
        As for the snapshot.
    metrics
        Adds work that has no pod yet; pods themselves are taken from the API server.
        Without metrics, or with a part of them, nobody is counted on to leave a GPU.
    now_s
        Epoch seconds.

    Returns
    -------
    Demand
        Groups with the oldest pods first. Every other pod that asks for GPUs is there
        with the reason why it is not demand, or cannot be served at all.
    """
    pods = tuple(pod for pod in observation.pods if concerns_gpus(pod))
    rules = _rules(snapshot, observation, policy, pods=pods, now_s=now_s)
    notes = {pod.ref: exclude(pod, rules) for pod in pods}
    waiting = [pod for pod in pods if notes[pod.ref] is None]
    excluded = [note for note in notes.values() if note is not None]
    # People should see what cannot be read, as they see what cannot be served.
    unreadable = [note for note in excluded if note.reason is Reason.UNREADABLE]
    ignored = [note for note in excluded if note.reason is not Reason.UNREADABLE]
    taken = compute_of_others(observation.pods)
    possibilities = Possibilities(snapshot, policy.pools, taken)
    counted, impossible = _possible(waiting, possibilities, _occupied(observation.pods))
    gangs = complete_gangs(observation, (w.pod for w in counted))
    hopeless = {note.pod for note in gangs.incomplete}
    counted = [w for w in counted if w.pod.ref not in hopeless]
    groups = _groups(counted, gangs, policy.priorities)
    everyone = (*snapshot.nodes, *snapshot.outsiders)
    has_metrics = metrics is not None and not metrics.partial
    known = snapshot if has_metrics else told_by_agents(snapshot)
    holders = holders_of(known, observation, policy, possibilities, now_s)
    if not has_metrics:
        holders = tuple(map(kept, holders))
    return Demand(
        groups=groups,
        running=_running(snapshot),
        queued=(metrics.queued if metrics is not None else None) or Counts(),
        ignored=tuple(sorted((*ignored, *gangs.incomplete))),
        impossible=tuple(sorted((*impossible, *unreadable))),
        fits_today=fitting_pods(groups, everyone, _ages(counted)),
        holders=holders,
        room=room_of(observation, holders),
    )


def _rules(
    snapshot: Snapshot,
    observation: Observation,
    policy: Policy,
    *,
    pods: tuple[Pod, ...],
    now_s: float,
) -> Rules:
    bound: dict[str, list[Pod]] = {}
    for node in (*snapshot.nodes, *snapshot.outsiders):
        bound[node.name] = list(node.holders)
    nodes = {n.name: n.node for n in (*snapshot.nodes, *snapshot.outsiders)}
    return Rules(
        operator_namespace=policy.mig_manager.namespace,
        min_age_s=policy.demand.pending.min_age_s,
        now_s=now_s,
        nominated=nominations_of(nodes, pods, bound, now_s).pods(),
        over_quota=pods_over_quota(pods, observation.quotas),
    )


def _possible(
    pods: Iterable[Pod], possibilities: Possibilities, occupied: Mapping[Kind, frozenset[str]]
) -> tuple[list[_Waiting], list[PodNote]]:
    counted, impossible = [], []
    for pod in pods:
        verdict = possibilities.judge(effective_request(pod), needs_of(pod))
        taken = (
            occupied.get(kind_of(pod), frozenset()) if pod.anti_affinity_self else frozenset()
        )
        # A set keeps its hash, so the same object is handed on wherever it can be.
        eligible = verdict.eligible - taken if taken else verdict.eligible
        if eligible:
            counted.append(_Waiting(pod, eligible, verdict.unit))
            continue
        message = verdict.message or "every node it may run on has a pod of its kind already"
        impossible.append(PodNote(pod.ref, verdict.reason, message))
    return counted, impossible


def _groups(
    waiting: Sequence[_Waiting], gangs: Gangs, priorities: Mapping[str, float]
) -> tuple[DemandGroup, ...]:
    found: dict[_Key, list[PodRef]] = {}
    created_s = {one.pod.ref: one.pod.created_s for one in waiting}
    for one in sorted(waiting, key=lambda w: (w.pod.created_s, w.pod.ref)):
        pod = one.pod
        key = _Key(
            bundle=effective_request(pod),
            eligible=one.eligible,
            weight=priorities.get(pod.priority_class, 1.0),
            gang=gang_of(pod) if gang_of(pod) in gangs.needed else "",
            apart=kind_of(pod) if pod.anti_affinity_self else None,
            unit=one.unit,
        )
        found.setdefault(key, []).append(pod.ref)
    # Keys are met in order of their oldest pod, which no two groups share.
    return tuple(
        DemandGroup(
            bundle=key.bundle,
            eligible=key.eligible,
            weight=key.weight,
            pods=tuple(pods),
            gang=key.gang,
            gang_min=gangs.needed.get(key.gang, 0),
            one_per_node=key.apart is not None,
            unit=key.unit,
            created_s=tuple(created_s[pod] for pod in pods),
        )
        for key, pods in found.items()
    )


def _ages(waiting: Iterable[_Waiting]) -> dict[PodRef, float]:
    return {one.pod.ref: one.pod.created_s for one in waiting}


def kind_of(pod: Pod) -> Kind:
    """Return what makes pods that keep apart from their own kind the same kind."""
    labels = (item for item in pod.labels.items() if item[0] not in OWN_LABELS)
    return pod.namespace, tuple(sorted(labels))


def _occupied(pods: Iterable[Pod]) -> dict[Kind, frozenset[str]]:
    """Return the nodes that already have a pod of a kind that keeps apart."""
    found: dict[Kind, set[str]] = {}
    for pod in pods:
        if pod.anti_affinity_self and pod.node is not None and not pod.is_finished:
            found.setdefault(kind_of(pod), set()).add(pod.node)
    return {kind: frozenset(nodes) for kind, nodes in found.items()}


def _running(snapshot: Snapshot) -> dict[str, Counts]:
    """Return what bound pods hold, by pool."""
    total: dict[str, dict[str, int]] = {}
    for node in snapshot.nodes:
        held = total.setdefault(node.pool, {})
        for pod in node.holders:
            for name, number in effective_request(pod).items():
                held[name] = held.get(name, 0) + number
    return {pool: Counts(held) for pool, held in sorted(total.items())}
