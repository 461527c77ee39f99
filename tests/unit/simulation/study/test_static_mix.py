"""Replays on static mixes, by hand and against known figures of the real trace."""

from math import inf

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.planning.past.mix_replay import Order, total_wait_s
from autoscaler.planning.past.static_mix import StaticMix
from autoscaler.simulation.study.light import play
from autoscaler.simulation.study.players import Exact, Static
from autoscaler.simulation.study.policies import Conditions, run_policy
from autoscaler.simulation.study.splits import Case, Draw, Split, Work, build_case
from autoscaler.simulation.study.static_mix import (
    plain_sizes,
    replayed_s,
    requests_in,
    tuned_mix,
)
from autoscaler.simulation.study.trace_file import read_trace, shipped_trace
from autoscaler.simulation.study.unthrottled import unthrottled
from tests.studies import FOUR, MODEL, ONE, SIZES, THREE, TWO, WHOLE, fleet, jobs, work

PLAIN = plain_sizes(MODEL)


def mean_s(rows, instances, order=Order.OWNER_FIRST):
    asked = jobs(*rows)
    numbers = [instances.get(name, 0) for name in PLAIN.names]
    waited_s = total_wait_s(requests_in(asked, PLAIN), numbers, PLAIN, order=order)
    return (waited_s + sum(job.run_s for job in asked)) / len(asked)


def light_s(outcome):
    done = [times.completion_s for times in outcome.jobs]
    return inf if None in done else sum(done) / len(done)


def test_profiles_are_in_order_of_size():
    """Variants are left out: what runs on them is not known."""
    assert PLAIN.names == tuple(SIZES)


def test_a_job_takes_the_smallest_instance_that_is_free():
    """The second 1g runs on the 3g; the third waits 100 s for the first."""
    rows = [(0, 100, ONE), (0, 200, ONE), (0, 50, ONE)]
    assert mean_s(rows, {ONE: 1, THREE: 1}) == pytest.approx((100 + 200 + 150) / 3)


def test_owners_go_first_or_those_who_came_first():
    """A 7g gets free at 100: the 1g came first, the 7g owns the profile."""
    rows = [(0, 100, WHOLE), (1, 10, ONE), (2, 10, WHOLE)]
    owner = mean_s(rows, {WHOLE: 1}, Order.OWNER_FIRST)
    assert owner == pytest.approx((100 + (120 - 1) + (110 - 2)) / 3)
    first = mean_s(rows, {WHOLE: 1}, Order.FIRST_COME)
    assert first == pytest.approx((100 + (110 - 1) + (120 - 2)) / 3)


def test_what_no_instance_can_hold_never_ends():
    """A mix without whole GPUs is infinitely bad for a 7g."""
    assert mean_s([(0, 10, WHOLE)], {FOUR: 1, THREE: 1}) == inf


@pytest.mark.parametrize("order", list(Order))
def test_the_light_simulator_gives_the_same(order):
    """Two programs for one queue, on a day with all profiles."""
    rows = [(60.0 * k, 1000.0 + 137 * (k % 7), SIZES[k * k % 5]) for k in range(200)]
    gpus = [{WHOLE: 1}, {FOUR: 1, TWO: 1, ONE: 1}, {THREE: 2}]
    outcome = play("static", fleet(*gpus), jobs(*rows), Static(SIZES, order))
    instances = {WHOLE: 1, FOUR: 1, TWO: 1, ONE: 1, THREE: 2}
    assert light_s(outcome) == pytest.approx(mean_s(rows, instances, order))


def test_exact_starts_never_take_a_larger_instance():
    """By resource name a 1g pod does not run on a free 7g."""
    outcome = play("exact", fleet({WHOLE: 1}), jobs((0, 10, ONE), (0, 10, WHOLE)), Exact())
    assert [times.start_s for times in outcome.jobs] == [None, 0.0]


@pytest.mark.parametrize(
    ("column", "load", "mean_s"),
    [("mig_share", 0.5, 4283), ("mig_share", 0.9, 94031), ("mig_v100eq", 0.3, 5492)],
)
def test_whole_gpus_give_the_known_figures(column, load, mean_s):
    """Mean completion times of an experiment that was made without this code."""
    case = build_case(
        read_trace(shipped_trace(), column), column, MODEL, Draw(Split.BASE, load)
    )
    mix = StaticMix((Counts({WHOLE: 1}),) * case.gpus, Order.OWNER_FIRST)
    assert round(replayed_s(case.present, mix, MODEL)) == mean_s


def test_the_tuned_mix_gives_the_known_figure():
    """The search finds the mix that an independent search found: 251,369 s at load 0.95."""
    column = "mig_v100eq"
    case = build_case(
        read_trace(shipped_trace(), column), column, MODEL, Draw(Split.BASE, 0.95)
    )
    mix = tuned_mix(MODEL, case.past, case.gpus)
    assert round(replayed_s(case.present, mix, MODEL)) == 251_369


def test_the_tuned_mix_fits_the_work():
    """Seven jobs of one slice at once want a GPU of seven instances."""
    mix = tuned_mix(MODEL, work(*[(0, 100, ONE)] * 7), 1)
    assert (dict(mix.instances), mix.wait_s) == ({ONE: 7}, 0.0)


def test_by_resource_name_a_mix_has_to_have_each_profile():
    """A 1g and a 7g in turn: with larger instances allowed a whole GPU serves both, by
    name it takes two mixes, and the better of them leaves fewer waiting for ever."""
    rows = [(0, 600, ONE), (1000, 600, ONE), (5000, 600, WHOLE)]
    case = Case("tiny", MODEL, 1, 0.5, work(*rows), work(*rows))
    conditions = Conditions(unthrottled())
    allowed = run_policy("static-past", case, conditions)
    by_name = run_policy("static-exact", case, conditions)
    assert [t.end_s for t in allowed.jobs] == [600, 1600, 5600]
    assert [t.end_s for t in by_name.jobs] == [600, 1600, None]


def test_a_mix_is_tuned_to_how_fast_jobs_run():
    """Jobs that run four times as fast on a whole GPU are best served there in turn."""
    fast = jobs((0, 400, THREE), (0, 400, THREE), run_on_s=((WHOLE, 100.0),))
    case_work = Work(fast, 86_400.0)
    mix = tuned_mix(MODEL, case_work, 1)
    assert dict(mix.instances) == {WHOLE: 1}
    assert replayed_s(case_work, mix, MODEL) == (100 + 200) / 2
    alike = work((0, 400, THREE), (0, 400, THREE))
    assert dict(tuned_mix(MODEL, alike, 1).instances) == {THREE: 2}
