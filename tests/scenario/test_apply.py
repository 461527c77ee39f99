"""A saved plan applied by a person: exactly it, or a refusal that says what changed."""

import pytest

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.control.apply import Apply
from autoscaler.control.outside import Outside
from autoscaler.control.setting import Setting, leadership_for
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.policy import Mode
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.store import StoreClient
from tests.loops import (
    Killed,
    Replica,
    annotate,
    annotations,
    auto_policy,
    is_closed,
    kill_at_write,
    mutations,
    status_of,
    world_with_namespace,
)
from tests.worlds import CONFIG, HALVES, ONE, THREE, devices, set_labels, task

DRY_RUN = auto_policy(Mode.DRY_RUN)


def planned_world(nodes=("n1",), number=7, policy=DRY_RUN):
    """Return a cluster and the plan that a dry run has made for it."""
    world = world_with_namespace(HALVES, nodes=nodes)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=9000.0) for i in range(number)])
    dry_run = Replica(world, policy)
    world.run_for(5)
    dry_run.is_alive = False
    return world, dry_run.outcomes[-1].plan


def person(world, plan, policy=DRY_RUN, name="person"):
    """Return an apply of a plan by a person."""
    cluster = KubernetesCluster(StoreClient(world.store, name), world.clock)
    outside = Outside(cluster, world.clock, identity=name)
    acts = policy.model_copy(update={"mode": Mode.AUTO})
    return Apply(Setting(outside, policy, leadership_for(outside, acts)), plan)


def test_a_plan_is_carried_out_to_its_end():
    """In dry-run mode too, since a person asks; persistence is left out."""
    world, plan = planned_world()
    applied = person(world, plan).run()
    assert applied.is_done
    assert [r.result for r in applied.records] == [Result.DONE]
    assert (devices(world)[ONE], is_closed(world), annotations(world)) == (7, False, {})
    assert status_of(world)["openRollouts"] == []


def test_nodes_are_rolled_one_after_the_other_as_the_budget_says():
    """The rest of the plan waits for the first."""
    world, plan = planned_world(nodes=("n1", "n2"), number=14)
    assert len(plan.changes) == 2
    applied = person(world, plan).run()
    first, second = applied.records
    assert first.ended_at_s <= second.started_at_s
    assert applied.is_done


def refused(world, plan, policy=DRY_RUN):
    """Return the refusals of an apply that must not touch a node."""
    applied = person(world, plan, policy).run()
    assert not [r for r in mutations(world, "person") if r.resource in {"nodes", "pods"}]
    assert not applied.records
    assert applied.refusals
    return " ".join(applied.refusals)


def test_a_node_that_was_relabelled_since_is_refused():
    """The plan rests on what the node was."""
    world, plan = planned_world()
    set_labels(world, {CONFIG: "all-2g.10gb"})
    world.run_for(200)
    assert "n1 have changed since" in refused(world, plan)


def test_another_policy_is_refused():
    """What the plan may do is not what the policy says now."""
    world, plan = planned_world()
    other = auto_policy(Mode.DRY_RUN, disruption={"cooldown": "1h"})
    assert "another policy" in refused(world, plan, other)


def test_mode_off_is_refused():
    """Off means off."""
    world, plan = planned_world()
    assert "mode is off" in refused(world, plan, auto_policy(Mode.OFF))


def test_a_closed_window_is_refused_with_its_next_opening():
    """The gate holds for people too."""
    shut = auto_policy(Mode.DRY_RUN, disruption={"windows": ()})
    world, plan = planned_world(policy=shut)
    assert "OutsideWindow" in refused(world, plan, shut)


def test_a_held_node_is_refused():
    """Somebody wants it left alone."""
    world, plan = planned_world()
    annotate(world, "n1", hold="true")
    assert "Held" in refused(world, plan)


def test_while_the_loop_leads_a_person_is_told_who_it_is():
    """Two must not act at once."""
    world, plan = planned_world()
    Replica(world, auto_policy(disruption={"windows": ()}), name="loop-1")
    world.run_for(5)
    assert "loop-1" in refused(world, plan)


def test_a_broken_off_apply_goes_on_where_it_was():
    """The same plan again finds its own rollout."""
    world, plan = planned_world()
    kill_at_write(world, 4, Point.AFTER_APPLY, "person")
    with pytest.raises(Killed):
        person(world, plan).run()
    assert is_closed(world)
    applied = person(world, plan).run()
    assert applied.is_done
    assert (devices(world)[ONE], is_closed(world)) == (7, False)


def test_an_api_server_that_is_away_for_a_while_is_waited_for():
    """A rollout is under way, so giving up would leave the node closed."""
    world, plan = planned_world()

    def is_late_list(request):
        return request.kind.plural == "pods" and request.user_agent == "person"

    rule = Rule(Point.BEFORE_APPLY, Fault(code=503), is_late_list, skip=4, times=3)
    world.store.faults.add(rule)
    assert person(world, plan).run().is_done
    assert rule.struck == 3


def test_after_a_failure_nothing_more_is_started():
    """One node is enough to find out."""
    world, plan = planned_world(nodes=("n1", "n2"), number=14)
    world.faults.stuck_operands.add(("n1", "nvidia-dcgm-exporter"))
    applied = person(world, plan).run()
    assert [(r.node, r.result) for r in applied.records] == [("n1", Result.ROLLED_BACK)]
    assert "the change of n1 is being repaired" in applied.refusals[0]
    assert devices(world, "n2")[THREE] == 2
