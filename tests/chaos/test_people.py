"""People, and programs of other people, have a hand in the middle of a rollout."""

import json

import pytest

from autoscaler.domain.journal.rollout import Result
from autoscaler.ports import CONFIG_MAPS, LEASES, NODES, PODS
from tests.chaos.stage import BlindMetrics, stage_of
from tests.loops import (
    NAMESPACE,
    STATUS,
    annotate,
    annotations,
    auto_policy,
    is_closed,
    mutations,
)
from tests.worlds import CONFIG, HALVES, ONE, OPERATOR, THREE, devices, label, pods, set_labels

# Moments of the rollout that ``stage_of`` leads to: closed at 30 s, labelled at 150 s,
# MIG manager done at about 180 s, settled at 210 s, over at 240 s.
BEFORE_LABEL = (31, 149)
AFTER_LABEL = (151, 165, 220)
LARGE = "all-3g.20gb"


def staged(at_s, **changes):
    """Return a rollout at some second of it."""
    stage = stage_of(HALVES, HALVES, **changes)
    stage.join(metrics=BlindMetrics(stage.world))
    stage.run(at_s)
    return stage


def results(stage):
    """Return how rollouts ended."""
    return [r.result for r in stage.replicas["replica-1"].records]


def said(stage):
    """Return what the first record says."""
    return stage.replicas["replica-1"].records[0].message


def served(stage):
    """Say whether the jobs run and the node is open."""
    return (devices(stage.world)[ONE], is_closed(stage.world)) == (7, False)


def untouched(stage):
    """Say whether the node is as it was."""
    found = (label(stage.world, CONFIG), devices(stage.world)[THREE], is_closed(stage.world))
    return found == (LARGE, 4, False)


def patch_node(stage, body, name="n1"):
    """Patch a node as a person does."""
    stage.world.platform.client.patch(NODES, None, name, body)


def node_writes(stage):
    """Return how often the replica has written nodes."""
    return sum(1 for r in mutations(stage.world) if r.resource == "nodes")


@pytest.mark.parametrize("at_s", BEFORE_LABEL)
def test_opening_the_node_before_the_label_ends_the_rollout(at_s):
    """A person wants the node; nothing was asked of it yet."""
    stage = staged(at_s)
    stage.cordon(closed=False)
    stage.run(60)
    assert (results(stage), untouched(stage)) == ([Result.ABORTED], True)
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", AFTER_LABEL)
def test_opening_the_node_after_the_label_is_undone_once_and_then_respected(at_s):
    """The driver's manager opens nodes by itself; a person who insists means it."""
    stage = staged(at_s)
    stage.cordon(closed=False)
    stage.run(30)
    if stage.is_busy():
        stage.cordon(closed=False)
        stage.run(29)
        assert not is_closed(stage.world)
    stage.rest()
    assert (results(stage), served(stage)) == ([Result.DONE], True)
    stage.audit.check_end()


def test_a_node_that_was_closed_before_stays_closed():
    """Such a node is not changed at all, and nobody opens it."""
    stage = stage_of(HALVES, HALVES)
    stage.cordon()
    stage.join()
    stage.run(2000)
    assert (results(stage), is_closed(stage.world)) == ([], True)
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", [245, 300])
def test_a_node_that_a_person_closes_after_the_rollout_stays_closed(at_s):
    """The cordon is theirs."""
    stage = staged(at_s)
    stage.cordon()
    stage.run(300)
    assert is_closed(stage.world)
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", BEFORE_LABEL)
def test_another_configuration_before_the_label_ends_the_rollout(at_s):
    """It is not written over."""
    stage = staged(at_s)
    set_labels(stage.world, {CONFIG: "all-2g.10gb"})
    stage.run(60)
    assert results(stage) == [Result.ABORTED]
    assert said(stage).startswith("ForeignConfig")
    assert label(stage.world, CONFIG) == "all-2g.10gb"
    stage.run(300)
    stage.audit.check_end()


