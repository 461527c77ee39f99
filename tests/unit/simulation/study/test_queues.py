"""The light simulator against queueing theory and against brute force."""

from math import factorial
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.planning.past.mix_replay import Order
from autoscaler.simulation.study.baselines.costs import PLUGIN
from autoscaler.simulation.study.baselines.greedy import FirstFit
from autoscaler.simulation.study.baselines.least import LeastDisturbance
from autoscaler.simulation.study.baselines.nos import Nos
from autoscaler.simulation.study.baselines.placer import Placer
from autoscaler.simulation.study.baselines.templates import TemplateLock
from autoscaler.simulation.study.checks import problems_of
from autoscaler.simulation.study.light import play
from autoscaler.simulation.study.players import Exact, Static
from autoscaler.simulation.study.splits import Case
from tests.studies import MODEL, ONE, SIZES, THREE, WHOLE, fleet, jobs, work

LAYOUTS = ({ONE: 7}, {THREE: 2}, {WHOLE: 1})


def erlang_wait(arrivals_per_s, service_s, servers):
    """Return the mean wait of an M/M/c queue."""
    load = arrivals_per_s * service_s
    tail = load**servers / factorial(servers) * servers / (servers - load)
    busy = tail / (sum(load**k / factorial(k) for k in range(servers)) + tail)
    return busy * service_s / (servers - load)


@pytest.mark.parametrize(
    ("profile", "servers", "load"), [(WHOLE, 1, 0.5), (THREE, 2, 0.7), (ONE, 7, 0.6)]
)
def test_equal_instances_are_an_m_m_c_queue(profile, servers, load):
    """Mean wait within 15 % of Erlang's formula, over 40,000 jobs; most of that is chance."""
    random = Random(4)
    service_s = 100.0 * servers * load
    rows, at_s = [], 0.0
    for _ in range(40_000):
        at_s += random.expovariate(1 / 100)
        rows.append((at_s, random.expovariate(1 / service_s), profile))
    outcome = play("exact", fleet({profile: servers}), jobs(*rows), Exact())
    wait_s = fmean(t.wait_s for t in outcome.jobs)
    assert wait_s == pytest.approx(erlang_wait(1 / 100, service_s, servers), rel=0.15)


def test_with_no_load_nobody_waits():
    """One job at a time."""
    rows = [(1000.0 * k, 10.0, ONE) for k in range(20)]
    outcome = play("exact", fleet({ONE: 7}), jobs(*rows), Exact())
    assert {t.wait_s for t in outcome.jobs} == {0.0}


def test_at_saturation_the_fleet_is_always_busy():
    """A hundred jobs at once on two instances take fifty run times."""
    outcome = play("exact", fleet({THREE: 2}), jobs(*[(0, 10, THREE)] * 100), Exact())
    assert outcome.ended_s == 500.0


def brute_force(rows, instances):
    """Return start times, found second by second."""
    held = {name: [] for name in (ONE, THREE, WHOLE)}
    starts = [None] * len(rows)
    for now in range(200):
        for name, ends in held.items():
            held[name] = [end for end in ends if end > now]
        for number, (at_s, run_s, name) in enumerate(rows):
            is_waiting = at_s <= now and starts[number] is None
            if is_waiting and len(held[name]) < instances.get(name, 0):
                starts[number] = now
                held[name].append(now + run_s)
    return starts


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 12), st.sampled_from([ONE, THREE, WHOLE])),
        min_size=1,
        max_size=12,
    ),
    gpus=st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=2),
)
def test_tiny_fleets_behave_as_by_brute_force(rows, gpus):
    """Event by event or second by second, each job starts at the same time."""
    ordered = sorted(rows, key=lambda row: row[0])
    instances: dict[str, int] = {}
    for gpu in gpus:
        for name, number in gpu.items():
            instances[name] = instances.get(name, 0) + number
    outcome = play("exact", fleet(*gpus), jobs(*ordered), Exact())
    assert [t.start_s for t in outcome.jobs] == brute_force(ordered, instances)


def brute_force_larger(rows, instances, order):
    """Return start times where a job may take a larger instance, found second by second."""
    sizes = [ONE, THREE, WHOLE]
    held = {name: [] for name in sizes}
    starts = [None] * len(rows)

    def take(number, now, names):
        for name in names:
            if starts[number] is None and len(held[name]) < instances.get(name, 0):
                starts[number] = now
                held[name].append(now + rows[number][1])

    for now in range(300):
        for name, ends in held.items():
            held[name] = [end for end in ends if end > now]
        waiting = [n for n, row in enumerate(rows) if row[0] <= now and starts[n] is None]
        if order is Order.OWNER_FIRST:
            for number in waiting:
                take(number, now, [rows[number][2]])
        for number in waiting:
            take(number, now, sizes[sizes.index(rows[number][2]) :])
    return starts


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 12), st.sampled_from([ONE, THREE, WHOLE])),
        min_size=1,
        max_size=12,
    ),
    gpus=st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=2),
    order=st.sampled_from(list(Order)),
)
def test_a_static_mix_behaves_as_by_brute_force(rows, gpus, order):
    """Also where small jobs take larger instances, in both orders of service."""
    ordered = sorted(rows, key=lambda row: row[0])
    instances: dict[str, int] = {}
    for gpu in gpus:
        for name, number in gpu.items():
            instances[name] = instances.get(name, 0) + number
    outcome = play("static", fleet(*gpus), jobs(*ordered), Static(SIZES, order))
    assert [t.start_s for t in outcome.jobs] == brute_force_larger(ordered, instances, order)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 12), st.sampled_from([ONE, THREE, WHOLE])),
        min_size=1,
        max_size=12,
    ),
)
def test_what_is_played_is_sound(rows):
    """Conservation, places, layouts, capacity and Little's law, whoever cuts the GPUs."""
    own = work(*sorted(rows, key=lambda row: row[0]))
    case = Case("tiny", MODEL, 2, 0.5, own, own)
    for player in (
        Placer(FirstFit(), PLUGIN, keeps_idle=True),
        TemplateLock(MODEL),
        Nos(MODEL),
        LeastDisturbance(MODEL),
    ):
        assert problems_of(play("any", fleet({}, {}), own.jobs, player), case) == []


def test_the_formula_knows_its_simplest_case():
    """One server at half load waits as long as it serves."""
    assert erlang_wait(0.5, 1, 1) == pytest.approx(1.0)
