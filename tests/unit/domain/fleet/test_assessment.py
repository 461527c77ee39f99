"""From one observation to the fleet as the planner sees it."""

import random
from dataclasses import replace

from autoscaler.domain.cluster.objects import Taint
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.assessment import Memory, assess, remember
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.policy.pool import Driver
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, node, observation, pod
from tests.fleets import assessed, config_map, entry, inventory, only, policy, pool, reasons
from tests.rollouts import journal

SMALL = "nvidia.com/mig-1g.5gb"
TWO_GPUS = [{"1g.5gb": 7}] * 2


def with_journal(**changes):
    """Return a node that our rollout has closed."""
    own = journal(**changes)
    annotations = {"mig-autoscaler.io/rollout": journal_to_text(own)}
    return node(layout=TWO_GPUS, annotations=annotations, unschedulable=True)


def test_a_node_in_order_is_a_candidate_with_its_free_supply():
    """Three of fourteen instances are taken."""
    pods = [pod(f"p{i}", node="node-a") for i in range(3)]
    found = only(assessed(node(layout=TWO_GPUS), *pods))
    assert found.is_changeable
    assert found.supply == Counts({SMALL: 14})
    assert found.free == Counts({SMALL: 11})
    assert [p.name for p in found.holders] == ["p0", "p1", "p2"]


def test_the_order_of_lists_does_not_matter():
    """Same cluster, same snapshot."""
    nodes = [node(f"n{i}", TWO_GPUS) for i in range(4)]
    pods = [pod(f"p{i}", node=f"n{i % 4}") for i in range(9)]
    first = assess(observation(*nodes, *pods), policy(), None, NOW_S)
    mixed = observation(*nodes, *pods)
    shuffled = random.Random(7)
    mixed = replace(
        mixed,
        nodes=tuple(shuffled.sample(mixed.nodes, 4)),
        pods=tuple(shuffled.sample(mixed.pods, 9)),
    )
    assert assess(mixed, policy(), None, NOW_S) == first


def test_a_node_twice_with_different_content_is_not_believed():
    """The same node twice is one node."""
    assert only(assessed(node(), node())).is_changeable
    found = assessed(node(layout=TWO_GPUS), node())
    own = only(found)
    assert own.supply == Counts()
    assert not own.is_changeable
    assert Reason.DUPLICATE_NODE in {hold.reason for hold in found.holds}


def test_nodes_of_no_pool_are_supply_only():
    """They are judged for pods and never changed."""
    other = node("b", key="a30-24gb", layout=[{"1g.6gb": 4}])
    a100 = policy(pool(node_selector={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}))
    found = assessed(node("a"), other, under=a100)
    assert [n.name for n in found.nodes] == ["a"]
    assert [(n.name, n.pool) for n in found.outsiders] == [("b", "")]
    assert found.outsiders[0].free == Counts({"nvidia.com/mig-1g.6gb": 4})
    assert found.pools_total == {"pool": 1}


def test_an_unknown_board_of_no_pool_is_told():
    """A policy by product would pass over it in silence."""
    a100 = policy(pool(node_selector={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}))
    strange = node("b", labels={"nvidia.com/gpu.product": "NVIDIA-X999"})
    found = assessed(node("a"), strange, under=a100)
    assert [(h.node, h.reason) for h in found.holds] == [("b", Reason.UNKNOWN_MODEL)]
    old = replace(strange, labels={**strange.labels, "nvidia.com/mig.capable": "false"})
    assert assessed(node("a"), old, under=a100).holds == ()


def test_a_node_that_two_pools_claim_is_an_outsider_with_a_hold():
    """Its supply counts all the same."""
    both = policy(pool("a"), pool("b"))
    found = assessed(node(), under=both)
    assert found.nodes == ()
    assert found.outsiders[0].supply == Counts({SMALL: 7})
    assert [hold.reason for hold in found.holds] == [Reason.AMBIGUOUS_POOL]


def test_an_ignored_node_is_nowhere():
    """Neither supply nor target."""
    own = node(annotations={"mig-autoscaler.io/ignore": "true"})
    found = assessed(own, node("b"))
    assert [n.name for n in (*found.nodes, *found.outsiders)] == ["b"]


