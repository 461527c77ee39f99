"""Selectors: whether labels satisfy requirements, as the API server and scheduler say.

One evaluator for node affinity and label selectors; it knows nothing of nodes or pods.
"""

from collections.abc import Iterable, Mapping

from autoscaler.domain.cluster.objects import Expression, LabelSelector, SelectorTerm

NAME_FIELD = "metadata.name"


def is_met(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Say whether labels meet one requirement.

    Parameters
    ----------
    expression
        An operator that is not known is never met: a guess could send a pod astray.
    labels
        Labels, or fields, of an object.

    References
    ----------
    Kubernetes API, NodeSelectorRequirement: ``NotIn`` also holds where the key is
    absent; ``Gt`` and ``Lt`` compare whole numbers.
    """
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value is not None and value in expression.values
        case "NotIn":
            return value is None or value not in expression.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(expression, value)
    return False


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Say whether a label selector selects labels; an empty one selects all."""
    return all(is_met(expression, labels) for expression in selector.expressions)


def term_matches(term: SelectorTerm, labels: Mapping[str, str], name: str) -> bool:
    """Say whether a node meets one term of a required node affinity.

    Parameters
    ----------
    term
        A term without requirements matches no node.
    labels, name
        Of the node.
    """
    if not term.labels and not term.fields:
        return False
    fields = {NAME_FIELD: name}
    return all(is_met(e, labels) for e in term.labels) and all(
        is_met(e, fields) for e in term.fields
    )


def any_term_matches(
    terms: Iterable[SelectorTerm], labels: Mapping[str, str], name: str
) -> bool:
    """Say whether a node meets at least one term."""
    return any(term_matches(term, labels, name) for term in terms)


def _compares(expression: Expression, value: str | None) -> bool:
    if value is None or len(expression.values) != 1:
        return False
    try:
        left, right = int(value), int(expression.values[0])
    except ValueError:
        return False
    return left > right if expression.operator == "Gt" else left < right
