"""Tables: what ``kubectl get`` shows."""

from typing import Any

import pytest

from autoscaler.ports import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    EVENTS,
    JOBS,
    NODES,
    PODS,
    QUOTAS,
    Kind,
)
from autoscaler.simulation.apiserver.columns import columns_of
from autoscaler.simulation.apiserver.resources import DEPLOYMENTS, POD_GROUPS
from tests.builders import NOW_S, raw_budget, raw_node, raw_pod

CREATED = "2023-11-14T22:11:20Z"  # two minutes before NOW_S


def cells(kind: Kind, item: dict[str, Any], *, wide: bool = False) -> dict[str, object]:
    """Return the cells of an object by column."""
    item = {**item, "metadata": {"creationTimestamp": CREATED, **item["metadata"]}}
    columns = [c for c in columns_of(kind) if wide or not c.wide]
    return {c.name: c.cell(item, NOW_S) for c in columns}


def test_a_node() -> None:
    """Ready, cordoned, its roles and version."""
    node = raw_node(nodeInfo={"kubeletVersion": "v1.32.4"})
    node["spec"] = {"unschedulable": True}
    node["metadata"]["labels"] = {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}
    assert cells(NODES, node) == {
        "Name": "gpu-1",
        "Status": "Ready,SchedulingDisabled",
        "Roles": "a,b",
        "Age": "2m",
        "Version": "v1.32.4",
    }
    wide = cells(
        NODES, raw_node(addresses=[{"type": "InternalIP", "address": "10.0.0.1"}]), wide=True
    )
    assert (wide["Internal-IP"], wide["External-IP"]) == ("10.0.0.1", "<none>")
    assert wide["OS-Image"] == "<unknown>"


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], "Unknown"),
        ([{"type": "Ready", "status": "False"}], "NotReady"),
        ([{"type": "Ready", "status": "Unknown"}], "NotReady"),
    ],
)
def test_a_node_that_is_not_ready(conditions, expected) -> None:
    """Silent is not ready either."""
    assert cells(NODES, raw_node(conditions=conditions))["Status"] == expected


def with_state(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    container = {"name": "main", "restartCount": 3, "state": state, **more}
    return {"phase": "Running", "containerStatuses": [container]}


@pytest.mark.parametrize(
    ("status", "ready", "expected"),
    [
        ({"phase": "Pending"}, "0/1", "Pending"),
        (with_state({"running": {}}, ready=True), "1/1", "Running"),
        (with_state({"waiting": {"reason": "CrashLoopBackOff"}}), "0/1", "CrashLoopBackOff"),
        (with_state({"terminated": {"reason": "Completed"}}), "0/1", "Completed"),
        (with_state({"terminated": {"exitCode": 3}}), "0/1", "ExitCode:3"),
        (
            {"phase": "Failed", "reason": "UnexpectedAdmissionError"},
            "0/1",
            "UnexpectedAdmissionError",
        ),
        (
            {"phase": "Pending", "conditions": [{"reason": "SchedulingGated"}]},
            "0/1",
            "SchedulingGated",
        ),
    ],
)
def test_the_state_of_a_pod(status, ready, expected) -> None:
    """The most telling of phase, reason and containers."""
    shown = cells(PODS, {**raw_pod("a"), "status": status})
    assert (shown["Ready"], shown["Status"]) == (ready, expected)


def test_a_pod_before_its_containers_and_at_its_end() -> None:
    """Steps are counted; a mark beats everything."""
    pod = raw_pod("a", initContainers=[{"name": "x"}, {"name": "y"}], nodeName="gpu-1")
    done = {"state": {"terminated": {"exitCode": 0}}}
    failing = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    for second, expected in (({"state": {}}, "Init:1/2"), (failing, "Init:CrashLoopBackOff")):
        status = {"phase": "Pending", "initContainerStatuses": [done, second]}
        assert cells(PODS, {**pod, "status": status})["Status"] == expected
    pod["metadata"]["deletionTimestamp"] = CREATED
    assert cells(PODS, pod)["Status"] == "Terminating"
    assert cells(PODS, pod, wide=True)["Node"] == "gpu-1"


def test_an_event() -> None:
    """When, what, about whom."""
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Node", "name": "gpu-1"},
        "source": {"component": "kubelet", "host": "h"},
        "lastTimestamp": CREATED,
        "type": "Normal",
        "reason": "Cut",
        "message": "two instances",
    }
    assert list(cells(EVENTS, event).values()) == [
        *("2m", "Normal", "Cut", "node/gpu-1", "two instances")
    ]
    assert cells(EVENTS, event, wide=True)["Source"] == "kubelet, h"


def test_other_kinds() -> None:
    """Each with what matters of it; an unknown one with name and age."""
    config = {"metadata": {"name": "c"}, "data": {"a": "", "b": ""}}
    assert cells(CONFIG_MAPS, config)["Data"] == 2
    assert cells(DISRUPTION_BUDGETS, raw_budget())["Allowed Disruptions"] == 1
    assert cells(DISRUPTION_BUDGETS, raw_budget())["Max Unavailable"] == "N/A"
    deployment = {
        "metadata": {"name": "d"},
        "spec": {"replicas": 3},
        "status": {"readyReplicas": 1},
    }
    assert cells(DEPLOYMENTS, deployment)["Ready"] == "1/3"
    job = {
        "metadata": {"name": "j"},
        "status": {"conditions": [{"type": "Complete", "status": "True"}]},
    }
    assert cells(JOBS, job)["Status"] == "Complete"
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2", "limits.cpu": "1"}}}
    assert cells(QUOTAS, quota) | {"Name": ""} == {
        "Name": "",
        "Request": "pods: 0/2",
        "Limit": "limits.cpu: 0/1",
        "Age": "2m",
    }
    assert cells(POD_GROUPS, {"metadata": {"name": "g"}}) == {"Name": "g", "Age": "2m"}
