"""Label selectors and node selector terms."""

from collections.abc import Mapping
from sys import intern

from autoscaler.adapters.kubernetes.reading import (
    mapping_at,
    sequence_at,
    strings_at,
    text_at,
    texts_at,
)
from autoscaler.domain.cluster.objects import Expression, LabelSelector, SelectorTerm

OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
# What no label has: the selector that is null selects nothing, the empty one all.
NOTHING = LabelSelector((Expression("", "In", ()),))


def label_selector_from(
    raw: Mapping[str, object], key: str, faults: list[str], path: str
) -> LabelSelector:
    """Return the label selector under ``key``; one that cannot be read selects nothing."""
    if raw.get(key) is None:
        return NOTHING
    before = len(faults)
    found = mapping_at(raw, key, faults, path)
    path = f"{path}{key}."
    labels = texts_at(found, "matchLabels", faults, path)
    expressions = expressions_from(found, "matchExpressions", faults, path)
    if len(faults) > before:
        return NOTHING
    exact = tuple(Expression(name, "In", (value,)) for name, value in sorted(labels.items()))
    return LabelSelector(exact + expressions)


def terms_from(affinity: Mapping[str, object], faults: list[str]) -> tuple[SelectorTerm, ...]:
    """Return the required node selector terms of ``spec.affinity``."""
    path = "spec.affinity.nodeAffinity."
    node_affinity = mapping_at(affinity, "nodeAffinity", faults, "spec.affinity.")
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    if node_affinity.get(required) is None:
        return ()
    selector = mapping_at(node_affinity, required, faults, path)
    terms = sequence_at(selector, "nodeSelectorTerms", faults, f"{path}{required}.")
    if not terms:
        # No term would let it run anywhere, and reads like having none of this.
        faults.append(f"{path}{required}.nodeSelectorTerms: at least one is needed")
    return tuple(
        SelectorTerm(
            expressions_from(term, "matchExpressions", faults, path),
            expressions_from(term, "matchFields", faults, path),
        )
        for term in terms
    )


def expressions_from(
    raw: Mapping[str, object], key: str, faults: list[str], path: str
) -> tuple[Expression, ...]:
    """Return the requirements of a list."""
    expressions = []
    for item in sequence_at(raw, key, faults, path):
        operator = text_at(item, "operator")
        if operator not in OPERATORS:
            faults.append(f"{path}{key}: no such operator: {operator!r}")
        values = tuple(map(intern, strings_at(item, "values", faults, f"{path}{key}.")))
        expressions.append(Expression(intern(text_at(item, "key")), intern(operator), values))
    return tuple(expressions)
