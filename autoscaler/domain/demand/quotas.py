"""Quotas: pending pods beyond what their namespace may use.

A quota is enforced when pods are made, and what it counts as used includes pending
ones. So a pod is beyond it only where it was lowered, or the pods of the namespace ask
for more than it allows: then the oldest are within, the youngest beyond.
"""

from collections.abc import Iterable

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.objects import Pod, PodRef, Quota
from autoscaler.domain.counts import sum_of


def pods_over_quota(pods: Iterable[Pod], quotas: Iterable[Quota]) -> dict[PodRef, str]:
    """Return pending pods that a quota does not cover, with a sentence for each.

    Parameters
    ----------
    pods
        All pods; those that have ended use nothing.
    quotas
        What a quota does not name is not limited by it.
    """
    limited = tuple(sorted(quotas, key=lambda q: (q.namespace, q.name)))
    if not limited:
        return {}
    namespaces = {quota.namespace for quota in limited}
    by_namespace: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.namespace in namespaces and not pod.is_finished:
            by_namespace.setdefault(pod.namespace, []).append(pod)
    found: dict[PodRef, str] = {}
    for quota in limited:
        for ref, text in _beyond(by_namespace.get(quota.namespace, []), quota):
            found.setdefault(ref, text)
    return found


def _beyond(pods: list[Pod], quota: Quota) -> Iterable[tuple[PodRef, str]]:
    used = sum_of(effective_request(pod) for pod in pods if pod.node is not None)
    waiting = (pod for pod in pods if pod.node is None)
    for pod in sorted(waiting, key=lambda p: (p.created_s, p.ref)):
        request = effective_request(pod)
        total = used.plus(request)
        broken = [n for n in request if _limits(quota, n) and total[n] > quota.hard[n]]
        if broken:
            name = broken[0]
            yield (
                pod.ref,
                f"quota {quota.name} of namespace {quota.namespace} allows"
                f" {quota.hard[name]} {name}, {used[name]} are taken and it asks"
                f" for {request[name]}",
            )
        else:
            used = total


def _limits(quota: Quota, resource: str) -> bool:
    return resource in quota.hard or resource in quota.forbidden
