"""More field cases of marks that people and node autoscalers leave on objects."""

import pytest

from autoscaler.domain.cluster.marks import (
    DO_NOT_DISRUPT,
    KARPENTER_DO_NOT_DISRUPT,
    KARPENTER_DO_NOT_EVICT,
    SAFE_TO_EVICT,
)
from autoscaler.domain.cluster.objects import Owner
from autoscaler.domain.fleet.evictions import refusal
from autoscaler.domain.policy.policy import EvictionRules
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, pod
from tests.commands import Shell
from tests.dumps import dump_node, dump_pod, write_dump

HOLD = "mig-autoscaler.io/hold"
EVICTING = EvictionRules(enabled=True)


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.mark.parametrize("value", ["", "true", "Yes", " TRUE ", "until friday", "1"])
def test_whatever_is_not_a_clear_no_holds_a_node(shell, tmp_path, value):
    """A mark without a value too; the node beside it is planned."""
    held = dump_node(annotations={HOLD: value})
    path = write_dump(tmp_path, held, dump_node("gpu-2"), dump_pod())
    document = shell.plan(path).json
    assert [(h["node"], h["reason"]) for h in document["holds"]] == [("gpu-1", "Held")]
    assert [change["node"] for change in document["changes"]] == ["gpu-2"]


@pytest.mark.parametrize("value", ["false", "False", "no", "0", "off"])
def test_a_clear_no_holds_nothing(shell, tmp_path, value):
    """The annotation is there and says no."""
    path = write_dump(tmp_path, dump_node(annotations={HOLD: value}), dump_pod())
    document = shell.plan(path).json
    assert document["holds"] == []
    assert [change["node"] for change in document["changes"]] == ["gpu-1"]


@pytest.mark.parametrize(
    ("annotations", "is_protected"),
    [
        ({DO_NOT_DISRUPT: ""}, True),
        ({DO_NOT_DISRUPT: "no"}, True),
        ({DO_NOT_DISRUPT: "for ever"}, True),
        ({DO_NOT_DISRUPT: "false"}, False),
        ({DO_NOT_DISRUPT: "1s"}, False),
        ({KARPENTER_DO_NOT_DISRUPT: "True"}, True),
        ({KARPENTER_DO_NOT_DISRUPT: "False"}, False),
        ({SAFE_TO_EVICT: "False"}, True),
        ({SAFE_TO_EVICT: "no"}, True),
        ({SAFE_TO_EVICT: "True"}, False),
        ({KARPENTER_DO_NOT_EVICT: "true"}, True),
        ({SAFE_TO_EVICT: "true", KARPENTER_DO_NOT_DISRUPT: "true"}, True),
        ({}, False),
    ],
)
def test_g09_what_is_no_duration_and_not_false_protects_a_pod(annotations, is_protected):
    """A pod with opposite marks counts as protected."""
    own = pod(
        owner=Owner("ReplicaSet", "web"),
        annotations=annotations,
        created_s=NOW_S - 3600.0,
        started_s=NOW_S - 3600.0,
    )
    note = refusal(own, EVICTING, (), NOW_S)
    assert (note is not None and note.reason is Reason.PROTECTED) is is_protected


@pytest.mark.parametrize(
    ("kind", "restarts", "reason"),
    [
        ("Job", False, Reason.JOB_POD),
        ("PyTorchJob", True, Reason.JOB_POD),
        ("Workflow", False, Reason.JOB_POD),
        ("RayCluster", False, Reason.JOB_POD),
        ("Node", True, Reason.MIRROR_POD),
        ("DaemonSet", True, Reason.DAEMON_SET_POD),
        ("ReplicaSet", True, None),
        ("StatefulSet", True, None),
        ("RayCluster", True, None),
    ],
)
def test_g09_pods_that_end_by_themselves_are_jobs_whoever_owns_them(kind, restarts, reason):
    """An eviction undoes their work; a policy may allow it."""
    own = pod(owner=Owner(kind, "x"), restarts=restarts)
    note = refusal(own, EVICTING, (), NOW_S)
    assert (None if note is None else note.reason) is reason
    if reason is Reason.JOB_POD:
        assert refusal(own, EvictionRules(enabled=True, jobs=True), (), NOW_S) is None


def test_a_node_that_is_being_deleted_is_no_supply_and_no_target(shell, tmp_path):
    """Finalizers may keep it for a while; its free instances serve nobody."""
    leaving = dump_node("gpu-1", layout=[{"3g.20gb": 2}])
    leaving["metadata"]["deletionTimestamp"] = "2030-01-10T11:59:00Z"
    path = write_dump(tmp_path, leaving, dump_node("gpu-2"), dump_pod())
    document = shell.plan(path).json
    assert [(h["node"], h["reason"]) for h in document["holds"]] == [("gpu-1", "NodeLeaving")]
    assert [change["node"] for change in document["changes"]] == ["gpu-2"]
