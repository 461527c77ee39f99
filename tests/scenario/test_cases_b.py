"""Field cases of metrics: where pods sit, and that absence proves nothing.

How series are read is the adapter's business; these start from samples.
"""

from autoscaler.domain.counts import Counts
from autoscaler.domain.rollout.holding import holders_proof
from tests.builders import NOW_S, node, pod
from tests.fleets import assessed, metrics, only, sample

SINCE_S = NOW_S - 30.0


def test_b01_a_known_holder_without_a_pod_label_holds_every_gpu_it_may_sit_on():
    """The API says one pod holds an instance; no label says where."""
    layout = [{"1g.5gb": 7}] * 2
    view = metrics(*(sample(i // 7) for i in range(14)))
    found = only(assessed(node(layout=layout), pod("infer-0", node="node-a"), metrics=view))
    assert [gpu.held for gpu in found.gpus] == [Counts({"1g.5gb": 1})] * 2
    assert not any(gpu.is_idle or gpu.proven for gpu in found.gpus)


def test_b01_a_label_says_where_a_known_holder_sits():
    """With its label one GPU is held and the other provably idle."""
    layout = [{"1g.5gb": 7}] * 2
    view = metrics(sample(1, "infer-0"), sample(0))
    found = only(assessed(node(layout=layout), pod("infer-0", node="node-a"), metrics=view))
    assert [gpu.is_idle for gpu in found.gpus] == [True, False]
    assert [str(ref) for ref in found.gpus[1].holders] == ["default/infer-0"]
    assert all(gpu.proven for gpu in found.gpus)


def test_b03_a_profile_name_that_rounds_differently_still_seats_the_pod():
    """Exporter and plugin disagree on gigabytes; compute slices decide."""
    own = node(layout=[{"1g.12gb": 7}] * 2, key="h100-94gb")
    pods = [pod("infer-0", "1g.12gb", node="node-a")]
    view = metrics(sample(0, "infer-0", profile="1g.11gb", busy=True))
    found = only(assessed(own, *pods, metrics=view))
    assert [gpu.held for gpu in found.gpus] == [Counts({"1g.12gb": 1}), Counts()]
    assert found.holds == ()


def test_b06_instances_without_activity_leave_the_proof_incomplete():
    """Ten series for twelve instances: the two others are unknown, not idle."""
    layout = [{"3g.20gb": 2}] * 6
    pods = [pod(f"train-{i}", "3g.20gb", node="node-a") for i in range(12)]
    seen = [i for i in range(12) if i not in {3, 9}]
    view = metrics(*(sample(i // 2, f"train-{i}", "3g.20gb", busy=True) for i in seen))
    found = only(assessed(node(layout=layout), *pods, metrics=view))
    proof = holders_proof(found, found.holders, view=view, since_s=SINCE_S)
    assert not proof.is_proven
    assert "1x3g on GPU 1, it should hold 2x3g" in proof.gap
    # Four GPUs are full of known pods; only the other two have room for the unknown.
    assert [gpu.held for gpu in found.gpus] == [Counts({"3g.20gb": 2})] * 6
    assert [gpu.proven for gpu in found.gpus] == [True, False, True, True, False, True]


def test_b07_without_any_series_pods_hold_all_gpus_they_may_sit_on():
    """The exporter died; the layout is believed and nobody's seat is known."""
    layout = [{"1g.5gb": 7}] * 3
    pods = [pod("infer-0", node="node-a")]
    found = only(assessed(node(layout=layout), *pods, metrics=metrics()))
    assert found.holds == ()
    assert not any(gpu.is_idle for gpu in found.gpus)
    proof = holders_proof(found, found.holders, view=metrics(), since_s=SINCE_S)
    assert "fresh samples show nothing on GPU 0" in proof.gap


def test_b09_activity_without_an_owner_is_in_use():
    """A job has just started: the API read is older than its activity."""
    layout = [{"2g.10gb": 3}] * 2
    view = metrics(sample(1, profile="2g.10gb", busy=True))
    found = only(assessed(node(layout=layout), metrics=view))
    assert found.gpus[0].is_idle
    assert found.gpus[1].held == Counts({"2g.10gb": 1})
    assert not found.gpus[1].proven


def test_b09_an_owner_that_the_api_read_does_not_show_yet_is_in_use():
    """A label newer than the read names a pod that may have been bound since."""
    view = metrics(sample(0, "just-bound", sampled_at_s=NOW_S + 1.0))
    found = only(assessed(node(), metrics=view))
    assert not found.gpus[0].is_idle


def test_b09_an_owner_that_has_ended_holds_nothing():
    """A label older than the read names a pod that the API says is gone."""
    found = only(assessed(node(), metrics=metrics(sample(0, "gone"))))
    assert found.gpus[0].is_idle


def test_f01_partial_metrics_prove_nothing():
    """What a partial answer does not list is unknown."""
    own = pod("infer-0", node="node-a")
    view = metrics(*(sample(0, "infer-0" if i == 0 else None) for i in range(7)), partial=True)
    found = only(assessed(node(), own, metrics=view))
    proof = holders_proof(found, found.holders, view=view, since_s=SINCE_S)
    assert "partial" in proof.gap


def test_holders_are_proven_by_fresh_samples_of_every_instance():
    """All instances are seen, each pod on exactly one GPU."""
    layout = [{"3g.20gb": 2}] * 2
    pods = [pod("train-0", "3g.20gb", node="node-a"), pod("train-1", "3g.20gb", node="node-a")]
    view = metrics(
        sample(0, profile="3g.20gb"),
        sample(0, "train-1", "3g.20gb"),
        sample(1, "train-0", "3g.20gb"),
        sample(1, profile="3g.20gb"),
    )
    found = only(assessed(node(layout=layout), *pods, metrics=view))
    proof = holders_proof(found, found.holders, view=view, since_s=SINCE_S)
    assert proof.is_proven
    assert {ref.name: index for ref, index in proof.gpus.items()} == {
        "train-0": 1,
        "train-1": 0,
    }


def test_samples_from_before_the_cordon_prove_nothing():
    """Age counts by the sample, not by the evaluation of the query."""
    view = metrics(*(sample(0, sampled_at_s=SINCE_S - 1.0) for _ in range(7)))
    found = only(assessed(node(), metrics=view))
    assert not holders_proof(found, (), view=view, since_s=SINCE_S).is_proven
