"""When it is proven which GPU each pod of a node sits on."""

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.seating import folds
from autoscaler.domain.rollout.holding import holders_proof, proof_from_s
from tests.builders import NOW_S, fleet_node, node, pod
from tests.fleets import inventory, metrics, sample

SINCE_S = NOW_S - 30.0
LAYOUT = [{"3g.20gb": 2}, {"3g.20gb": 2}]


def proof(samples, *pods, layout=LAYOUT, own=None, **view):
    """Return the proof for a node with this layout."""
    fleet = own or fleet_node(layout=layout)
    return holders_proof(fleet, pods, view=metrics(*samples, **view), since_s=SINCE_S)


def large(index, owner=None, **changes):
    """Return a sample of a 3g instance."""
    return sample(index, owner, "3g.20gb", **changes)


def user(name, number=1):
    """Return a pod with 3g instances."""
    return pod(name, {"nvidia.com/mig-3g.20gb": number}, node="node-a")


def test_every_pod_on_one_gpu_is_proof():
    """All four instances were seen."""
    found = proof([large(0, "a"), large(0), large(1), large(1, "b")], user("a"), user("b"))
    assert found.is_proven
    assert {ref.name: index for ref, index in found.gpus.items()} == {"a": 0, "b": 1}


def test_an_empty_node_is_proven_by_its_instances():
    """Nobody is there and everything is seen."""
    assert proof([large(0), large(0), large(1), large(1)]).is_proven


def test_each_gap_is_named():
    """No metrics, partial ones, an unseen pod, too few instances, unknown activity."""
    full = [large(0, "a"), large(0), large(1), large(1)]
    fleet = fleet_node(layout=LAYOUT)
    assert "no metrics" in holders_proof(fleet, (), view=None, since_s=SINCE_S).gap
    assert "partial" in proof(full, user("a"), partial=True).gap
    assert "pod default/b holds 1x3g.20gb" in proof(full, user("a"), user("b")).gap
    assert "1x3g on GPU 1" in proof(full[:3], user("a")).gap
    busy = [large(0, "a"), large(0), large(1), large(1, busy=True)]
    assert "GPU 1 is in use" in proof(busy, user("a")).gap
    old = [large(0, "a", sampled_at_s=SINCE_S - 1.0), *full[1:]]
    assert "1x3g on GPU 0" in proof(old, user("a")).gap
    unknown = fleet_node(layout=LAYOUT, gpus=())
    assert "geometry" in proof(full, user("a"), own=unknown).gap


def test_samples_of_more_instances_than_there_are_are_no_proof():
    """The exporter still shows an earlier layout."""
    extra = [large(0), large(0), large(0), large(1), large(1)]
    assert "3x3g on GPU 0, it should hold 2x3g" in proof(extra).gap
    strange = [large(0), large(0), large(1), large(1), large(2)]
    assert "unknown GPUs: 2" in proof(strange).gap


def test_a_pod_on_two_gpus_is_no_proof():
    """Neither GPU could change without it."""
    samples = [large(0, "a"), large(0), large(1, "a"), large(1)]
    assert "sits on GPUs 0, 1" in proof(samples, user("a", 2)).gap
    same = [large(0, "a"), large(0, "a"), large(1), large(1)]
    assert proof(same, user("a", 2)).is_proven


def test_a_pod_without_a_request_is_no_proof():
    """It may use any GPU."""
    quiet = pod("q", {}, node="node-a", gpu_runtime=True)
    full = [large(0), large(0), large(1), large(1)]
    assert "without saying how many" in proof(full, quiet).gap


def test_whole_gpu_pods_sit_where_mig_is_off():
    """They cannot be on a GPU that is cut; samples of whole GPUs name no profile."""
    layout = [{"3g.20gb": 2}, None]
    samples = [large(0), large(0), sample(1, "w", "")]
    whole = pod("w", {"nvidia.com/gpu": 1}, node="node-a")
    found = proof(samples, whole, layout=layout)
    assert found.is_proven
    assert list(found.gpus.values()) == [1]


def test_boards_are_found_by_their_uuid_where_the_inventory_names_them():
    """The exporter numbers boards in its own way."""
    own = fleet_node(node=node(layout=LAYOUT, annotations=inventory(LAYOUT)), layout=LAYOUT)
    samples = [
        large(5, "a", gpu_uuid="GPU-0"),
        large(5, gpu_uuid="GPU-0"),
        large(6, gpu_uuid="GPU-1"),
        large(6, gpu_uuid="GPU-1"),
    ]
    found = proof(samples, user("a"), own=own)
    assert list(found.gpus.values()) == [0]


def test_proof_starts_a_collection_and_two_scrapes_after_the_cordon():
    """Two scrapes can show one collection."""
    assert proof_from_s(100.0) == 160.0


def test_a_plugin_folds_when_a_variant_is_cut_and_not_offered():
    """Nothing can be said without a variant."""
    layout = [{"1g.5gb": 4, "1g.5gb+me": 1}]
    own = fleet_node(layout=layout)
    assert not folds(own)
    offered = Counts({"nvidia.com/mig-1g.5gb": 5})
    assert folds(fleet_node(layout=layout, node=node(layout=layout, allocatable=offered)))
    assert not folds(fleet_node())
