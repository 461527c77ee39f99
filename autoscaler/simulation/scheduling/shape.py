"""A pod as the scheduler sees it, so that pods alike are judged once."""

import json
from dataclasses import dataclass, field

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.selectors import Matcher, selector_matcher
from autoscaler.simulation.controllers.pods import (
    Needs,
    labels_of,
    namespace_of,
    needs_of,
    priority_of,
)

HOST_NAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class AntiAffinity:
    """One required term on the host name: no pod that it selects on the same node."""

    namespaces: frozenset[str]
    selects: Matcher = field(compare=False)


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything that decides where a pod may go.

    Parameters
    ----------
    key
        Equal for pods that the scheduler cannot tell apart.
    terms
        Required node affinity as the API has it; one of them must match.
    tolerations
        As the API has them.
    may_preempt
        Whether it may have pods of lower priority removed.
    """

    key: str
    namespace: str
    labels: dict[str, str]
    needs: Needs
    priority: int
    node_selector: dict[str, str]
    terms: tuple[RawObject, ...]
    tolerations: tuple[RawObject, ...]
    anti_affinity: tuple[AntiAffinity, ...]
    may_preempt: bool


def shape_of(pod: RawObject) -> Shape:
    """Return the shape of a pod."""
    spec = pod["spec"]
    needs = needs_of(pod)
    affinity = spec.get("affinity") or {}
    tolerations = spec.get("tolerations") or []
    # Labels matter to the anti-affinity of others, which few pods have; to keep them out
    # of the key is what makes pods of different jobs alike.
    relevant = [
        needs.cpu_milli,
        needs.memory_bytes,
        needs.devices,
        priority_of(pod),
        spec.get("preemptionPolicy"),
        spec.get("nodeSelector"),
        affinity,
        tolerations,
        namespace_of(pod) if affinity.get("podAntiAffinity") else "",
        labels_of(pod) if affinity.get("podAntiAffinity") else {},
    ]
    return Shape(
        key=json.dumps(relevant, sort_keys=True),
        namespace=namespace_of(pod),
        labels=labels_of(pod),
        needs=needs,
        priority=priority_of(pod),
        node_selector=spec.get("nodeSelector") or {},
        terms=_terms(affinity),
        tolerations=tuple(tolerations),
        anti_affinity=_anti_affinity(affinity, namespace_of(pod)),
        may_preempt=spec.get("preemptionPolicy") != "Never",
    )


def _terms(affinity: RawObject) -> tuple[RawObject, ...]:
    required = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    return tuple(required.get("nodeSelectorTerms") or ())


def _anti_affinity(affinity: RawObject, namespace: str) -> tuple[AntiAffinity, ...]:
    terms = (affinity.get("podAntiAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or []
    return tuple(
        AntiAffinity(
            frozenset(term.get("namespaces") or {namespace}),
            selector_matcher(term.get("labelSelector")),
        )
        for term in terms
        if term.get("topologyKey") == HOST_NAME
    )
