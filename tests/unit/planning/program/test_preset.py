"""Presets: layouts that people name, by time, by label, and by what waits."""

from dataclasses import replace

import pytest

from autoscaler.adapters.policy_file import parse_policy
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.journal.rollout import Layout
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.reasons import Reason
from autoscaler.planning.planner import make_plan
from tests.builders import NOW_S, fleet_node, placed, snapshot, waiting
from tests.fleets import policy, pool
from tests.rollouts import journal

# NOW_S is a Tuesday, 22:13 UTC.
NIGHT, DAY = {"start": "20:00", "end": "06:00"}, {"start": "08:00", "end": "18:00"}
SMALL, HALVES, WHOLE = {"1g.5gb": 7}, {"3g.20gb": 2}, {"7g.40gb": 1}
PRESETS = {
    name: {"a100-40gb": layout}
    for name, layout in {
        "inference": SMALL,
        "training": HALVES,
        "whole": WHOLE,
        "odd": {"3g.20gb": 1},
    }.items()
}


def plan_with(fleet, *uses, groups=(), now_s=NOW_S, **changes):
    """Return the plan of a pool whose presets are used like this."""
    own = policy(pool(presets=tuple(uses), **changes), presets=PRESETS)
    return make_plan(fleet, Demand(tuple(groups)), own, now_s)


def journal_to(counts):
    """Return the journal of a rollout that gives one GPU a layout."""
    return journal(target=Layout("as-target", (Counts(counts),), Counts()))


def layouts(plan):
    """Return the layout of each changed node."""
    return {c.node: [dict(counts) for counts in c.layout] for c in plan.changes}


def two_gpus(name="node-a", counts=SMALL, **changes):
    """Return an idle node of two GPUs alike."""
    return fleet_node(name, [counts, counts], **changes)


def test_a_preset_is_made_whatever_is_asked_for():
    """It outweighs demand, as a floor does, and says so in its price."""
    fleet = snapshot(two_gpus())
    plan = plan_with(fleet, {"preset": "training"}, groups=[waiting("1g.5gb", 14)])
    assert layouts(plan) == {"node-a": [HALVES, HALVES]}
    (change,) = plan.changes
    assert change.price.rule > 0
    assert change.price.waiting_avoided < 0
    done = snapshot(two_gpus(counts=HALVES))
    assert plan_with(done, {"preset": "training"}).changes == ()


def test_a_node_that_is_changing_counts_with_what_it_is_about_to_hold():
    """Half of four GPUs: one has it, one is about to, and so it goes the other way."""

    def fleet(before, target):
        return snapshot(
            fleet_node("a", [HALVES]),
            fleet_node("b", [before], journal=journal_to(target)),
            fleet_node("c", [SMALL]),
            fleet_node("d", [SMALL]),
        )

    use = {"preset": "training", "gpus": "50%"}
    assert plan_with(fleet(SMALL, HALVES), use).changes == ()
    assert list(layouts(plan_with(fleet(HALVES, SMALL), use))) == ["c"]


def test_a_preset_holds_at_its_time():
    """At night one, by day another."""
    uses = ({"preset": "training", "at": NIGHT}, {"preset": "whole", "at": DAY})
    fleet = snapshot(two_gpus())
    assert layouts(plan_with(fleet, *uses)) == {"node-a": [HALVES, HALVES]}
    by_day = plan_with(fleet, *uses, now_s=NOW_S + 12 * 3600.0)
    assert layouts(by_day) == {"node-a": [WHOLE, WHOLE]}
    between = plan_with(fleet, *uses, now_s=NOW_S - 3 * 3600.0)
    assert between.changes == ()


def test_a_preset_is_for_nodes_with_its_label():
    """Others are left to the optimizer."""
    own, other = two_gpus("node-a"), two_gpus("node-b")
    labelled = {**own.node.labels, "team": "research"}
    fleet = snapshot(replace(own, node=replace(own.node, labels=labelled)), other)
    plan = plan_with(fleet, {"preset": "training", "node_selector": {"team": "research"}})
    assert layouts(plan) == {"node-a": [HALVES, HALVES]}


def test_the_first_preset_of_a_node_counts():
    """A second one for the same node has no effect."""
    fleet = snapshot(two_gpus())
    plan = plan_with(fleet, {"preset": "whole"}, {"preset": "training"})
    assert layouts(plan) == {"node-a": [WHOLE, WHOLE]}


