"""Who may be evicted, and why not."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.marks import (
    DO_NOT_DISRUPT,
    KARPENTER_DO_NOT_DISRUPT,
    LOST_WORK,
    MIRROR,
    SAFE_TO_EVICT,
)
from autoscaler.domain.cluster.objects import (
    Expression,
    LabelSelector,
    Owner,
    PodDisruptionBudget,
)
from autoscaler.domain.fleet.evictions import (
    evictions,
    hopeless_budget,
    lost_work_s,
    protected_until_s,
    uses_gpu,
)
from autoscaler.domain.policy.policy import EvictionRules
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, pod

ALLOWED = EvictionRules(enabled=True)
FOREVER = float("inf")


def owned(kind="ReplicaSet", **changes):
    """Return a running pod with an owner."""
    return pod(node="node-a", owner=Owner(kind, "owner"), **changes)


def budget(allowed=0, healthy=2, **changes):
    """Return a budget of the pod's namespace that selects every pod in it."""
    own = PodDisruptionBudget("default", "pdb", LabelSelector(), allowed, healthy, 2, 2)
    return replace(own, **changes)


@pytest.mark.parametrize(
    ("annotations", "until_s"),
    [
        ({}, None),
        ({DO_NOT_DISRUPT: "false"}, None),
        ({DO_NOT_DISRUPT: "true"}, FOREVER),
        ({DO_NOT_DISRUPT: "perhaps"}, FOREVER),
        ({DO_NOT_DISRUPT: "10m"}, NOW_S - 500.0 + 600.0),
        ({KARPENTER_DO_NOT_DISRUPT: "true"}, FOREVER),
        ({SAFE_TO_EVICT: "false"}, FOREVER),
        ({SAFE_TO_EVICT: "true"}, None),
        ({SAFE_TO_EVICT: "true", DO_NOT_DISRUPT: "true"}, FOREVER),
        ({SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "false"}, FOREVER),
        ({DO_NOT_DISRUPT: "10m", KARPENTER_DO_NOT_DISRUPT: "1h"}, NOW_S + 3100.0),
    ],
)
def test_marks_protect(annotations, until_s):
    """For ever, for a while, or not at all; of opposite marks the protecting one counts."""
    assert protected_until_s(owned(annotations=annotations)) == until_s


def test_a_protection_that_is_over_protects_no_more():
    """Ten minutes after its start the pod may go."""
    guarded = owned(annotations={DO_NOT_DISRUPT: "10m"})
    assert evictions([guarded], ALLOWED, (), NOW_S + 99.0).refused[0].reason is Reason.PROTECTED
    assert evictions([guarded], ALLOWED, (), NOW_S + 100.0).allowed == (guarded.ref,)


@pytest.mark.parametrize(
    ("own", "rules", "reason"),
    [
        (owned(), EvictionRules(), Reason.EVICTION_DISABLED),
        (owned("Job"), ALLOWED, Reason.JOB_POD),
        (pod(node="node-a"), ALLOWED, Reason.UNOWNED_POD),
        (owned("DaemonSet"), ALLOWED, Reason.DAEMON_SET_POD),
        (owned("Node", annotations={MIRROR: "x"}), ALLOWED, Reason.MIRROR_POD),
        (owned(annotations={DO_NOT_DISRUPT: "true"}), ALLOWED, Reason.PROTECTED),
    ],
)
def test_refusals_have_reasons(own, rules, reason):
    """Each with a sentence for people."""
    (note,) = evictions([own], rules, (), NOW_S).refused
    assert (note.pod, note.reason) == (own.ref, reason)
    assert note.message


def test_the_policy_may_allow_jobs_and_unowned_pods():
    """Their owners said that this is fine."""
    rules = EvictionRules(enabled=True, jobs=True, unowned=True)
    pods = [owned("Job", name="a"), pod("b", node="node-a")]
    assert len(evictions(pods, rules, (), NOW_S).allowed) == 2


def test_what_is_worth_least_goes_first():
    """Low priority before high, and the young before the old."""
    pods = [
        owned(name="high", priority=10),
        owned(name="old", created_s=NOW_S - 900.0),
        owned(name="young", created_s=NOW_S - 60.0),
    ]
    order = evictions(pods, ALLOWED, (), NOW_S).allowed
    assert [p.name for p in order] == ["young", "old", "high"]


@pytest.mark.parametrize(
    ("ready", "budgets", "is_hopeless"),
    [
        (True, [budget()], True),
        (True, [budget(allowed=1)], False),
        (True, [budget(healthy=1)], False),
        (True, [budget(observed=False)], False),
        (True, [budget(allowed=1), budget(allowed=1, name="other")], True),
        (True, [budget(namespace="elsewhere")], False),
        (False, [budget(healthy=0, desired_healthy=1)], True),
        (False, [budget(healthy=0, desired_healthy=1, always_allow_unhealthy=True)], False),
        (False, [budget(healthy=2)], False),
    ],
)
def test_budgets_that_waiting_does_not_clear(ready, budgets, is_hopeless):
    """A full budget with all healthy, two budgets, and an unready pod that is counted."""
    assert bool(hopeless_budget(owned(ready=ready), budgets)) is is_hopeless


def test_a_budget_counts_only_for_pods_that_it_selects():
    """By its label selector."""
    web = LabelSelector((Expression("app", "In", ("web",)),))
    assert hopeless_budget(owned(labels={"app": "web"}), [budget(selector=web)])
    assert not hopeless_budget(owned(labels={"app": "db"}), [budget(selector=web)])


@pytest.mark.parametrize(
    ("declared", "lost_s"), [("", 500.0), ("5m", 300.0), ("2h", 500.0), ("?", 500.0)]
)
def test_lost_work_is_what_was_declared_at_most_the_time_since_the_start(declared, lost_s):
    """Where nothing readable is declared, all of it is lost."""
    assert lost_work_s(owned(annotations={LOST_WORK: declared}), NOW_S) == lost_s


def test_init_containers_and_crashing_pods_hold_devices():
    """From the binding until the pod has ended."""
    assert uses_gpu(owned(waiting=("CrashLoopBackOff",), ready=False), "gpu-operator")
    assert not uses_gpu(owned(phase="Failed"), "gpu-operator")
    assert not uses_gpu(owned(requests={"cpu": 1}), "gpu-operator")
    assert not uses_gpu(owned(), "default")
