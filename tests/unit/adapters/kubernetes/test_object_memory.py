"""Objects that did not change are read once."""

from typing import Any

from autoscaler.adapters.kubernetes.object_memory import ObjectMemory
from autoscaler.adapters.kubernetes.pods import pod_from
from tests.builders import api_pod


def raw(uid: str = "u1", version: str = "5", phase: str = "Pending") -> dict[str, Any]:
    item = api_pod("pod-a")
    item["metadata"] |= {"uid": uid, "resourceVersion": version}
    item["status"] = {"phase": phase}
    return item


def test_an_unchanged_pod_is_the_same_value_in_the_next_pass():
    """Uid and version together say that nothing changed."""
    memory = ObjectMemory(pod_from)
    first = memory.reader()(raw())
    assert first == pod_from(raw())
    assert memory.reader()(raw()) is first


def test_a_new_version_is_read_anew():
    """Whatever changed of it."""
    memory = ObjectMemory(pod_from)
    memory.reader()(raw())
    assert memory.reader()(raw(version="6", phase="Running")).phase == "Running"


def test_another_pod_of_the_same_version_is_another_pod():
    """Versions are those of the whole store in some servers and of an object in others."""
    memory = ObjectMemory(pod_from)
    memory.reader()(raw())
    assert memory.reader()(raw(uid="u2", phase="Running")).phase == "Running"


def test_pods_that_a_pass_does_not_meet_are_forgotten():
    """So that the memory does not grow with all pods there ever were."""
    memory = ObjectMemory(pod_from)
    first = memory.reader()(raw())
    memory.reader()
    assert memory.reader()(raw()) is not first


def test_a_pod_without_uid_or_version_is_read_each_time():
    """Nothing says whether it changed."""
    for uid, version in (("", "5"), ("u1", "")):
        memory = ObjectMemory(pod_from)
        memory.reader()(raw(uid, version))
        assert memory.reader()(raw(uid, version, "Running")).phase == "Running"


def test_a_single_object_is_taken_from_the_latest_pass():
    """It is the same value; a version that the pass did not meet is read and forgotten."""
    memory = ObjectMemory(pod_from)
    first = memory.reader()(raw())
    assert memory.read(raw()) is first
    newer = memory.read(raw(version="6", phase="Running"))
    assert newer.phase == "Running"
    assert memory.read(raw(version="6", phase="Running")) is not newer
