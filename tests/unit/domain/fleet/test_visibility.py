"""Whether metrics show who sits where, on nodes that MIG manager cuts in part."""

from dataclasses import replace

import pytest

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.demand.fingerprint import digest
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.reasons import Reason
from autoscaler.planning.gating.gate import gate
from autoscaler.planning.planner import make_plan
from tests.builders import NOW_S, fleet_node, node, pod, snapshot, waiting
from tests.fleets import assessed, inventory, metrics, only, policy, pool, sample

HALVES = [{"3g.20gb": 2}] * 2
HALF_AND_SMALL = [{"3g.20gb": 2}, {"1g.5gb": 7}]
BIG = "3g.20gb"


def seen(*samples, runs_s=500.0, **changes):
    """Return what is said of a node with one pod on its first GPU."""
    held = pod("big", BIG, node="node-a", started_s=NOW_S - runs_s)
    found = only(assessed(node(layout=HALVES), held, metrics=metrics(*samples), **changes))
    return found.unseen


def of_big(**changes):
    return sample(0, "big", BIG, **changes)


def others():
    """Return samples of the three halves that nobody holds."""
    return [sample(index, None, BIG) for index in (0, 1, 1)]


def test_a_pod_that_metrics_name_is_seen():
    """Then a fresh look after the cordon will show it as well."""
    assert seen(of_big(), *others()) == ""


def test_instances_that_metrics_do_not_show_prove_nothing():
    """An exporter that leaves some out, for a while or for good."""
    assert "on GPU 1, it should hold 2x3g" in seen(of_big(), *others()[:2])


def test_what_is_gone_since_the_last_look_does_not_count():
    """Prometheus keeps showing it for some minutes."""
    gone = sample(1, None, "7g.40gb", sampled_at_s=NOW_S - 200.0)
    assert seen(of_big(), *others(), gone) == ""


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ((), "metrics show nothing of this node"),
        ((sample(0, "big", BIG, node="elsewhere"),), "metrics show nothing of this node"),
        ((sample(0, None, BIG),), "metrics do not show where default/big sits"),
    ],
)
def test_a_pod_that_metrics_do_not_name_is_not(samples, said):
    """Whatever can be concluded about it: the proof is what fresh samples show."""
    assert seen(*samples) == said


def test_a_pod_that_has_just_started_will_be_shown():
    """Exporters collect and are scraped every so often."""
    unnamed = (sample(0, None, BIG), *others())
    assert seen(*unnamed, runs_s=20.0) == ""
    assert seen(*unnamed, runs_s=61.0) != ""


def test_without_metrics_nothing_is_seen():
    """Nor with a part of them."""
    held = pod("big", BIG, node="node-a")
    fleet = (node(layout=HALVES), held)
    assert only(assessed(*fleet)).unseen == "there are no metrics"
    partial = metrics(of_big(), partial=True)
    assert "partial" in only(assessed(*fleet, metrics=partial)).unseen


def test_where_nothing_must_be_shown_nothing_is_missing():
    """Files, empty nodes, and nodes of the agent, whose own report says it."""
    held = pod("big", BIG, node="node-a")
    assert only(assessed(node(layout=HALVES), held, offline=True)).unseen == ""
    assert only(assessed(node(layout=HALVES))).unseen == ""
    own = node(layout=HALVES, annotations=inventory(HALVES, pods={0: "default/big"}))
    by_agent = policy(pool(driver=Driver.AGENT))
    assert only(assessed(own, held, under=by_agent)).unseen == ""


def blind(name="node-a", **changes):
    """Return a node of which one GPU is idle and the other is not, without metrics."""
    own = fleet_node(name, HALF_AND_SMALL, [{BIG: 1}], **changes)
    return replace(own, holders=(pod("big", BIG, node=name),), unseen="there are no metrics")


def planned(fleet, *groups):
    """Return the plan with its blocks."""
    rules = policy()
    return gate(make_plan(fleet, Demand(groups), rules, NOW_S), fleet, rules, NOW_S)


def test_an_empty_node_is_cut_rather_than_a_part_of_a_blind_one():
    """Even where more of it would be closed."""
    names = ("node-a", "node-b")
    empty = fleet_node("node-b", [{"1g.5gb": 7}] * 2)
    found = planned(snapshot(blind(), empty), waiting("4g.20gb", nodes=names))
    (change,) = found.changes
    assert (change.node, change.blocked_by) == ("node-b", ())


def test_a_part_of_a_blind_node_is_proposed_and_may_not_start():
    """People see what metrics would allow, and what is missing."""
    found = planned(snapshot(blind()), waiting("4g.20gb"))
    (change,) = found.changes
    assert [block.reason for block in change.blocked_by] == [Reason.METRICS_MISSING]
    assert "there are no metrics" in change.blocked_by[0].message
    seeing = replace(blind(), unseen="")
    (change,) = planned(snapshot(seeing), waiting("4g.20gb")).changes
    assert change.blocked_by == ()


def test_what_metrics_begin_to_show_is_news():
    """A loop that sleeps while nothing is new wakes up for it."""
    without, with_it = snapshot(blind()), snapshot(replace(blind(), unseen=""))
    assert digest(without, Demand()) != digest(with_it, Demand())
