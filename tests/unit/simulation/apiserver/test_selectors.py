"""Selectors: what they match, and which texts are refused."""

import pytest

from autoscaler.ports import EVENTS, NODES, PODS
from autoscaler.simulation.apiserver.resources import Registry
from autoscaler.simulation.apiserver.selectors import (
    field_matcher,
    label_matcher,
    object_matcher,
    selector_matcher,
)
from autoscaler.simulation.apiserver.status import StatusError

LABELS = {"app": "train", "tier": "gpu", "slices": "3"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "app",
        "app=train",
        "app==train",
        "app = train , tier=gpu",
        "app in (serve, train)",
        "app notin (serve),tier",
        "app!=serve",
        "absent!=x",
        "absent notin (x)",
        "!absent",
        "slices>2,slices<4",
        "nvidia.com/x notin (a,b),app in (train)",
    ],
)
def test_matching_label_selectors(text: str) -> None:
    """An absent label is not equal to anything and in no set."""
    assert label_matcher(text)(LABELS)


@pytest.mark.parametrize(
    "text",
    ["absent", "!app", "app=serve", "app in (serve)", "app notin (train)", "slices>3", "app>1"],
)
def test_label_selectors_that_do_not_match(text: str) -> None:
    """All requirements must hold; an order needs numbers."""
    assert not label_matcher(text)(LABELS)


@pytest.mark.parametrize("text", ["app in (a", "a=b=c", "=a", "app in a", "x>y", "a,,b"])
def test_malformed_label_selectors_are_refused(text: str) -> None:
    """400, never "all"."""
    with pytest.raises(StatusError) as refused:
        label_matcher(text)
    assert refused.value.code == 400


def test_selectors_as_objects() -> None:
    """Labels and expressions must all hold; empty selects all, absent nothing."""
    expressions = [
        {"key": "tier", "operator": "In", "values": ["gpu"]},
        {"key": "x", "operator": "DoesNotExist"},
        {"key": "app", "operator": "NotIn", "values": ["serve"]},
        {"key": "slices", "operator": "Exists"},
    ]
    selector = {"matchLabels": {"app": "train"}, "matchExpressions": expressions}
    assert selector_matcher(selector)(LABELS)
    assert not selector_matcher(selector)({**LABELS, "x": ""})
    assert selector_matcher({})({})
    assert not selector_matcher(None)(LABELS)


def test_fields_compare_as_text() -> None:
    """Absent is empty, a flag that is not set is false, an event's source its component."""
    registry = Registry()
    nodes, pods, events = (registry.of(kind) for kind in (NODES, PODS, EVENTS))
    node = {"metadata": {"name": "a"}, "spec": {}}
    assert field_matcher(nodes, "spec.unschedulable=false,metadata.name=a")(node)
    assert not field_matcher(nodes, "spec.unschedulable=true")(node)
    assert field_matcher(pods, "spec.nodeName=")({"metadata": {}, "spec": {}})
    assert field_matcher(pods, "status.phase!=Failed")({"metadata": {}})
    event = {"metadata": {}, "source": {"component": "kubelet"}}
    assert field_matcher(events, "source=kubelet")(event)


@pytest.mark.parametrize("text", ["spec.color=red", "metadata.uid=x", "novalue"])
def test_fields_that_cannot_be_asked_are_refused(text: str) -> None:
    """Only listed fields are served."""
    with pytest.raises(StatusError) as refused:
        field_matcher(Registry().of(PODS), text)
    assert refused.value.code == 400


def test_no_selector_needs_no_look_at_the_objects() -> None:
    """Nothing to match is told apart, because most lists have no selector."""
    assert object_matcher(Registry().of(PODS), "", "") is None