@pytest.mark.parametrize("value", ["all-2g.10gb", None])
@pytest.mark.parametrize("at_s", AFTER_LABEL)
def test_another_configuration_after_the_label_is_left_as_it_is(at_s, value):
    """Two writers would cut the node for ever."""
    stage = staged(at_s)
    set_labels(stage.world, {CONFIG: value})
    stage.run(600)
    stage.rest()
    assert (results(stage), label(stage.world, CONFIG)) == ([Result.FOREIGN], value)
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", BEFORE_LABEL)
def test_an_abort_before_the_label_undoes_the_rollout(at_s):
    """The request is removed with it."""
    stage = staged(at_s)
    annotate(stage.world, "n1", abort="true")
    stage.run(60)
    assert (results(stage), untouched(stage)) == ([Result.ABORTED], True)
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", AFTER_LABEL)
def test_an_abort_after_the_label_leads_back_unless_it_is_done_already(at_s):
    """There is no way but forward or back."""
    stage = staged(at_s)
    annotate(stage.world, "n1", abort="true")
    stage.run(60)
    stage.rest()
    # From 180 s on the node offers what it should.
    is_back = at_s < 180
    assert results(stage) == [Result.ROLLED_BACK if is_back else Result.DONE]
    assert untouched(stage) is is_back
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", BEFORE_LABEL)
def test_a_rollout_that_came_to_nothing_is_planned_again(at_s):
    """After its rest, though nothing else has changed meanwhile."""
    stage = staged(at_s)
    annotate(stage.world, "n1", abort="true")
    stage.run(2400)
    stage.rest()
    assert (results(stage), served(stage)) == ([Result.ABORTED, Result.DONE], True)
    stage.audit.check_end()


def pause(stage, value="by ops"):
    """Set or remove the pause."""
    body = {"metadata": {"annotations": {"mig-autoscaler.io/pause": value}}}
    stage.world.platform.client.patch(CONFIG_MAPS, NAMESPACE, STATUS, body)


@pytest.mark.parametrize("at_s", BEFORE_LABEL)
def test_a_pause_before_the_label_holds_the_rollout(at_s):
    """Until it is resumed; past its deadline the node is given back."""
    stage = staged(at_s)
    pause(stage)
    stage.run(600)
    assert (label(stage.world, CONFIG), stage.is_busy()) == (LARGE, True)
    pause(stage, None)
    stage.rest()
    assert (results(stage), served(stage)) == ([Result.DONE], True)
    stage.audit.check_end()


def test_a_pause_without_end_gives_the_node_back():
    """At the deadline of the drain."""
    stage = staged(100)
    pause(stage)
    stage.run(1300)
    assert (results(stage), untouched(stage)) == ([Result.ABORTED], True)
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", AFTER_LABEL)
def test_a_pause_after_the_label_does_not_leave_a_node_half_done(at_s):
    """What was begun is brought to its end."""
    stage = staged(at_s)
    pause(stage)
    stage.rest()
    assert (results(stage), served(stage)) == ([Result.DONE], True)
    stage.audit.check_end()


@pytest.mark.parametrize("mark", ["hold", "ignore", "reserved"])
@pytest.mark.parametrize("at_s", BEFORE_LABEL)
def test_marks_that_keep_us_away_end_a_rollout_before_the_label(at_s, mark):
    """Whoever sets them wants the node as it is."""
    stage = staged(at_s)
    annotate(stage.world, "n1", **{mark: "true"})
    stage.run(60)
    assert (results(stage), untouched(stage)) == ([Result.ABORTED], True)
    stage.audit.check_end()


