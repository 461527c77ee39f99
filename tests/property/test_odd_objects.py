"""Whatever stands in one field of an object, the object is read and nothing raises."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from autoscaler.adapters.kubernetes.leases import lease_from
from autoscaler.adapters.kubernetes.nodes import node_from
from autoscaler.adapters.kubernetes.objects import (
    budget_from,
    claim_driver_from,
    config_map_from,
    mig_config_map_of,
    pod_group_from,
    priority_class_from,
    quota_from,
)
from autoscaler.adapters.kubernetes.pods import pod_from
from tests.builders import api_node, api_pod

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
TERM = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
    "namespaces": ["default"],
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = {"nodeSelectorTerms": [{"matchFields": [{"key": "k", "operator": "Exists"}]}]}
AFFINITY = {"podAntiAffinity": {REQUIRED: [TERM]}, "nodeAffinity": {REQUIRED: TERMS}}
CONDITION = {"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-10T08:00:00Z"}
POD = api_pod(
    metadata={
        "labels": {"a": "b"},
        "annotations": {"scheduling.k8s.io/group-name": "g"},
        "ownerReferences": [{"kind": "Job", "name": "j", "uid": "u", "controller": True}],
        "deletionTimestamp": "2030-01-10T08:00:00Z",
    },
    spec={
        "affinity": AFFINITY,
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "schedulingGates": [{"name": "g"}],
        "volumes": [{"name": "v", "hostPath": {"path": "/dev"}}],
        "priority": 1,
        "nodeSelector": {"a": "b"},
        "initContainers": [{"name": "i", "restartPolicy": "Always"}],
    },
    status={
        "conditions": [CONDITION],
        "containerStatuses": [{"name": "m", "state": {"waiting": {"reason": "x"}}}],
        "startTime": "2030-01-10T08:00:00Z",
    },
)
NODE = api_node(
    annotations={"a": "b"},
    spec={"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True},
    status={"conditions": [CONDITION]},
)
NODE["metadata"]["managedFields"] = [
    {"manager": "m", "time": "t", "fieldsV1": {"f:metadata": {}}}
]
OTHER = {
    "metadata": {"name": "x", "generation": 1, "ownerReferences": [{"kind": "K"}]},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "minMember": 2,
        "hard": {"requests.nvidia.com/gpu": "1"},
        "nodeName": "n",
        "migManager": {"config": {"name": "c"}},
        "renewTime": "2030-01-10T08:00:00.000000Z",
        "leaseTransitions": 1,
    },
    "status": {"disruptionsAllowed": 1, "used": {"requests.nvidia.com/gpu": "1"}},
    "data": {"k": "v"},
    "value": 1,
}


def paths(value: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every field."""
    keys = (
        value
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    for key in keys:
        yield (*prefix, key)
        yield from paths(value[key], (*prefix, key))


def changed(raw: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return an object with another value in one field."""
    copy = deepcopy(raw)
    inner: Any = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copy


def oddly(raw: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw the object with one odd field."""
    return st.builds(changed, st.just(raw), st.sampled_from(list(paths(raw))), JSON)


@settings(max_examples=300)
@given(oddly(NODE))
@example(changed(NODE, ("status", "allocatable", "nvidia.com/mig-1g.5gb"), float("nan")))
def test_a_node_is_read_whatever_stands_in_a_field(raw: dict[str, Any]) -> None:
    """Amounts stay whole numbers, and the rest is what it was."""
    node = node_from(raw)
    assert all(type(number) is int and number > 0 for number in node.allocatable.values())
    assert set(map(type, node.labels.values())) <= {str}
    assert are_sentences(node.faults)


@settings(max_examples=300)
@given(oddly(POD))
def test_a_pod_is_read_whatever_stands_in_a_field(raw: dict[str, Any]) -> None:
    """Requests stay whole numbers, texts stay texts."""
    pod = pod_from(raw)
    amounts = [number for own in pod.containers for number in own.requests.values()]
    assert all(type(number) is int and number > 0 for number in amounts)
    assert {type(own.cpu_milli) for own in pod.containers} <= {int}
    assert {type(text) for text in (pod.name, pod.namespace, pod.phase)} == {str}
    assert are_sentences(pod.faults)


def are_sentences(faults: tuple[str, ...]) -> bool:
    """Say whether faults are short and on one line, each once."""
    short = all(fault and len(fault) < 300 and "\n" not in fault for fault in faults)
    return short and len(set(faults)) == len(faults)


@settings(max_examples=300)
@given(oddly(OTHER))
def test_the_smaller_kinds_are_read_whatever_stands_in_a_field(raw: dict[str, Any]) -> None:
    """A budget that cannot be read allows nothing."""
    notices: list[str] = []
    budget = budget_from(raw, notices)
    assert budget.disruptions_allowed >= 0
    assert not (notices and budget.disruptions_allowed and "status" in notices[0])
    for convert in (config_map_from, pod_group_from, quota_from, priority_class_from):
        convert(raw, notices)
    for read in (claim_driver_from, mig_config_map_of, lease_from):
        read(raw)