def test_leaving_and_unready_nodes_offer_nothing():
    """A node of which nothing new can come is no supply."""
    leaving = node(taints=(Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule"),))
    assert only(assessed(leaving)).supply == Counts()
    assert only(assessed(node(ready=False))).supply == Counts()
    held = node(annotations={"mig-autoscaler.io/hold": "true"})
    assert only(assessed(held)).supply == Counts({SMALL: 7})


def test_an_open_rollout_offers_what_it_is_about_to_make():
    """And once it goes back, what was before."""
    found = only(assessed(with_journal(state=State.DRAINING)))
    assert found.journal is not None
    assert reasons(found) == {Reason.CHANGE_IN_PROGRESS}
    assert found.target_supply == Counts({SMALL: 7, "nvidia.com/mig-3g.20gb": 2})
    assert [gpu.counts for gpu in found.gpus] == [Counts({"1g.5gb": 7})] * 2
    back = only(assessed(with_journal(state=State.ROLLING_BACK)))
    assert back.target_supply == Counts({SMALL: 14})
    given_up = only(assessed(with_journal(state=State.QUARANTINED)))
    assert given_up.target_supply is None


def test_a_journal_of_another_uid_is_not_continued():
    """It was carried over to other hardware."""
    own = replace(with_journal(), uid="other")
    found = only(assessed(own))
    assert found.journal is None
    assert Reason.UNREADABLE in reasons(found)


def test_the_change_of_someone_else_is_supply_on_its_way():
    """As far as its configuration is known."""
    labels = {"nvidia.com/mig.config": "mine", "nvidia.com/mig.config.state": "pending"}
    own = node(layout=TWO_GPUS, labels=labels)
    maps = (config_map({"mine": [entry("all", {"3g.20gb": 2})]}),)
    found = only(assessed(own, config_maps=maps))
    assert found.target_supply == Counts({"nvidia.com/mig-3g.20gb": 4})
    assert only(assessed(own)).target_supply is None


def test_pods_that_hold_what_is_not_advertised_unsettle_a_node():
    """They are of a layout that is gone."""
    user = pod("old", "3g.20gb", node="node-a")
    found = only(assessed(node(), user))
    assert reasons(found) == {Reason.NOT_SETTLED}
    assert "hold 1 nvidia.com/mig-3g.20gb, it advertises 0" in found.holds[0].message
    assert not found.gpus[0].is_idle


def test_failures_hold_a_node_after_their_pods_are_collected():
    """Memory of the last cycle says so."""
    times = {"created_s": NOW_S - 30.0, "phase": "Failed", "node": "node-a"}
    failed = [pod(f"r{i}", reason="UnexpectedAdmissionError", **times) for i in range(2)]
    memory = remember(assessed(node(), *failed), Memory())
    found = only(assessed(node(), memory=memory))
    assert reasons(found) == {Reason.ADMISSION_FAILURES}


def test_an_inventory_pins_what_is_held_where_it_is():
    """One instance of the first GPU has a holder."""
    layout = [{"3g.20gb": 2}] * 2
    report = inventory(layout, pods={1: "default/p"})
    own = node(layout=layout, annotations=report)
    agent = policy(pool(driver=Driver.AGENT))
    found = only(assessed(own, pod("p", "3g.20gb", node="node-a"), under=agent))
    assert [str(gpu.pinned) for gpu in found.gpus] == ["3g.20gb@4", "empty"]
    assert [gpu.held for gpu in found.gpus] == [Counts({"3g.20gb": 1}), Counts()]
    assert reasons(found) == set()


def test_a_holder_that_the_api_does_not_know_holds_nothing():
    """The report is older than the read."""
    layout = [{"3g.20gb": 2}]
    own = node(layout=layout, annotations=inventory(layout, pods={0: "default/gone"}))
    assert only(assessed(own)).gpus[0].is_idle


def test_a_report_that_cannot_be_read_holds_its_node():
    """The key that is wrong is in the message."""
    own = node(annotations={"mig-autoscaler.io/inventory": '{"gpus": 3}'})
    found = only(assessed(own))
    assert reasons(found) == {Reason.UNREADABLE}
    assert "gpus: must be list" in found.holds[0].message


def test_the_inventory_names_the_board_while_its_label_is_away():
    """Feature discovery is stopped during a change."""
    layout = [{"3g.20gb": 2}]
    labels = {"nvidia.com/mig.config": "all-3g.20gb", "nvidia.com/mig.config.state": "pending"}
    own = replace(node(layout=layout, annotations=inventory(layout)), labels=labels)
    found = only(assessed(own))
    assert found.model is not None
    assert found.model.key == "a100-40gb"


def test_reserved_nodes_are_marked_and_an_impossible_reserve_is_told():
    """The pool wants two whole nodes and has one node."""
    own = node(layout=[{"7g.40gb": 1}])
    found = assessed(own, under=policy(pool(reserve={"full_gpu_nodes": 2})))
    assert only(found).reserved
    assert {hold.reason for hold in found.holds} == {
        Reason.RESERVED,
        Reason.RESERVE_IMPOSSIBLE,
    }


def test_the_operators_configuration_file_is_told_for_the_whole_fleet():
    """Nodes can be planned; nothing can be applied until then."""
    found = assessed(node(), mig_config_map="default-mig-parted-config")
    assert [(h.node, h.reason) for h in found.holds] == [(None, Reason.OPERATOR_CONFIG)]
    assert only(found).is_changeable


def test_managers_that_are_known_to_be_missing_hold_their_nodes():
    """A file without any pod of the operator says nothing about it."""
    live = only(assessed(node(), manager_nodes=frozenset()))
    assert reasons(live) == {Reason.NO_MIG_MANAGER}
    files = only(assessed(node(), manager_nodes=frozenset(), offline=True))
    assert files.holds == ()


def test_a_file_may_leave_conditions_out():
    """The API server never does, so there it is no good sign."""
    own = node(ready=None, ready_since_s=None)
    found = only(assessed(own, offline=True))
    assert found.is_changeable
    assert found.node.ready is True
    assert reasons(only(assessed(own))) == {Reason.NOT_READY}


def test_the_inventory_counts_the_boards_where_no_label_does():
    """A label that is there is believed first."""
    layout = [{"3g.20gb": 2}] * 2
    own = node(layout=layout, annotations=inventory(layout))
    labels = {k: v for k, v in own.labels.items() if k != "nvidia.com/gpu.count"}
    assert len(only(assessed(replace(own, labels=labels))).gpus) == 2


def test_a_node_of_strategy_single_is_seen_and_only_observed():
    """Its product names the profile, its count is that of the instances."""
    own = node(
        layout=[{"1g.5gb": 7}] * 2,
        labels={
            "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
            "nvidia.com/gpu.count": "14",
            "nvidia.com/mig.strategy": "single",
        },
        allocatable=Counts({"nvidia.com/gpu": 14}),
        capacity=Counts({"nvidia.com/gpu": 14}),
    )
    found = only(assessed(own))
    assert reasons(found) == {Reason.OBSERVE_ONLY}
    assert [gpu.counts for gpu in found.gpus] == [Counts({"1g.5gb": 7})] * 2
