"""Pods: defaults, priority, checks, and what an update may change."""

import pytest

from autoscaler.ports import PODS, PRIORITY_CLASSES
from autoscaler.simulation.apiserver.pods import pod_causes, qos_class, with_pod_defaults
from autoscaler.simulation.apiserver.request import Verb
from tests.api import NS, Api, json_patch, named
from tests.builders import raw_pod

MIG = "nvidia.com/mig-1g.5gb"


def test_a_limit_is_a_request_too() -> None:
    """And quantities become text."""
    spec = Api().client.create(PODS, NS, raw_pod("a", {MIG: 2}))["spec"]
    assert spec["containers"][0]["resources"] == {"limits": {MIG: "2"}, "requests": {MIG: "2"}}


def test_defaults_do_not_override_what_is_said() -> None:
    """Grace, scheduler and tolerations as given; the rest filled in; status starts anew."""
    everything = {"operator": "Exists"}
    body = raw_pod("a", terminationGracePeriodSeconds=5, tolerations=[everything])
    body["status"] = {"phase": "Running"}
    pod = with_pod_defaults(body)
    assert pod["spec"]["terminationGracePeriodSeconds"] == 5
    assert pod["spec"]["tolerations"] == [everything]
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_every_pod_tolerates_a_silent_node_for_five_minutes() -> None:
    """Unless it says otherwise."""
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    tolerations = with_pod_defaults(raw_pod("a", tolerations=[own]))["spec"]["tolerations"]
    assert tolerations == [
        own,
        {
            "key": "node.kubernetes.io/unreachable",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        },
    ]


def test_a_gated_pod_says_that_it_is() -> None:
    """Schedulers do not look at it."""
    pod = with_pod_defaults(raw_pod("a", schedulingGates=[{"name": "quota"}]))
    assert pod["status"]["conditions"][0]["reason"] == "SchedulingGated"


@pytest.mark.parametrize(
    ("requests", "limits", "expected"),
    [
        ({}, {}, "BestEffort"),
        ({}, {MIG: "1"}, "BestEffort"),
        ({"cpu": "1"}, {}, "Burstable"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1000m", "memory": "1Gi"}, "Guaranteed"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}, "Burstable"),
    ],
)
def test_quality_of_service(requests, limits, expected) -> None:
    """From cpu and memory alone."""
    container = {"resources": {"requests": requests, "limits": limits}}
    assert qos_class({"containers": [container]}) == expected


def test_priority_comes_from_the_class() -> None:
    """By name, or from the default class; an unknown one is refused."""
    api = Api()
    assert api.client.create(PODS, NS, raw_pod("plain"))["spec"]["priority"] == 0
    api.client.create(PRIORITY_CLASSES, None, named("high", value=1000))
    default = named("usual", value=10, globalDefault=True)
    api.client.create(PRIORITY_CLASSES, None, default)
    high = api.client.create(PODS, NS, raw_pod("a", priorityClassName="high"))
    assert high["spec"]["priority"] == 1000
    usual = api.client.create(PODS, NS, raw_pod("b"))
    assert (usual["spec"]["priority"], usual["spec"]["priorityClassName"]) == (10, "usual")
    unknown = raw_pod("c", priorityClassName="none")
    assert api.code(Verb.CREATE, PODS, body=unknown) == 403
    forged = raw_pod("d", priorityClassName="high", priority=9)
    assert api.code(Verb.CREATE, PODS, body=forged) == 403


def container(**fields: object) -> dict:
    return {"name": "c", "image": "x", **fields}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"image": "x"}]}, "spec.containers[0].name"),
        ({"containers": [container(), container()]}, "spec.containers[1].name"),
        (
            {"containers": [container(resources={"limits": {MIG: "-1"}})]},
            "spec.containers[0].resources.limits[nvidia.com/mig-1g.5gb]",
        ),
        (
            {"containers": [container(resources={"requests": {MIG: "1"}})]},
            "spec.containers[0].resources.limits",
        ),
        (
            {
                "containers": [
                    container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})
                ]
            },
            "spec.containers[0].resources.requests",
        ),
        ({"containers": [container()], "restartPolicy": "Maybe"}, "spec.restartPolicy"),
        ({"containers": [container()], "nodeSelector": {"a": "b c"}}, "spec.nodeSelector"),
        (
            {"containers": [container()], "tolerations": [{"operator": "Equal"}]},
            "spec.tolerations[0].operator",
        ),
        (
            {"containers": [container()], "tolerations": [{"operator": "In"}]},
            "spec.tolerations[0].operator",
        ),
        (
            {
                "containers": [container()],
                "tolerations": [{"operator": "Exists", "value": "v"}],
            },
            "spec.tolerations[0].operator",
        ),
    ],
)
def test_what_is_wrong_with_a_pod(spec, field) -> None:
    """The first cause is at the right field."""
    causes = pod_causes(with_pod_defaults({"metadata": {}, "spec": spec}))
    assert causes[0].field == field


def test_the_specification_of_a_pod_is_fixed() -> None:
    """Images may change and tolerations be added; nothing else, and no gate comes back."""
    api = Api()
    pod = api.client.create(PODS, NS, raw_pod("a", schedulingGates=[{"name": "g"}]))
    added = [*pod["spec"]["tolerations"], {"key": "x", "operator": "Exists"}]
    api.client.patch(PODS, NS, "a", {"spec": {"tolerations": added}})
    new_image = {"op": "replace", "path": "/spec/containers/0/image", "value": "train:2"}
    api.ask(Verb.PATCH, PODS, "a", **json_patch(new_image))
    api.client.patch(PODS, NS, "a", {"spec": {"nodeSelector": {"pool": "a"}}})
    api.client.patch(PODS, NS, "a", {"spec": {"schedulingGates": []}})

    def refused(**spec: object) -> int:
        return api.code(Verb.PATCH, PODS, "a", body={"spec": spec})

    assert refused(nodeSelector={"pool": "b"}) == 422
    assert refused(tolerations=[]) == 422
    assert refused(schedulingGates=[{"name": "g"}]) == 422
    assert refused(nodeName="gpu-1") == 422
    assert refused(priority=7) == 422
    assert api.client.get(PODS, NS, "a")["metadata"]["generation"] == 5
