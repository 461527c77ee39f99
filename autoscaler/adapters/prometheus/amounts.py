"""Demand counts by resource name.

kube-state-metrics rewrites resource names and there is no way back, so the names that
are known are translated forward and compared.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from autoscaler.adapters.prometheus.samples import Sample
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.mig.resource import (
    GPU,
    is_shared,
    prometheus_name,
    resource_name,
    shared_name,
)

NAMED = 3


@cache
def table_resources() -> frozenset[str]:
    """Return every resource that an instance of a known GPU model can have."""
    own = {GPU} | {
        resource_name(profile.name) for model in load_models() for profile in model.profiles
    }
    return frozenset(own | {shared_name(name) for name in own})


def amounts_from(
    query: str, samples: Sequence[Sample], known: Iterable[str]
) -> tuple[Counts | None, tuple[str, ...]]:
    """Return amounts by resource name, and notices; ``None`` when they are not known.

    No sample at all is no data, not zero: the default query gives a 0 for what nodes
    offer, as long as kube-state-metrics answers.
    """
    if not samples:
        return None, (f"query {query}: the answer is empty, so nothing is known",)
    names = _names_by_label(known)
    amounts: dict[str, int] = {}
    unknown: set[str] = set()
    for sample in samples:
        label = sample.labels.get("resource", "")
        resource = names.get(label)
        if resource is None:
            unknown.add(label)
        elif sample.value < 0 or sample.value != int(sample.value):
            return None, (f"query {query}: {sample.value} of {label} is no whole number",)
        elif not is_shared(resource):
            # Replicas of one exporter say the same; a difference is a matter of time.
            amounts[resource] = max(amounts.get(resource, 0), int(sample.value))
    if unknown and not amounts:
        return None, _unknown_notice(query, unknown)
    return Counts(amounts), _unknown_notice(query, unknown)


def _names_by_label(known: Iterable[str]) -> Mapping[str, str]:
    """Return resources by each label that can mean only one of them."""
    seen = frozenset(known)
    by_label: defaultdict[str, set[str]] = defaultdict(set)
    for resource in seen | table_resources():
        by_label[prometheus_name(resource)].add(resource)
        by_label[resource].add(resource)
    found = {}
    for label, resources in by_label.items():
        # What the cluster has goes before what some GPU model could have.
        candidates = resources & seen if len(resources) > 1 else resources
        if len(candidates) == 1:
            found[label] = next(iter(candidates))
    return found


def _unknown_notice(query: str, unknown: set[str]) -> tuple[str, ...]:
    if not unknown:
        return ()
    shown = ", ".join(repr(label) for label in sorted(unknown)[:NAMED])
    more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
    return (f"query {query}: no known resource has the label {shown}{more}",)