@pytest.mark.parametrize("mark", ["hold", "ignore", "reserved"])
@pytest.mark.parametrize("at_s", AFTER_LABEL)
def test_marks_that_keep_us_away_do_not_leave_a_node_half_done(at_s, mark):
    """After the label the rollout is brought to its end."""
    stage = staged(at_s)
    annotate(stage.world, "n1", **{mark: "true"})
    stage.rest()
    assert (results(stage), served(stage)) == ([Result.DONE], True)
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", [*BEFORE_LABEL, *AFTER_LABEL])
def test_a_pool_that_an_edit_takes_away_leaves_no_node_behind(at_s):
    """Before the label all is undone, after it all is brought to its end."""
    stage = staged(at_s)
    elsewhere = ({"name": "other", "nodeSelector": {"other": "yes"}},)
    stage.edit(auto_policy(pools=elsewhere))
    stage.run(90)
    stage.rest()
    is_early = at_s in BEFORE_LABEL
    assert results(stage) == [Result.ABORTED if is_early else Result.DONE]
    assert untouched(stage) is is_early
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", [*BEFORE_LABEL, *AFTER_LABEL])
def test_a_window_that_closes_ends_only_what_has_no_label_yet(at_s):
    """The rest is brought to its end."""
    stage = staged(at_s)
    stage.edit(auto_policy(disruption={"windows": ()}))
    stage.run(2500)
    stage.rest()
    is_early = at_s in BEFORE_LABEL
    assert results(stage) == [Result.ABORTED if is_early else Result.DONE]
    assert untouched(stage) is is_early
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", BEFORE_LABEL)
def test_jobs_that_went_away_end_a_rollout_before_the_label(at_s):
    """There is nobody left to serve."""
    stage = staged(at_s)
    for name in pods(stage.world):
        stage.world.platform.client.delete(PODS, "jobs", name)
    stage.run(60)
    assert (results(stage), untouched(stage)) == ([Result.ABORTED], True)
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", [*BEFORE_LABEL, *AFTER_LABEL, 300])
@pytest.mark.parametrize(
    ("kind", "namespace", "name"),
    [
        (CONFIG_MAPS, NAMESPACE, STATUS),
        (LEASES, NAMESPACE, "mig-autoscaler"),
        (CONFIG_MAPS, OPERATOR, "mig-autoscaler-config"),
    ],
)
def test_objects_of_ours_that_are_deleted_come_back(at_s, kind, namespace, name):
    """The journal on the node is all that a rollout needs."""
    stage = staged(at_s)
    stage.world.platform.client.delete(kind, namespace, name)
    stage.run(300)
    stage.rest()
    assert served(stage)
    assert at_s == 300 or results(stage) == [Result.DONE]
    kept = stage.world.platform.client.get(CONFIG_MAPS, NAMESPACE, STATUS)["data"]
    assert [r["result"] for r in json.loads(kept["history.json"])] == ["done"]
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", [*BEFORE_LABEL, *AFTER_LABEL])
def test_a_journal_that_is_taken_away_leaves_the_node_to_who_did_it(at_s):
    """Nothing is written there any more; it is told, and nothing else is held up."""
    stage = staged(at_s)
    annotate(stage.world, "n1", rollout=None)
    writes = node_writes(stage)
    stage.run(600)
    assert results(stage) == [Result.GONE]
    assert said(stage).startswith("JournalRemoved")
    assert (node_writes(stage), is_closed(stage.world)) == (writes, True)


@pytest.mark.parametrize("text", ['{"id":"x"', "[]", "", '{"id": "n1-1"}'])
def test_a_journal_that_cannot_be_read_is_never_acted_on(text):
    """The node is held, with the reason."""
    stage = staged(20)
    annotate(stage.world, "n1", rollout=text)
    stage.run(600)
    outcome = stage.replicas["replica-1"].outcomes[-1]
    assert "Unreadable" in {hold.reason.value for hold in outcome.view.snapshot.holds}
    assert (results(stage), untouched(stage)) == ([], True)
    assert annotations(stage.world)["mig-autoscaler.io/rollout"] == text


@pytest.mark.parametrize("at_s", [*BEFORE_LABEL, *AFTER_LABEL])
def test_marks_for_node_autoscalers_that_are_changed_meanwhile_stay_as_changed(at_s):
    """Only what still reads as we wrote it is put back."""
    stage = staged(at_s)
    theirs = {"karpenter.sh/do-not-disrupt": "48h"}
    patch_node(stage, {"metadata": {"annotations": theirs}})
    stage.rest()
    found = annotations(stage.world)
    assert at_s in BEFORE_LABEL or found == theirs
    assert "cluster-autoscaler.kubernetes.io/scale-down-disabled" not in found
    assert (results(stage), served(stage)) == ([Result.DONE], True)