@pytest.mark.parametrize(("number", "is_made"), [(20, False), (21, True)])
def test_more_than_so_many_waiting_pods_call_for_a_preset(number, is_made):
    """The threshold itself is not more."""
    fleet = snapshot(two_gpus(counts=WHOLE))
    when = {"profile": "1g.5gb", "more_than": 20}
    pods = waiting("1g.5gb", number, nodes=())
    plan = plan_with(fleet, {"preset": "inference", "when": when}, groups=[pods])
    assert bool(plan.changes) is is_made


@pytest.mark.parametrize(("age_s", "is_made"), [(1799.0, False), (1800.0, True)])
def test_a_large_job_that_has_waited_for_long_calls_for_a_whole_gpu(age_s, is_made):
    """One GPU is consolidated, and the other keeps its instances."""
    fleet = snapshot(two_gpus())
    when = {"profile": "7g.40gb", "for_s": 1800.0}
    job = waiting("7g.40gb", nodes=(), created_s=(NOW_S - age_s,))
    plan = plan_with(fleet, {"preset": "whole", "when": when, "gpus": 1}, groups=[job])
    assert layouts(plan) == ({"node-a": [WHOLE, SMALL]} if is_made else {})


def test_a_share_of_the_gpus_leaves_the_rest_to_the_optimizer():
    """Half of four GPUs are for training, and a pod gets a whole one of the others."""
    fleet = snapshot(two_gpus("node-a"), two_gpus("node-b"))
    job = waiting("7g.40gb", nodes=("node-a", "node-b"))
    plan = plan_with(fleet, {"preset": "training", "gpus": "50%"}, groups=[job])
    after = [own for layout in layouts(plan).values() for own in layout]
    after += [SMALL] * (4 - len(after))
    assert sorted(map(str, after)) == sorted(map(str, [HALVES, HALVES, WHOLE, SMALL]))


def test_gpus_in_use_are_not_emptied_for_a_preset_and_it_is_said():
    """The hold names how far the preset is met."""
    fleet = snapshot(fleet_node("node-a", [SMALL, SMALL], [{"1g.5gb": 1}]))
    plan = plan_with(fleet, {"preset": "training"})
    assert layouts(plan) == {"node-a": [SMALL, HALVES]}
    (hold,) = plan.holds
    assert hold.reason is Reason.PRESET_IMPOSSIBLE
    assert "2 GPUs" in hold.message
    assert "1 can be had" in hold.message


def test_a_preset_may_leave_slices_empty():
    """A layout that is not full is made as it is written, by either driver."""
    manager = plan_with(snapshot(two_gpus()), {"preset": "odd"})
    assert layouts(manager) == {"node-a": [{"3g.20gb": 1}] * 2}
    node = two_gpus(driver=Driver.AGENT)
    gpus = tuple(replace(gpu, geometry=placed(dict(gpu.counts))) for gpu in node.gpus)
    agent = plan_with(
        snapshot(replace(node, gpus=gpus)), {"preset": "odd"}, driver=Driver.AGENT
    )
    assert layouts(agent) == {"node-a": [{"3g.20gb": 1}] * 2}


def test_reserved_nodes_have_no_presets():
    """They stay whole."""
    fleet = snapshot(two_gpus(counts=WHOLE, reserved=True))
    assert plan_with(fleet, {"preset": "training"}).changes == ()


HEAD = "apiVersion: mig-autoscaler.io/v1alpha1\nkind: MigPolicy\nmetadata: {name: x}\n"


@pytest.mark.parametrize(
    ("presets", "use", "said"),
    [
        ("{a: {a100-40gb: {1g.5gb: 8}}}", "{preset: a}", "cannot hold"),
        ("{a: {a100-40gb: {}}}", "{preset: a}", "cannot hold nothing"),
        ("{a: {a100-40gb: {9g.5gb: 1}}}", "{preset: a}", "9g.5gb is no profile"),
        ("{a: {a100: {1g.5gb: 1}}}", "{preset: a}", "no key of a GPU model"),
        ("{a: {a100-40gb: {1g.5gb: 7}}}", "{preset: b}", "there is no preset b"),
        (
            "{a: {a100-40gb: {1g.5gb: 7}}}",
            "{preset: a, when: {profile: 1g.7gb}}",
            "1g.7gb is no profile",
        ),
    ],
)
def test_presets_that_cannot_be_are_refused_with_their_place(presets, use, said):
    """No GPU holds them, or no preset of that name is there."""
    text = f"{HEAD}presets: {presets}\npools: [{{name: p, presets: [{use}]}}]\n"
    with pytest.raises(ConfigError) as error:
        parse_policy(text, "p.yaml")
    assert said in str(error.value)
    assert str(error.value).startswith("p.yaml:")
