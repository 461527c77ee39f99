"""What others do, on cases small enough to check by hand."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.profile import load_models
from autoscaler.simulation.study.baselines.costs import DAS, DRA, HAMI_SLOTS, PLUGIN
from autoscaler.simulation.study.baselines.greedy import (
    BestFit,
    FirstFit,
    FirstFitDecreasing,
    SlotReservation,
    SpreadingFirstFit,
)
from autoscaler.simulation.study.baselines.least import LeastDisturbance
from autoscaler.simulation.study.baselines.miso import Miso
from autoscaler.simulation.study.baselines.nos import Nos, geometries_of
from autoscaler.simulation.study.baselines.placer import Placer
from autoscaler.simulation.study.baselines.repack import FreeRepack
from autoscaler.simulation.study.baselines.room import free_slices, legal_places
from autoscaler.simulation.study.baselines.templates import TemplateLock, templates_of
from autoscaler.simulation.study.baselines.threshold import Threshold, uniform_layouts
from autoscaler.simulation.study.light import play
from tests.studies import FOUR, MODEL, ONE, THREE, TWO, WHOLE, fleet, jobs

NOTHING: dict[str, int] = {}


def starts(outcome):
    return [times.start_s for times in outcome.jobs]


def places(outcome):
    return [times.place for times in outcome.jobs]


def place_all(rule, costs, gpus, rows, gpus_per_node=1, keeps_idle=False):
    player = Placer(rule, costs, keeps_idle)
    return play(
        "rule", fleet(*[NOTHING] * gpus, gpus_per_node=gpus_per_node), jobs(*rows), player
    )


def test_legal_places_know_the_starts_of_the_board():
    """Beside a 3g at 4 there is room for four 1g, beside one at 0 for three."""
    at_four = Geometry((GpuInstance(4, 4, THREE),))
    at_zero = Geometry((GpuInstance(0, 4, THREE),))
    assert [i.start for i in legal_places(MODEL, at_four, ONE)] == [0, 1, 2, 3]
    assert [i.start for i in legal_places(MODEL, at_zero, ONE)] == [4, 5, 6]
    assert legal_places(MODEL, at_zero, FOUR) == ()
    assert free_slices(MODEL, at_zero) == 4


def test_first_fit_takes_the_lowest_start_and_pays_for_the_cut():
    """A 1g at 0 of GPU 0 after a minute; the 4g must go to GPU 1."""
    outcome = place_all(FirstFit(), PLUGIN, 2, [(0, 500, ONE), (0, 5, FOUR)], keeps_idle=True)
    assert places(outcome) == [("0", f"{ONE}@0"), ("1", f"{FOUR}@0")]
    assert starts(outcome) == [60.0, 60.0]


def test_first_fit_uses_an_idle_instance_at_once():
    """The second 1g comes when the first has ended: nothing is cut."""
    outcome = place_all(FirstFit(), PLUGIN, 1, [(0, 10, ONE), (100, 10, ONE)], keeps_idle=True)
    assert starts(outcome) == [60.0, 100.0]
    assert outcome.changes == 1


def test_first_fit_decreasing_serves_the_largest_first():
    """When the 7g ends at 161 the 4g of 3 goes before the 1g of 2, both fit."""
    rows = [(0, 100, WHOLE), (1, 10, WHOLE), (2, 10, ONE), (3, 10, FOUR)]
    outcome = place_all(FirstFitDecreasing(MODEL), DRA, 1, rows)
    # The 7g that waits is the largest of all: it follows the first one.
    assert starts(outcome) == [1.0, 103.0, 115.0, 115.0]
    assert places(outcome)[2:] == [("0", f"{ONE}@4"), ("0", f"{FOUR}@0")]


def test_best_fit_takes_the_fullest_gpu_that_has_room():
    """GPU 0 holds a 4g when the 3g comes, GPU 1 nothing."""
    rows = [(0, 500, FOUR), (1, 500, THREE)]
    assert places(place_all(BestFit(MODEL), DRA, 2, rows))[1] == ("0", f"{THREE}@4")


def test_best_fit_keeps_room_for_large_instances():
    """After a 4g was asked for, a 1g goes where a 4g still fits: behind slice 3."""
    rows = [(0, 5, FOUR), (100, 500, ONE)]
    assert places(place_all(BestFit(MODEL), DRA, 1, rows))[1] == ("0", f"{ONE}@4")


def test_das_spreads_over_nodes():
    """The emptiest node first: the second 1g goes to another node, at the lowest start."""
    rows = [(0, 500, ONE), (1, 500, ONE), (2, 500, ONE)]
    outcome = place_all(SpreadingFirstFit(MODEL), DAS, 2, rows)
    assert places(outcome) == [("0", f"{ONE}@0"), ("1", f"{ONE}@0"), ("0", f"{ONE}@1")]
    assert starts(outcome)[0] == DAS.recut_s


def test_dra_fills_the_first_gpu():
    """First fit in order of names leaves the second GPU empty, and holes in the first."""
    rows = [(0, 500, ONE), (1, 500, ONE)]
    assert places(place_all(FirstFit(), DRA, 2, rows)) == [("0", f"{ONE}@0"), ("0", f"{ONE}@1")]


def test_hami_slots_takes_1g_and_3g_from_the_top():
    """The 1g sits at 6, so the 3g cannot have 4 and takes 0; the 2g goes between."""
    rows = [(0, 500, ONE), (1, 500, THREE), (2, 500, TWO)]
    outcome = place_all(SlotReservation(MODEL), HAMI_SLOTS, 2, rows)
    assert places(outcome) == [
        ("0", f"{ONE}@6"),
        ("0", f"{THREE}@0"),
        ("0", f"{TWO}@4"),
    ]


def test_hami_slots_fills_a_gpu_before_the_next():
    """Three 2g are all that GPU 0 has starts for; the fourth opens GPU 1."""
    rows = [(0, 500, TWO), (0, 500, TWO), (0, 500, TWO), (1, 5, TWO)]
    outcome = place_all(SlotReservation(MODEL), HAMI_SLOTS, 2, rows)
    assert [where for where, _ in places(outcome)] == ["0", "0", "0", "1"]


def test_hami_slots_frees_space_when_its_reconciler_looks():
    """The 7g ends at 101; its slices are free 6 s later, and an instance takes one."""
    outcome = place_all(SlotReservation(MODEL), HAMI_SLOTS, 1, [(0, 100, WHOLE), (1, 5, WHOLE)])
    assert starts(outcome) == [1.0, 108.0]


def test_the_templates_are_those_of_its_list():
    """As shipped for the A100."""
    assert templates_of(MODEL) == (
        Counts({ONE: 7}),
        Counts({TWO: 3, ONE: 1}),
        Counts({THREE: 2}),
        Counts({WHOLE: 1}),
    )


def test_a_template_locks_the_gpu_until_nobody_uses_it():
    """Locked to 7 x 1g, the GPU has no room for the 3g until the 1g ends at 160."""
    rows = [(0, 100, ONE), (1, 10, THREE)]
    outcome = play("lock", fleet(NOTHING), jobs(*rows), TemplateLock(MODEL))
    assert starts(outcome) == [60.0, 220.0]


def test_small_jobs_take_larger_units_of_a_locked_gpu():
    """The GPU is locked to 2 x 3g when the 1g comes, and there is no other."""
    rows = [(0, 100, THREE), (70, 10, ONE)]
    outcome = play("lock", fleet(NOTHING), jobs(*rows), TemplateLock(MODEL))
    assert [t.profile for t in outcome.jobs] == [THREE, THREE]
    assert starts(outcome) == [60.0, 70.0]


def test_the_threshold_has_three_layouts():
    """Seven small ones, two halves, the whole; on an A30 four, two and one."""
    assert [dict(g.counts) for g in uniform_layouts(MODEL)] == [
        {ONE: 7},
        {THREE: 2},
        {WHOLE: 1},
    ]
    small = next(m for m in load_models() if m.key == "a30-24gb")
    assert [g.counts.total() for g in uniform_layouts(small)] == [4, 2, 1]


@pytest.mark.parametrize(("number", "start_s"), [(5, None), (6, 60.0)])
def test_more_than_five_small_pods_have_a_gpu_cut_small(number, start_s):
    """Five wait for ever on a whole GPU, the sixth makes it be cut."""
    outcome = play("rule", fleet({WHOLE: 1}), jobs(*[(0, 10, ONE)] * number), Threshold(MODEL))
    assert starts(outcome) == [start_s] * number


def test_a_large_pod_consolidates_an_idle_gpu():
    """The 2g asks for a half, and gets one on a GPU that was cut small."""
    outcome = play("rule", fleet({ONE: 7}), jobs((0, 10, TWO)), Threshold(MODEL))
    assert starts(outcome) == [60.0]
    assert outcome.jobs[0].profile == THREE


def test_least_disturbance_never_touches_a_gpu_in_use():
    """The 1g runs on GPU 0, whose other space cannot be re-cut for the 4g until it ends."""
    rows = [(0, 100, ONE), (1, 10, FOUR)]
    outcome = play("least", fleet({ONE: 7}), jobs(*rows), LeastDisturbance(MODEL))
    assert starts(outcome) == [0.0, 160.0]


def test_least_disturbance_cuts_the_rest_for_those_who_wait():
    """One 3g and four 1g wait: the GPU becomes 3g + 4 x 1g, all start after a minute."""
    rows = [(0, 10, THREE), *[(0, 10, ONE)] * 4]
    outcome = play("least", fleet({WHOLE: 1}), jobs(*rows), LeastDisturbance(MODEL))
    assert starts(outcome) == [60.0] * 5


def test_nos_has_its_list():
    """Twelve geometries: two of the largest are missing, two are contained in others."""
    found = geometries_of(MODEL)
    assert len(found) == 12
    assert found[0] == Counts({ONE: 7})
    assert Counts({FOUR: 1, THREE: 1}) not in found
    assert Counts({THREE: 1, ONE: 3}) in found


def test_nos_waits_for_its_batch():
    """Ten seconds after the last pod it plans; a minute later the device plugin is back."""
    outcome = play("nos", fleet({ONE: 7}), jobs((0, 10, THREE), (5, 10, THREE)), Nos(MODEL))
    assert starts(outcome) == [75.0, 75.0]


def test_a_batch_is_closed_after_a_minute():
    """A pod every nine seconds keeps it open no longer than 60 s."""
    rows = [(9.0 * k, 1000, THREE) for k in range(8)]
    outcome = play("nos", fleet({ONE: 7}), jobs(*rows), Nos(MODEL))
    assert starts(outcome)[:2] == [120.0, 120.0]


def test_nos_never_deletes_used_instances():
    """A 1g that runs keeps the GPU from becoming whole."""
    rows = [(0, 1000, ONE), (1, 10, WHOLE)]
    outcome = play("nos", fleet({ONE: 7}), jobs(*rows), Nos(MODEL))
    assert starts(outcome)[1] == 1000.0 + 10 + 60


def test_strict_nos_counts_instances_and_fixed_nos_sizes():
    """Two 1g and a 7g wait: by number the small ones win, by size the large one."""
    rows = [*[(0, 10, ONE)] * 2, (0, 10, FOUR)]
    strict = play("nos", fleet({WHOLE: 1}), jobs(*rows), Nos(MODEL, is_strict=True))
    fixed = play("nos", fleet({WHOLE: 1}), jobs(*rows), Nos(MODEL, is_strict=False))
    # 4g + 3 x 1g provides all three, whichever way they are counted.
    assert starts(strict) == starts(fixed) == [70.0, 70.0, 70.0]
    both = [*[(0, 10, ONE)] * 2, (0, 10, WHOLE)]
    assert starts(play("nos", fleet({THREE: 2}), jobs(*both), Nos(MODEL)))[:2] == [70.0, 70.0]
    sized = play("nos", fleet({THREE: 2}), jobs(*both), Nos(MODEL, is_strict=False))
    assert starts(sized)[2] == 70.0


def busy_at_both_ends(*rows):
    """Return jobs that hold the 1g at slices 0 and 4 of a GPU for long, and what comes then."""
    first = [(0, 1000 if slice_ in (0, 4) else 5, ONE) for slice_ in range(7)]
    return jobs(*first, *rows)


def test_fixed_nos_leaves_a_gpu_alone_where_nothing_can_be_placed():
    """A 3g begins at 0 or at 4: the free 1g stay, and a job has one at once."""
    own = busy_at_both_ends((6, 10, THREE), (20, 10, ONE))
    fixed = play("nos", fleet({ONE: 7}), own, Nos(MODEL, is_strict=False))
    assert starts(fixed)[8] == 20.0
    # When the two have ended it plans again, ten seconds later, and needs a minute.
    assert (starts(fixed)[7], fixed.changes) == (1070.0, 1)
    strict = play("nos", fleet({ONE: 7}), own, Nos(MODEL, is_strict=True))
    assert starts(strict)[8] > 20.0
    assert strict.changes > 1


def test_fixed_nos_chooses_the_best_that_can_be_placed():
    """A 3g with a 2g would be worth more, but only a 2g has room, at slice 2."""
    own = busy_at_both_ends((6, 10, THREE), (6, 10, TWO))
    fixed = play("nos", fleet({ONE: 7}), own, Nos(MODEL, is_strict=False))
    by_profile = {t.job.profile: t for t in fixed.jobs[7:]}
    assert by_profile[TWO].start_s == 76.0
    assert by_profile[TWO].place == ("0", f"{TWO}@2")
    assert by_profile[THREE].start_s > 1000.0


def test_free_repack_knows_only_what_fits():
    """A 4g and a 3g share a GPU, a second 4g waits whatever is moved."""
    outcome = FreeRepack(MODEL, 1).run("free", jobs((0, 9, FOUR), (0, 9, THREE), (0, 9, FOUR)))
    assert starts(outcome) == [0.0, 0.0, 9.0]


def test_free_repack_passes_over_those_who_do_not_fit():
    """The 7g waits for the 1g to end; a 1g that came later goes before it."""
    rows = [(0, 10, ONE), (1, 10, WHOLE), (2, 3, ONE)]
    outcome = FreeRepack(MODEL, 1).run("free", jobs(*rows))
    assert starts(outcome) == [0.0, 10.0, 2.0]


def test_miso_shares_a_gpu_where_whole_ones_are_taken():
    """Two jobs of known speeds on one GPU run on halves, and alone on the whole."""
    speeds = {ONE: 400.0, TWO: 250.0, THREE: 150.0, FOUR: 130.0, WHOLE: 100.0}
    two = jobs((0, 100, WHOLE), (0, 100, WHOLE), run_on_s=tuple(speeds.items()))
    outcome = Miso(MODEL, 1).run("miso", two)
    # 4g and 3g together do most work; whoever is left then has the whole GPU.
    assert outcome.jobs[0].completion_s is not None
    assert sorted(t.start_s for t in outcome.jobs) == [0.0, 0.0]
    assert all(130 <= (t.completion_s or 0) <= 30 + 150 + 30 for t in outcome.jobs)


def test_miso_charges_the_measurement_of_a_newcomer():
    """Alone on a GPU a job loses the thirty seconds in which it is measured."""
    outcome = Miso(MODEL, 1).run("miso", jobs((0, 100, WHOLE)))
    assert outcome.jobs[0].completion_s == 130.0
