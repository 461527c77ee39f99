"""Who holds what, and how they may leave."""

import pytest

from autoscaler.domain.cluster.objects import (
    Expression,
    Gang,
    LabelSelector,
    Owner,
    PodDisruptionBudget,
)
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Disruption, Driver, Policy
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, node, pod
from tests.fleets import demanded, inventory, metrics, policy, pool, sample

REPLICAS = Owner("ReplicaSet", "serve")
SMALL = resource_name("1g.5gb")


def evicting(**rules) -> Policy:
    """Return a policy that evicts."""
    own = {"enabled": True, **rules}
    return policy(disruption=Disruption.model_validate({"eviction": own}))


def holders(*objects, under=None, **changes):
    """Return the holders of these objects, with metrics that list every pod's GPU."""
    changes.setdefault("metrics", metrics())
    return demanded(*objects, under=under or evicting(), **changes).holders


def test_a_replica_may_be_evicted_and_go_elsewhere():
    """Its controller starts it anew on any node that may take it."""
    there = pod("serve-1", node="node-a", owner=REPLICAS, grace_s=45.0)
    (found,) = holders(node("node-a"), node("node-b"), there)
    assert (found.pod, found.node, found.gpu) == (there.ref, "node-a", 0)
    assert (found.held, found.bundle) == (Counts({"1g.5gb": 1}), Counts({SMALL: 1}))
    assert found.may_be_evicted
    assert not found.ends
    assert found.gone_in_s is None
    assert (found.lost_work_s, found.grace_s) == (500.0, 45.0)
    assert found.eligible == {"node-a", "node-b"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, Reason.UNOWNED_POD),
        ({"owner": Owner("Job", "train")}, Reason.JOB_POD),
        ({"owner": Owner("DaemonSet", "monitor")}, Reason.DAEMON_SET_POD),
        (
            {"owner": REPLICAS, "annotations": {"mig-autoscaler.io/do-not-disrupt": "true"}},
            Reason.PROTECTED,
        ),
        ({"owner": REPLICAS, "gang": Gang("ring", 4)}, Reason.GANG_MEMBER),
    ],
)
def test_who_may_not_be_evicted_has_a_reason(changes, reason):
    """They are holders all the same: some of them end by themselves."""
    (found,) = holders(node(), pod(node="node-a", **changes))
    assert found.refusal is not None
    assert found.refusal.reason is reason
    assert not found.may_be_evicted


def test_without_metrics_nobody_is_counted_on_to_leave():
    """Nothing is evicted on what the API server alone knows."""
    there = pod("serve-1", node="node-a", owner=REPLICAS)
    assert holders(node(), there, metrics=None) == ()
    assert holders(node(), there, metrics=metrics(partial=True)) == ()


def test_a_gpu_that_a_pod_may_sit_on_has_no_holders():
    """On two GPUs alike, nobody knows which one the pod is on until a sample says it."""
    two = node("node-a", [{"1g.5gb": 7}, {"1g.5gb": 7}])
    there = pod("serve-1", node="node-a", owner=REPLICAS)
    assert holders(two, there) == ()
    seen = [sample(index, "serve-1" if index else None) for index in (0, 1)]
    (found,) = holders(two, there, metrics=metrics(*seen))
    assert found.gpu == 1


def test_a_pod_on_two_gpus_is_no_holder_of_either():
    """Emptying one of its GPUs would not free the other."""
    two = node("node-a", [{"7g.40gb": 1}, {"7g.40gb": 1}])
    large = pod("ring", {resource_name("7g.40gb"): 2}, node="node-a", owner=REPLICAS)
    seen = metrics(sample(0, "ring", "7g.40gb"), sample(1, "ring", "7g.40gb"))
    assert holders(two, large, metrics=seen) == ()


def test_known_ends_count_from_now():
    """A grace period ends when the API says, and a deadline counts from the start."""
    going = pod("going", node="node-a", deletion_s=NOW_S + 20.0, owner=REPLICAS)
    limited = pod(
        "limited", node="node-a", restarts=False, active_deadline_s=600.0, grace_s=30.0
    )
    first, second = holders(node(), going, limited)
    assert (first.gone_in_s, first.is_going, first.may_be_evicted) == (20.0, True, False)
    assert (second.gone_in_s, second.ends) == (100.0 + 30.0, True)


def test_the_agents_report_says_where_they_are():
    """The placements of a holder are known where the inventory shows them."""
    there = pod("serve-1", node="node-a", owner=REPLICAS)
    reported = node(annotations=inventory([{"1g.5gb": 7}], pods={3: "default/serve-1"}))
    own = evicting().model_copy(update={"pools": (pool(driver=Driver.AGENT),)})
    (found,) = holders(reported, there, under=own)
    assert found.places is not None
    assert [(i.profile, i.start) for i in found.places.instances] == [("1g.5gb", 3)]


def test_budgets_are_named_with_the_room_they_leave():
    """A plan must know how many of a budget's pods it may evict in all."""
    selector = LabelSelector((Expression("app", "In", ("serve",)),))
    budget = PodDisruptionBudget(
        "default", "serve", selector, disruptions_allowed=2, expected_pods=3
    )
    there = pod("serve-1", node="node-a", owner=REPLICAS, labels={"app": "serve"})
    demand = demanded(node(), there, under=evicting(), metrics=metrics(), budgets=(budget,))
    assert demand.holders[0].budgets == ("default/serve",)
    assert demand.room == {"default/serve": 2}


def test_priorities_weigh_holders_as_they_weigh_pending_pods():
    """A pod that is evicted waits with the weight it was served with."""
    own = evicting().model_copy(update={"priorities": {"high": 5.0}})
    there = pod("serve-1", node="node-a", owner=REPLICAS, priority_class="high")
    (found,) = holders(node(), there, under=own)
    assert found.weight == 5.0
