"""Pods: what is read, and what an odd field does to the rest."""

from typing import Any

import pytest

from autoscaler.adapters.kubernetes.gangs import with_members
from autoscaler.adapters.kubernetes.pods import pod_from
from autoscaler.domain.cluster.objects import (
    Expression,
    Gang,
    Owner,
    PodGroup,
    SelectorTerm,
    Toleration,
)
from autoscaler.domain.counts import Counts
from tests.builders import api_pod

MIG = "nvidia.com/mig-1g.5gb"
HOST = "kubernetes.io/hostname"


def container(name: str = "main", **parts: Any) -> dict[str, Any]:
    """Return a container."""
    return {"name": name, "image": "x", **parts}


def test_a_running_pod_is_read_whole() -> None:
    """All that the loop looks at, and nothing wrong with it."""
    owner = {"kind": "Job", "name": "train", "uid": "u", "controller": True}
    raw = api_pod(
        metadata={
            "labels": {"app": "a"},
            "ownerReferences": [owner],
            "deletionTimestamp": "1970-01-01T01:00:00Z",
        },
        spec={
            "nodeName": "node-a",
            "priority": 1000,
            "priorityClassName": "high",
            "nodeSelector": {"pool": "a100"},
            "tolerations": [{"operator": "Exists"}],
            "hostNetwork": True,
        },
        status={
            "phase": "Running",
            "startTime": "1970-01-01T00:01:00Z",
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )
    pod = pod_from(raw)
    assert (pod.namespace, pod.name, pod.uid, pod.node) == (
        "default",
        "pod-a",
        "uid-pod-a",
        "node-a",
    )
    assert (pod.phase, pod.ready, pod.unschedulable) == ("Running", True, False)
    assert (pod.started_s, pod.deletion_s) == (60.0, 3600.0)
    assert (pod.priority, pod.priority_class) == (1000, "high")
    assert pod.owner == Owner("Job", "train", "u")
    assert pod.containers[0].requests == Counts({MIG: 1})
    assert pod.tolerations == (Toleration("", "Exists"),)
    assert pod.host_network
    assert pod.faults == ()


def test_requests_come_from_limits_where_only_those_are_written() -> None:
    """As the API server fills them in."""
    raw = api_pod(
        spec={
            "containers": [
                container(
                    resources={"limits": {MIG: "2", "cpu": "1"}, "requests": {"cpu": "500m"}}
                )
            ]
        }
    )
    own = pod_from(raw).containers[0]
    assert (own.requests, own.cpu_milli) == (Counts({MIG: 2}), 500)


def test_init_containers_and_sidecars_are_told_apart() -> None:
    """A sidecar is an init container that restarts always."""
    raw = api_pod(
        spec={
            "initContainers": [container("check"), container("log", restartPolicy="Always")],
            "containers": [container()],
        }
    )
    assert [(c.name, c.init, c.sidecar) for c in pod_from(raw).containers] == [
        ("check", True, False),
        ("log", True, True),
        ("main", False, False),
    ]


def test_a_gated_pod_is_not_unschedulable() -> None:
    """The condition is false for both, the reason differs."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    gated = pod_from(
        api_pod(spec={"schedulingGates": gates}, status={"conditions": [condition]})
    )
    assert (gated.gates, gated.unschedulable) == (("kueue.x-k8s.io/admission",), False)
    waiting = {**condition, "reason": "Unschedulable", "message": "0/5 nodes"}
    pod = pod_from(api_pod(status={"conditions": [waiting]}))
    assert (pod.unschedulable, pod.unschedulable_message) == (True, "0/5 nodes")


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"containers": [container(resources={"requests": {MIG: "-1"}})]}, "negative"),
        ({"containers": [container(resources={"requests": {MIG: "0.5"}})]}, "whole"),
        ({"containers": [container(resources={"requests": {"cpu": "x"}})]}, "[cpu]"),
        ({"containers": "main"}, "spec.containers"),
        ({"priority": "high"}, "spec.priority"),
        ({"nodeSelector": {"pool": 1}}, "spec.nodeSelector[pool]"),
        ({"affinity": []}, "spec.affinity"),
    ],
)
def test_an_odd_field_is_a_fault_and_loses_nothing_else(
    spec: dict[str, Any], path: str
) -> None:
    """One pod that cannot be read must not lose a list of thousands."""
    pod = pod_from(api_pod(spec=spec))
    assert pod.name == "pod-a"
    assert len(pod.faults) == 1
    assert path in pod.faults[0]


def test_null_lists_are_empty() -> None:
    """Go writes empty lists as null."""
    nulls = ("initContainers", "tolerations", "schedulingGates", "volumes", "resourceClaims")
    pod = pod_from(api_pod(spec=dict.fromkeys(nulls), status={"conditions": None}))
    assert pod.faults == ()
    assert not pod.claims


def test_required_affinity_keeps_its_terms() -> None:
    """Labels and fields apart."""
    terms = [
        {
            "matchExpressions": [{"key": "pool", "operator": "In", "values": ["a", "b"]}],
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
        }
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = pod_from(api_pod(spec={"affinity": {"nodeAffinity": required}}))
    assert pod.affinity == (
        SelectorTerm(
            (Expression("pool", "In", ("a", "b")),),
            (Expression("metadata.name", "In", ("n",)),),
        ),
    )


@pytest.mark.parametrize(
    ("labels", "topology", "repels"),
    [
        ({"app": "a"}, HOST, True),
        ({"app": "b"}, HOST, False),
        ({"app": "a"}, "topology.kubernetes.io/zone", False),
    ],
)
def test_a_pod_may_keep_its_own_kind_off_its_node(
    labels: dict[str, str], topology: str, repels: bool
) -> None:
    """Only by host name, and only when it selects itself."""
    term = {"topologyKey": topology, "labelSelector": {"matchLabels": {"app": "a"}}}
    anti = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    raw = api_pod(metadata={"labels": labels}, spec={"affinity": {"podAntiAffinity": anti}})
    assert pod_from(raw).anti_affinity_self is repels


@pytest.mark.parametrize(
    "spec",
    [
        {"runtimeClassName": "nvidia"},
        {"volumes": [{"name": "d", "hostPath": {"path": "/dev/nvidia0"}}]},
        {
            "containers": [
                container(
                    volumeMounts=[
                        {"name": "v", "mountPath": "/var/run/nvidia-container-devices/all"}
                    ]
                )
            ]
        },
    ],
)
def test_pods_that_reach_a_gpu_without_asking_are_marked(spec: dict[str, Any]) -> None:
    """By runtime class, by device, or by the plugin's mounts."""
    assert pod_from(api_pod(spec=spec)).gpu_runtime
    assert not pod_from(api_pod()).gpu_runtime


def test_reasons_of_waiting_containers_are_collected() -> None:
    """Each once, in order."""
    states = [
        {"name": "a", "state": {"waiting": {"reason": "CreateContainerError"}}},
        {"name": "b", "state": {"waiting": {"reason": "CreateContainerError"}}},
        {"name": "c", "state": {"running": {}}},
    ]
    pod = pod_from(api_pod(status={"containerStatuses": states}))
    assert pod.waiting == ("CreateContainerError",)


def test_only_annotations_that_are_asked_for_are_kept() -> None:
    """Protection, gangs, mirror pods; not what kubectl applied."""
    annotations = {
        "mig-autoscaler.io/do-not-disrupt": "true",
        "kubernetes.io/config.mirror": "x",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    pod = pod_from(api_pod(metadata={"annotations": annotations}))
    assert sorted(pod.annotations) == [
        "kubernetes.io/config.mirror",
        "mig-autoscaler.io/do-not-disrupt",
    ]


@pytest.mark.parametrize(
    ("metadata", "gang"),
    [
        ({"annotations": {"scheduling.k8s.io/group-name": "g"}}, Gang("g", 0)),
        ({"annotations": {"pod-group-name": "g"}}, Gang("g", 0)),
        ({"labels": {"scheduling.x-k8s.io/pod-group": "g"}}, Gang("g", 0)),
        (
            {
                "labels": {
                    "pod-group.scheduling.sigs.k8s.io/name": "g",
                    "pod-group.scheduling.sigs.k8s.io/min-available": "3",
                }
            },
            Gang("g", 3),
        ),
        (
            {
                "labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                "annotations": {"kueue.x-k8s.io/pod-group-total-count": "5"},
            },
            Gang("g", 5),
        ),
        ({}, None),
    ],
)
def test_gangs_are_known_by_the_marks_of_each_system(
    metadata: dict[str, Any], gang: Gang | None
) -> None:
    """0 members where only a PodGroup says how many."""
    assert pod_from(api_pod(metadata=metadata)).gang == gang


def test_a_gang_of_another_namespace_does_not_count() -> None:
    """Groups are by namespace."""
    pod = pod_from(api_pod(metadata={"annotations": {"scheduling.k8s.io/group-name": "g"}}))
    assert with_members([pod], [PodGroup("other", "g", 4)])[0].gang == Gang("g", 0)
    assert with_members([pod], [PodGroup("default", "g", 4)])[0].gang == Gang("g", 4)


def test_owners_without_a_controller_mark_count_only_on_the_careful_side() -> None:
    """A Job protects its pods; a ReplicaSet that does not control one proves nothing."""
    job = pod_from(api_pod(metadata={"ownerReferences": [{"kind": "Job", "name": "j"}]}))
    other = pod_from(api_pod(metadata={"ownerReferences": [{"kind": "ReplicaSet"}]}))
    assert job.owner == Owner("Job", "j")
    assert other.owner is None


def test_how_a_pod_ends_is_read() -> None:
    """A Job's pod ends by itself, or at its deadline; others are started again."""
    job = pod_from(api_pod(spec={"restartPolicy": "Never", "activeDeadlineSeconds": 3600}))
    assert (job.restarts, job.active_deadline_s) == (False, 3600.0)
    service = pod_from(api_pod())
    assert (service.restarts, service.active_deadline_s) == (True, None)
    odd = pod_from(api_pod(spec={"activeDeadlineSeconds": "soon"}))
    assert "activeDeadlineSeconds" in odd.faults[0]
