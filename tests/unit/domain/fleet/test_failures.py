"""Pods that a node took and could not run."""

from dataclasses import replace

import pytest

from autoscaler.domain.fleet.failures import cannot_start, failure_holds, is_rejected
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, pod


def reasons(*pods):
    """Return the reasons of the holds that these pods make."""
    return [hold.reason for hold in failure_holds("node-a", pods, NOW_S)]


def failed(name, reason="UnexpectedAdmissionError", age_s=60.0):
    """Return a pod that kubelet rejected."""
    times = {"created_s": NOW_S - age_s, "started_s": None}
    return pod(name, node="node-a", phase="Failed", reason=reason, **times)


def stuck(name, waiting="CreateContainerError"):
    """Return a bound pod whose container cannot be made."""
    return pod(name, node="node-a", phase="Pending", waiting=(waiting,))


@pytest.mark.parametrize(
    ("reason", "rejected"),
    [
        ("UnexpectedAdmissionError", True),
        ("OutOfnvidia.com/mig-1g.5gb", True),
        ("OutOfcpu", False),
        ("Evicted", False),
        ("", False),
    ],
)
def test_only_rejections_for_devices_count(reason, rejected):
    """A pod that failed by itself says nothing of its node."""
    assert is_rejected(failed("r", reason)) is rejected


def test_one_rejection_is_no_sign_and_two_are():
    """The message names two and counts the others."""
    assert reasons(failed("r-1")) == []
    assert reasons(failed("r-1"), failed("r-2")) == [Reason.ADMISSION_FAILURES]
    (hold,) = failure_holds("node-a", [failed(f"r-{i}") for i in range(5)], NOW_S)
    assert "5 pods" in hold.message
    assert "default/r-0, default/r-1 and 3 more" in hold.message


def test_rejections_of_long_ago_are_no_sign():
    """Failed pods stay until someone collects them."""
    assert reasons(failed("r-1", age_s=600.0), failed("r-2", age_s=60.0)) == []


def test_the_time_is_that_of_the_rejection():
    """A pod may have waited for days; one without any time is taken as recent."""
    long_ago = failed("r-1", age_s=86400.0)
    lately = replace(long_ago, started_s=NOW_S - 60.0)
    timeless = replace(failed("r-2"), created_s=0.0)
    assert reasons(long_ago, timeless) == []
    assert reasons(lately, timeless) == [Reason.ADMISSION_FAILURES]


@pytest.mark.parametrize(
    ("waiting", "cannot"),
    [
        ("CreateContainerError", True),
        ("RunContainerError", True),
        ("CreateContainerConfigError", False),
        ("CrashLoopBackOff", False),
        ("ContainerCreating", False),
    ],
)
def test_errors_of_the_runtime_count_and_the_pods_own_do_not(waiting, cannot):
    """A missing Secret is the pod's fault."""
    assert cannot_start(stuck("p", waiting)) is cannot


def test_two_pods_that_cannot_start_are_a_sign():
    """They hold devices; pods without devices do not count."""
    assert reasons(stuck("p-1"), stuck("p-2")) == [Reason.START_FAILURES]
    other = pod("p-3", {}, node="node-a", phase="Pending", waiting=("CreateContainerError",))
    assert reasons(stuck("p-1"), other) == []
