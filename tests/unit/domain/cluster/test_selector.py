"""Selectors hold as the API server and the scheduler say."""

import pytest

from autoscaler.domain.cluster.objects import Expression, LabelSelector, SelectorTerm
from autoscaler.domain.cluster.selector import any_term_matches, is_met, selects, term_matches

LABELS = {"zone": "a", "size": "8"}


@pytest.mark.parametrize(
    ("key", "operator", "values", "holds"),
    [
        ("zone", "In", ("a", "b"), True),
        ("zone", "In", ("b",), False),
        ("absent", "In", ("a",), False),
        ("zone", "NotIn", ("b",), True),
        ("zone", "NotIn", ("a",), False),
        ("absent", "NotIn", ("a",), True),
        ("zone", "Exists", (), True),
        ("absent", "Exists", (), False),
        ("zone", "DoesNotExist", (), False),
        ("absent", "DoesNotExist", (), True),
        ("size", "Gt", ("7",), True),
        ("size", "Gt", ("8",), False),
        ("size", "Lt", ("9",), True),
        ("size", "Lt", ("8",), False),
        ("zone", "Gt", ("1",), False),
        ("absent", "Lt", ("1",), False),
        ("size", "Gt", ("many",), False),
        ("size", "Gt", (), False),
        ("size", "Is", ("8",), False),
    ],
)
def test_each_operator_holds_as_documented(key, operator, values, holds):
    """Absent keys are met by NotIn and DoesNotExist only; numbers are compared whole."""
    assert is_met(Expression(key, operator, values), LABELS) is holds


def test_all_expressions_of_a_selector_must_hold():
    """An empty selector selects everything."""
    zone, size = Expression("zone", "In", ("a",)), Expression("size", "Gt", ("9",))
    assert selects(LabelSelector(), LABELS)
    assert selects(LabelSelector((zone,)), LABELS)
    assert not selects(LabelSelector((zone, size)), LABELS)


def test_a_term_joins_labels_and_fields_and_an_empty_one_matches_nothing():
    """Fields are of the node's own name."""
    zone = Expression("zone", "In", ("a",))
    name = Expression("metadata.name", "In", ("node-a",))
    assert term_matches(SelectorTerm((zone,), (name,)), LABELS, "node-a")
    assert not term_matches(SelectorTerm((zone,), (name,)), LABELS, "node-b")
    assert not term_matches(SelectorTerm(), LABELS, "node-a")


def test_one_matching_term_is_enough():
    """Terms are alternatives."""
    terms = (SelectorTerm((Expression("zone", "In", ("b",)),)),)
    other = SelectorTerm((Expression("size", "Exists"),))
    assert not any_term_matches(terms, LABELS, "node-a")
    assert any_term_matches((*terms, other), LABELS, "node-a")
