"""Nodes: what is read, and what an odd field does to the rest."""

import pytest

from autoscaler.adapters.kubernetes.nodes import node_from
from autoscaler.domain.cluster.objects import Taint
from autoscaler.domain.counts import Counts
from tests.builders import api_node

MIG = "nvidia.com/mig-1g.5gb"


def test_a_node_is_read_whole() -> None:
    """All that the loop looks at, and nothing wrong with it."""
    raw = api_node(
        "gpu-a",
        labels={"nvidia.com/gpu.count": "8"},
        spec={"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
        status={
            "allocatable": {"cpu": "1500m", "memory": "1Gi", MIG: "7", "nvidia.com/gpu": "0"},
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "lastTransitionTime": "1970-01-01T00:01:00Z",
                }
            ],
        },
    )
    node = node_from(raw)
    assert (node.name, node.uid) == ("gpu-a", "uid-gpu-a")
    assert node.allocatable == Counts({MIG: 7})
    assert (node.cpu_milli, node.memory_bytes) == (1500, 2**30)
    assert (node.ready, node.ready_since_s) == (True, 60.0)
    assert node.unschedulable
    assert node.taints == (Taint("k", "NoSchedule"),)
    assert node.labels["nvidia.com/gpu.count"] == "8"
    assert node.faults == ()


@pytest.mark.parametrize(
    ("amount", "problem"),
    [
        ("1.5", "not a whole number"),
        ("-1", "negative"),
        ("x", "not a quantity"),
        (None, "not a quantity"),
    ],
)
def test_an_odd_amount_is_a_fault_with_its_place(amount: object, problem: str) -> None:
    """It is named, left out, and the other amounts stay."""
    amounts = {MIG: amount, "nvidia.com/gpu": "2"}
    node = node_from(api_node(status={"allocatable": amounts}))
    assert node.allocatable == Counts({"nvidia.com/gpu": 2})
    assert node.faults == (f"status.allocatable[{MIG}] = {amount!r}: {problem}",)


def test_null_and_absent_parts_are_empty() -> None:
    """Go writes empty lists and maps as null."""
    node = node_from(
        {
            "metadata": {"name": "a", "labels": None, "annotations": None},
            "spec": {"taints": None},
            "status": {"conditions": None, "allocatable": None},
        }
    )
    assert (node.taints, node.labels, node.ready) == ((), {}, None)
    assert node.faults == ()
    assert node_from({"metadata": {"name": "a"}}).allocatable == Counts()


@pytest.mark.parametrize(
    ("part", "value", "path"),
    [
        ("spec", {"taints": {"key": "k"}}, "spec.taints"),
        ("spec", {"taints": ["k"]}, "spec.taints"),
        ("spec", {"unschedulable": "yes"}, "spec.unschedulable"),
        ("status", {"conditions": "Ready"}, "status.conditions"),
        ("status", {"allocatable": ["x"]}, "status.allocatable"),
        ("status", {"allocatable": {"memory": "x"}}, "status.allocatable[memory]"),
        ("labels", {"nvidia.com/gpu.count": 8}, "metadata.labels[nvidia.com/gpu.count]"),
    ],
)
def test_a_part_of_a_wrong_type_is_a_fault_only(part: str, value: object, path: str) -> None:
    """The node is still there, with the path of what could not be read."""
    node = node_from(api_node(**{part: value}))
    assert node.name == "node-a"
    assert len(node.faults) == 1
    assert node.faults[0].startswith(f"{path} = ")


def test_a_bad_timestamp_is_a_fault() -> None:
    """Also one without a time zone."""
    raw = api_node()
    raw["metadata"]["creationTimestamp"] = "2030-01-10 08:00"
    assert node_from(raw).faults == (
        "metadata.creationTimestamp = '2030-01-10 08:00': not a timestamp",
    )


def test_long_values_are_cut_in_faults() -> None:
    """A message stays readable."""
    node = node_from(api_node(status={"allocatable": {MIG: "x" * 1000}}))
    assert len(node.faults[0]) < 200


@pytest.mark.parametrize(
    ("status", "ready"), [("True", True), ("False", False), ("Unknown", None), ("", None)]
)
def test_readiness_has_three_values(status: str, ready: bool | None) -> None:
    """Unknown is neither ready nor not."""
    raw = api_node(status={"conditions": [{"type": "Ready", "status": status}]})
    assert node_from(raw).ready is ready


def test_the_last_writer_of_the_configuration_is_known() -> None:
    """By the managed fields that hold the label, the latest of them."""
    fields = {"f:metadata": {"f:labels": {"f:nvidia.com/mig.config": {}}}}
    raw = api_node()
    raw["metadata"]["managedFields"] = [
        {"manager": "us", "time": "2030-01-10T08:00:00Z", "fieldsV1": fields},
        {"manager": "pool-controller", "time": "2030-01-10T08:05:00Z", "fieldsV1": fields},
        {"manager": "kubelet", "time": "2030-01-10T09:00:00Z", "fieldsV1": {}},
    ]
    assert node_from(raw).config_writer == "pool-controller"
    assert node_from(api_node()).config_writer == ""


def test_what_kubectl_last_applied_is_dropped() -> None:
    """It is as long as the object itself."""
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "1"}
    assert node_from(api_node(annotations=annotations)).annotations == {"kept": "1"}
