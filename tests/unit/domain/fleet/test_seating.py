"""Which GPU each pod sits on, as far as that is proven."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.seating import Table, seat
from autoscaler.domain.fleet.sightings import Seat, Sightings, sightings_of
from tests.builders import NOW_S, gpu, model, pod
from tests.fleets import sample

SMALL = {"1g.5gb": 7}
MIXED = {"3g.20gb": 1, "1g.5gb": 3}


def seated(layout, *pods, seats=(), active=(), labelled=(), folded=False):
    """Return the GPUs of a layout with these pods on the node."""
    table = Table(model(), tuple(gpu(i, c) for i, c in enumerate(layout)), folded)
    found = tuple(Seat(PodRef("default", name), i, profile) for name, i, profile in seats)
    marks = frozenset(PodRef("default", name) for name in labelled)
    return seat(table, pods, Sightings(found, marks, tuple(active)))


def held(gpus):
    """Return what is held by GPU."""
    return [dict(g.held) for g in gpus]


def test_nobody_on_the_node_leaves_every_gpu_idle():
    """That needs no metrics."""
    gpus = seated([SMALL, MIXED])
    assert held(gpus) == [{}, {}]
    assert all(g.proven for g in gpus)


def test_three_unseated_pods_may_sit_on_either_of_two_gpus():
    """Both count as held, by as many as could be there."""
    gpus = seated([SMALL, SMALL], *(pod(f"p{i}") for i in range(3)))
    assert held(gpus) == [{"1g.5gb": 3}] * 2
    assert not any(g.proven or g.holders for g in gpus)


def test_a_pod_cannot_sit_where_its_profile_is_not():
    """So the other GPU is idle, and the one is proven."""
    gpus = seated([{"3g.20gb": 2}, SMALL], pod("p"))
    assert held(gpus) == [{}, {"1g.5gb": 1}]
    assert [len(g.holders) for g in gpus] == [0, 1]
    assert all(g.proven for g in gpus)


def test_on_a_single_gpu_every_pod_has_its_seat():
    """There is nowhere else."""
    (only,) = seated([SMALL], pod("a"), pod("b"))
    assert only.held == Counts({"1g.5gb": 2})
    assert [ref.name for ref in only.holders] == ["a", "b"]
    assert only.proven


def test_a_sighting_seats_a_pod_and_frees_the_others():
    """Labels say where a known holder is."""
    gpus = seated([SMALL, SMALL], pod("p"), seats=[("p", 1, "1g.5gb")])
    assert held(gpus) == [{}, {"1g.5gb": 1}]
    assert all(g.proven for g in gpus)


def test_a_sighting_of_some_instances_seats_nobody():
    """Two are asked for, one was seen: the other may be anywhere."""
    own = pod("p", {"nvidia.com/mig-1g.5gb": 2})
    gpus = seated([SMALL, SMALL], own, seats=[("p", 1, "1g.5gb")])
    assert held(gpus) == [{"1g.5gb": 2}] * 2


def test_a_pod_may_sit_on_two_gpus():
    """Each instance was seen."""
    own = pod("p", {"nvidia.com/mig-1g.5gb": 2})
    gpus = seated([SMALL, SMALL], own, seats=[("p", 0, "1g.5gb"), ("p", 1, "1g.5gb")])
    assert held(gpus) == [{"1g.5gb": 1}] * 2
    assert all(len(g.holders) == 1 and g.proven for g in gpus)


def test_a_sighting_that_cannot_be_true_is_not_believed():
    """No such GPU, no such instance there, or more pods than instances."""
    far = seated([SMALL, SMALL], pod("p"), seats=[("p", 7, "1g.5gb")])
    assert held(far) == [{"1g.5gb": 1}] * 2
    layout = [{"3g.20gb": 2}, {"7g.40gb": 1}, {"3g.20gb": 2}]
    wrong = seated(layout, pod("p", "3g.20gb"), seats=[("p", 1, "3g.20gb")])
    assert held(wrong) == [{"3g.20gb": 1}, {}, {"3g.20gb": 1}]
    pods = [pod(f"p{i}", "3g.20gb") for i in range(3)]
    crowd = seated(layout, *pods, seats=[(p.name, 0, "3g.20gb") for p in pods])
    assert held(crowd) == [{"3g.20gb": 2}, {}, {"3g.20gb": 2}]


def test_what_is_seated_leaves_less_room_for_the_others():
    """Six of the seven are known, so one more at most can be there."""
    known = [pod(f"k{i}") for i in range(6)]
    free = [pod(f"u{i}") for i in range(3)]
    seats = [(p.name, 0, "1g.5gb") for p in known]
    gpus = seated([SMALL, SMALL], *known, *free, seats=seats)
    assert held(gpus) == [{"1g.5gb": 7}, {"1g.5gb": 3}]


def test_pods_of_two_profiles_hold_both_kinds():
    """The bundle is split where each kind has only one place."""
    both = pod("p", {"nvidia.com/mig-3g.20gb": 1, "nvidia.com/mig-1g.5gb": 1})
    gpus = seated([{"3g.20gb": 2}, SMALL], both)
    assert held(gpus) == [{"3g.20gb": 1}, {"1g.5gb": 1}]
    loose = seated([MIXED, MIXED], both)
    assert held(loose) == [{"1g.5gb": 1, "3g.20gb": 1}] * 2


def test_pods_that_hold_more_than_there_is_make_everything_held():
    """Their instances are of a layout that is gone, so nobody knows."""
    gpus = seated([{"3g.20gb": 2}, SMALL], *(pod(f"p{i}", "7g.40gb") for i in range(1)))
    assert held(gpus) == [{"3g.20gb": 2}, SMALL]
    assert not any(g.proven for g in gpus)


@pytest.mark.parametrize(
    "own",
    [
        pod("p", {}, gpu_runtime=True),
        pod("p", {"nvidia.com/gpu.shared": 1}),
        pod("p", faults=("resources.limits[nvidia.com/mig-1g.5gb]: negative",)),
    ],
)
def test_a_pod_that_may_use_anything_holds_everything(own):
    """Also a GPU without any instance is then not idle."""
    gpus = seated([SMALL, {}, None], own)
    assert held(gpus) == [SMALL, {"7g.40gb": 1}, {"7g.40gb": 1}]
    assert not any(g.is_idle or g.proven for g in gpus)


def test_whole_gpu_pods_hold_gpus_with_mig_off_only():
    """Cut GPUs are not among what they may get."""
    gpus = seated([SMALL, None, None], pod("p", {"nvidia.com/gpu": 1}))
    assert held(gpus) == [{}, {"7g.40gb": 1}, {"7g.40gb": 1}]
    both = seated([SMALL, None, None], pod("p", {"nvidia.com/gpu": 2}))
    assert held(both) == [{}, {"7g.40gb": 1}, {"7g.40gb": 1}]


def test_a_folded_name_may_hold_either_variant():
    """The plugin gives out both under the plain name."""
    layout = [{"1g.5gb": 4, "1g.5gb+me": 1}, {"3g.20gb": 2}]
    gpus = seated(layout, pod("p"), folded=True)
    assert held(gpus) == [{"1g.5gb": 1, "1g.5gb+me": 1}, {}]
    plain = seated(layout, pod("p"))
    assert held(plain) == [{"1g.5gb": 1}, {}]


def test_activity_without_an_owner_is_one_more_holder():
    """It may be a pod without a seat that is counted already."""
    alone = seated([SMALL, SMALL], active=[(1, "1g.5gb")])
    assert held(alone) == [{}, {"1g.5gb": 1}]
    assert [g.proven for g in alone] == [True, False]
    counted = seated([SMALL, SMALL], pod("p"), active=[(1, "1g.5gb")])
    assert held(counted) == [{"1g.5gb": 1}] * 2


def test_activity_beside_a_pod_with_its_own_label_is_someone_else():
    """A pod that was seen by its label is not the unknown one."""
    seats, labelled = [("p", 0, "1g.5gb")], ["p"]
    gpus = seated([SMALL], pod("p"), seats=seats, labelled=labelled, active=[(0, "1g.5gb")])
    assert held(gpus) == [{"1g.5gb": 2}]
    unlabelled = seated([SMALL], pod("p"), active=[(0, "1g.5gb")])
    assert held(unlabelled) == [{"1g.5gb": 1}]
    assert unlabelled[0].proven


def test_activity_that_cannot_be_placed_holds_all_it_may_be():
    """An unknown profile the GPU, an unknown board the node."""
    profile = seated([SMALL, SMALL], active=[(0, "2g.10gb")])
    assert held(profile) == [SMALL, {}]
    board = seated([SMALL, SMALL], active=[(None, "1g.5gb")])
    assert held(board) == [SMALL, SMALL]


def sightings(*samples, pods=(), boards=None, read_at_s=NOW_S):
    """Return what these samples show of a node."""
    known = {own.ref: own for own in pods}
    return sightings_of(known, samples, index_of=boards or {}, read_at_s=read_at_s)


def test_labels_of_known_pods_are_seats():
    """The board's index is the inventory's where it has one."""
    own = pod("p", node="node-a")
    found = sightings(sample(3, "p"), pods=[own], boards={"GPU-3": 1})
    assert found.seats == (Seat(own.ref, 1, "1g.5gb"),)
    assert sightings(sample(3, "p"), pods=[own]).seats[0].index == 3


def test_a_label_from_before_the_pod_is_of_an_earlier_life():
    """A StatefulSet reuses names; without a time nothing is believed."""
    own = pod("p", node="node-a", started_s=NOW_S - 5.0)
    assert sightings(sample(0, "p", sampled_at_s=NOW_S - 6.0), pods=[own]).seats == ()
    assert sightings(sample(0, "p", sampled_at_s=None), pods=[own]).seats == ()
    assert sightings(sample(0, "p", sampled_at_s=NOW_S - 4.0), pods=[own]).seats != ()


def test_only_activity_without_a_known_owner_is_active():
    """Unknown activity is no activity, and a known pod's is its own."""
    own = pod("p", node="node-a")
    found = sightings(
        sample(0, "p", busy=True),
        sample(1, busy=True),
        sample(2, busy=None),
        sample(3, "ended", busy=False),
        sample(4, "ended", busy=True),
        pods=[own],
    )
    assert found.active == ((1, "1g.5gb"), (4, "1g.5gb"))
    assert found.labelled == {own.ref}


def test_a_name_newer_than_the_read_may_be_of_a_pod_to_come():
    """It is in use, though it is not active yet."""
    late = replace(sample(0, "new"), sampled_at_s=NOW_S + 1.0)
    assert sightings(late).active == ((0, "1g.5gb"),)
