"""Scenarios: what they draw from, what they offer, and the mix they start with."""

from dataclasses import replace

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.placement import fits
from autoscaler.simulation.demo.scenario import (
    PAST,
    PRESENT,
    Choice,
    Scenario,
    ScenarioSettings,
    build_scenario,
    past_jobs,
)
from autoscaler.simulation.traces import DAY_S, Arrival, Load, TraceJob
from tests.builders import model

SETTINGS = ScenarioSettings(start_s=1_700_000_000.0, nodes=4)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build_scenario(SETTINGS)


def test_the_days_before_end_before_the_days_run():
    """The starting mix knows nothing of the hours that are run."""
    assert PAST.last_day < PRESENT.first_day


def test_only_jobs_within_the_bounds_are_drawn():
    """Neither the very short ones nor those that cannot end."""
    choice = Choice()
    lengths = [job.duration_s for job in choice.candidates(choice.present)]
    assert lengths
    assert min(lengths) >= choice.shortest_s
    assert max(lengths) <= choice.longest_s


def test_the_offered_work_is_the_load_asked_for(scenario: Scenario):
    """To within half of the largest job, which is what the last draw can miss."""
    target = 0.9 * 3 * 8 * 7 * 8 * 3600
    largest = max(arrival.job.work for arrival in scenario.load.arrivals)
    assert abs(scenario.load.offered - target) <= largest / 2


def test_the_starting_mix_cuts_every_gpu_in_use(scenario: Scenario):
    """One valid layout a GPU, and MIG off on the reserved node alone."""
    reserved, *others = scenario.fleet.groups
    layouts = [counts for group in others for counts in group.layout]
    assert reserved.layout == (None,) * 8
    assert len(layouts) == SETTINGS.gpus_in_use == 24
    total = Counts()
    for counts in layouts:
        assert counts is not None
        assert fits(model(), counts)
        total = total.plus(counts)
    assert total == scenario.mix.instances


def test_every_task_asks_for_one_instance(scenario: Scenario):
    """A job of several GPUs is as many tasks of one whole GPU."""
    asked = sum(arrival.job.instances for arrival in scenario.load.arrivals)
    assert len(scenario.tasks) == asked
    assert {task.requests.total() for task in scenario.tasks} == {1}


def test_a_seed_gives_the_same_scenario_again_and_another_one_another(scenario: Scenario):
    """Work and mix depend on the seed and on nothing else."""
    again = build_scenario(SETTINGS)
    other = build_scenario(replace(SETTINGS, seed=2))
    assert (again.tasks, again.mix) == (scenario.tasks, scenario.mix)
    assert other.tasks != scenario.tasks


def test_jobs_of_the_past_keep_to_the_day_of_their_draw():
    """So that the backlog of one draw is not the next one's."""
    pair = TraceJob(1, 0.0, 60.0, slices=7, instances=2, cpu_milli=0, memory_mib=0)
    load = Load((Arrival(5.0, pair),), 1, pair.work, pair.work)
    jobs = past_jobs(model(), [load, load])
    assert [job.arrival_s for job in jobs["7g.40gb"]] == [5.0, 5.0, DAY_S + 5.0, DAY_S + 5.0]


@pytest.mark.parametrize("changes", [{"nodes": 1}, {"gpus": 0}, {"load": 0.0}])
def test_settings_without_a_run_are_refused(changes: dict[str, float]):
    """No node beside the reserved one, no GPU, no work."""
    with pytest.raises(ValueError, match="not a scenario"):
        replace(SETTINGS, **changes)
