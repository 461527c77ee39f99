"""Cases on the embedded cluster, with the light simulator as the oracle."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autoscaler.adapters.policy_file import load_policy
from autoscaler.agent.wiring import new_agent
from autoscaler.domain.counts import Counts
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.planning.past.demand_history import Grid
from autoscaler.ports import PODS
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.controllers.pods import uid_of
from autoscaler.simulation.study.checks import problems_of
from autoscaler.simulation.study.dates import DAY_S, MONDAY_S
from autoscaler.simulation.study.embedded import (
    EmbeddedSettings,
    fleet_of,
    run_embedded,
)
from autoscaler.simulation.study.known_past import KnownPast
from autoscaler.simulation.study.light import play
from autoscaler.simulation.study.players import Exact
from autoscaler.simulation.study.policies import with_driver
from autoscaler.simulation.study.splits import Case, Work
from autoscaler.simulation.study.tasks import placeholder_priority_of, priority_classes_of
from autoscaler.simulation.study.unthrottled import UNTHROTTLED, unthrottled
from tests.studies import MODEL, ONE, THREE, WHOLE, fleet, jobs

# To be bound, start and be seen to have ended; longer than any of the delays drawn.
POD_S = 5.0
FILE = Path("simulations/policies/unthrottled.yaml")
# 2026-01-02, a Friday.
FRIDAY_S = 20_455 * DAY_S
FRIDAYS = {
    "windows": [{"days": ["fri"], "start": "00:00", "end": "24:00"}],
}


def case_of(*rows, gpus=2, past=((0.0, 300.0, WHOLE),)):
    return Case(
        "tiny", MODEL, gpus, 0.5, Work(jobs(*past), 2 * DAY_S), Work(jobs(*rows), 3600.0)
    )


def settings(*gpus, policy=None, driver=Driver.AGENT, per_node=1):
    layouts = tuple(Counts(counts) for counts in gpus)
    return EmbeddedSettings(layouts, policy, driver, per_node, agent=new_agent)


def test_without_a_loop_jobs_run_as_in_the_light_simulator():
    """The same order on the same instances, but for the seconds that a pod takes."""
    rows = [(60.0 * k, 400.0 + 100 * (k % 4), (WHOLE, THREE, THREE)[k % 3]) for k in range(12)]
    case = case_of(*rows)
    outcome = run_embedded("static", case, settings({WHOLE: 1}, {THREE: 2}))
    oracle = play("exact", fleet({WHOLE: 1}, {THREE: 2}), case.present.jobs, Exact())
    assert problems_of(outcome, case) == []
    for own, other in zip(outcome.jobs, oracle.jobs, strict=True):
        # A job waits for those before it, so their seconds add up.
        late_s = POD_S * (1 + own.job.number)
        assert other.start_s <= own.start_s <= other.start_s + late_s
        assert other.end_s <= own.end_s <= other.end_s + late_s + POD_S


def test_jobs_of_higher_priority_go_first_and_nobody_has_to_go_for_them():
    """In both simulators, whatever came first."""
    plain = case_of((0, 900, WHOLE), (10, 60, WHOLE), (20, 60, WHOLE), gpus=1)
    low, _, high = plain.present.jobs
    own = (replace(low, priority=-5), plain.present.jobs[1], replace(high, priority=100))
    case = replace(plain, present=replace(plain.present, jobs=own))
    outcome = run_embedded("static", case, settings({WHOLE: 1}))
    oracle = play("exact", fleet({WHOLE: 1}), own, Exact())
    assert problems_of(outcome, case) == []
    for found in (outcome, oracle):
        assert found.evictions == 0
        order = sorted(found.jobs, key=lambda times: times.start_s)
        assert [times.job.priority for times in order] == [-5, 100, 0]


def test_one_priority_for_all_is_none():
    """The same run to the last figure: nobody goes before anybody else."""
    case = case_of((0, 900, THREE), (10, 60, WHOLE), (20, 60, THREE), gpus=1)
    own = tuple(replace(job, priority=7) for job in case.present.jobs)
    same = replace(case, present=replace(case.present, jobs=own))
    found = [
        run_embedded("autoscaler", one, settings({WHOLE: 1}, policy=unthrottled()))
        for one in (case, same)
    ]
    times = [[(t.start_s, t.end_s) for t in outcome.jobs] for outcome in found]
    assert times[0] == times[1]


def test_placeholders_come_before_pods_of_any_priority():
    """Else figures would depend on how large the numbers are, and not on their order."""
    rows = jobs((0, 1, ONE), (1, 1, ONE))
    own = tuple(replace(job, priority=place) for place, job in enumerate(rows))
    case = replace(case_of(), present=Work(own, 60.0))
    assert placeholder_priority_of(priority_classes_of(case)) == 2
    assert placeholder_priority_of({}) == 1


@pytest.mark.parametrize("driver", list(Driver))
def test_an_evicted_job_begins_anew(driver):
    """Its pod has an owner where a policy may evict it, and what it lost is counted."""
    rules = {**UNTHROTTLED["disruption"], "eviction": {"enabled": True, "jobs": True}}
    policy = Policy.model_validate_json(json.dumps({**UNTHROTTLED, "disruption": rules}))
    case = case_of((0, 4000, ONE), *[(600.0, 900, WHOLE)] * 3, gpus=1)
    run = settings({ONE: 7}, policy=with_driver(policy, driver), driver=driver)
    outcome = run_embedded("autoscaler", case, run)
    assert problems_of(outcome, case) == []
    assert outcome.evictions == 1
    (first, *_) = outcome.jobs
    assert (first.restarts, first.lost_s > 500) == (1, True)
    assert all(times.end_s is not None for times in outcome.jobs)


def test_a_job_whose_pod_is_gone_holds_nothing_any_more():
    """It never ends, and whoever has its instance next shares it with nobody."""

    def plan(world):
        def delete():
            world.platform.client.delete(PODS, "jobs", "job-000000")

        world.engine.call_at(MONDAY_S + 100, delete)

    case = case_of((0, 600, WHOLE), (200, 600, WHOLE), gpus=1)
    outcome = run_embedded("static", case, settings({WHOLE: 1}), plan)
    first, second = outcome.jobs
    assert (first.end_s, second.end_s is not None) == (None, True)
    assert 100 <= first.until_s < second.start_s
    assert problems_of(outcome, case) == []


def test_a_job_runs_to_its_last_millisecond():
    """Run times of drawn jobs are no whole seconds."""
    case = case_of((0, 11_621.431, WHOLE), (0, 123_456.789, WHOLE))
    outcome = run_embedded("static", case, settings({WHOLE: 1}, {WHOLE: 1}))
    assert problems_of(outcome, case) == []
    ran = [round(t.end_s - t.start_s, 3) for t in outcome.jobs]
    assert ran == pytest.approx([11_621.431, 123_456.789], abs=0.002)


def test_an_instance_that_the_world_loses_is_noticed():
    """A reset of the GPU takes it away while a job runs on it."""

    def plan(world):
        def lose():
            world.hardware.gpus("gpu-001")[0].lose_instances()
            world.devices.of("gpu-001").stop(world.clock.now_s())
            world.devices.touch("gpu-001")

        world.engine.call_at(MONDAY_S + 100, lose)

    case = case_of((0, 600, WHOLE), gpus=1)
    outcome = run_embedded("static", case, settings({WHOLE: 1}), plan)
    assert any(f"job 0 has no {WHOLE}@0" in text for text in problems_of(outcome, case))


def test_a_double_booking_in_the_world_is_noticed():
    """The device manager forgets who holds what, and gives one instance out again."""

    def plan(world):
        def forget():
            manager = world.devices.of("gpu-001")
            for pod in world.platform.informers.of(PODS).objects.values():
                manager.free(uid_of(pod))

        for turn in range(12):
            world.engine.call_at(MONDAY_S + 60 * turn + 30, forget)

    rows = [(60.0 * k, 700.0, ONE) for k in range(7)]
    case = case_of(*rows, gpus=1)
    outcome = run_embedded("static", case, settings({ONE: 7}), plan)
    assert any("share" in text for text in problems_of(outcome, case))


@pytest.mark.parametrize("driver", list(Driver))
def test_the_loop_cuts_a_gpu_for_those_who_wait(driver):
    """Two 3g wait on a whole idle GPU, whoever cuts it."""
    policy = with_driver(unthrottled(), driver)
    case = case_of((0, 600, THREE), (0, 600, THREE), gpus=1)
    outcome = run_embedded(
        "autoscaler", case, settings({WHOLE: 1}, policy=policy, driver=driver)
    )
    assert problems_of(outcome, case) == []
    assert outcome.changes == 1
    assert all(t.end_s is not None for t in outcome.jobs)
    # Not at once: nodes are closed, cut, and opened again.
    assert min(t.start_s for t in outcome.jobs) > 30


def test_mig_manager_cuts_one_gpu_while_another_is_in_use():
    """Metrics prove who holds what, so the node need not be empty."""
    policy = with_driver(unthrottled(), Driver.MIG_MANAGER)
    rows = [(0, 3000, WHOLE), (60, 600, THREE), (60, 600, THREE)]
    own = settings({WHOLE: 1}, {WHOLE: 1}, policy=policy, driver=Driver.MIG_MANAGER, per_node=2)
    # Whole GPUs are held for long, so nobody hopes for the busy one.
    case = case_of(*rows, past=((0.0, 50_000.0, WHOLE),))
    outcome = run_embedded("autoscaler", case, own)
    assert problems_of(outcome, case) == []
    # Both start while the whole GPU's job runs on.
    assert all(t.start_s < 1000 for t in outcome.jobs)


def test_what_the_loop_complains_of_is_counted():
    """Its writes fail for an hour, so it changes nothing before; no other figure says why."""

    def plan(world):
        down = Rule(
            Point.BEFORE_APPLY,
            Fault(code=503, reason="ServiceUnavailable"),
            lambda request: request.is_mutating and request.kind.plural == "leases",
            times=None,
        )
        world.engine.call_at(MONDAY_S, lambda: world.store.faults.add(down))
        world.engine.call_at(MONDAY_S + 3600, world.store.faults.clear)

    case = case_of((0, 600, THREE), (0, 600, THREE), gpus=1)
    own = settings({WHOLE: 1}, policy=unthrottled())
    calm, troubled = run_embedded("a", case, own), run_embedded("a", case, own, plan)
    assert (calm.loop.errors, calm.loop.ends) == (0, {"done": 1})
    assert min(t.start_s for t in troubled.jobs) > 3600
    assert troubled.loop.errors > 0
    assert "injected fault" in troubled.loop.first_error


def test_what_was_given_up_is_no_change():
    """A node is closed for a pod that is bound elsewhere before the cut begins."""
    rows = [(120, 1800, WHOLE), (420, 2400, THREE), (480, 1800, ONE), (600, 1200, WHOLE)]
    rows += [(660, 600, THREE), (1020, 600, WHOLE)]
    case = case_of(*rows, past=((0.0, 50_000.0, WHOLE),))
    own = settings({WHOLE: 1}, {WHOLE: 1}, policy=unthrottled())
    outcome = run_embedded("autoscaler", case, own)
    assert outcome.loop.ends == {"aborted": 1, "done": 2}
    assert outcome.changes == 2


def test_each_gpu_of_a_rollout_is_a_change():
    """As for all other policies; MIG manager clears a GPU first, which is no layout."""
    policy = with_driver(unthrottled(), Driver.MIG_MANAGER)
    own = settings({WHOLE: 1}, {WHOLE: 1}, policy=policy, driver=Driver.MIG_MANAGER, per_node=2)
    case = case_of(*[(0, 600, THREE)] * 4)
    outcome = run_embedded("autoscaler", case, own)
    assert outcome.loop.ends == {"done": 1}
    assert outcome.changes == 2
    assert len(outcome.cuts) > 2 + outcome.changes


def test_the_same_case_gives_the_same_outcome():
    """To the byte, changes of nodes included."""
    case = case_of((0, 600, THREE), (40, 60, ONE), (90, 600, WHOLE), gpus=1)
    own = settings({WHOLE: 1}, policy=unthrottled())
    assert run_embedded("a", case, own) == run_embedded("a", case, own)


def test_what_becomes_free_waits_for_the_next_look():
    """By the scheduler alone the second 7g follows the first; else two 3g get the GPU."""
    rows = [(0, 100, WHOLE), (1, 100, WHOLE), (2, 100, THREE), (3, 100, THREE)]
    # Whole GPUs were held for long, so one that is free is worth more in halves.
    past = [(600.0 * k, 60.0, THREE) for k in range(100)] + [(0.0, 50_000.0, WHOLE)]
    case = case_of(*rows, gpus=1, past=past)
    # Draining would close the node until the first 7g ends.
    free = unthrottled()
    drains = free.disruption.draining.model_copy(update={"enabled": False})
    rules = free.disruption.model_copy(update={"draining": drains})
    own = settings({WHOLE: 1}, policy=free.model_copy(update={"disruption": rules}))
    eager = run_embedded("a", case, own)
    patient = run_embedded("a", case, replace(own, closes_by_profile=True))
    assert problems_of(patient, case) == []
    # The instance is free at about 100 and the loop looks at 120.
    assert eager.jobs[1].start_s < 120 < patient.jobs[1].start_s
    assert patient.jobs[2].start_s < eager.jobs[2].start_s


def test_the_last_node_has_the_gpus_that_are_left():
    """Five GPUs in nodes of two are three nodes."""
    case = case_of((0, 1, ONE), gpus=5)
    nodes = fleet_of(case, settings(*[{WHOLE: 1}] * 5, per_node=2))
    assert [len(group.layout) for group in nodes.groups] == [2, 2, 1]


def test_the_past_grows_with_the_run():
    """Who waits or runs was asked for, and is taken to be of the usual length so far."""
    earlier = tuple(replace(j, arrival_s=j.arrival_s - DAY_S) for j in jobs((0, 100, ONE)))
    present = jobs((0, 50, ONE), (10, 5000, ONE), (20, 5000, THREE), (2 * DAY_S, 9, ONE))
    past = KnownPast(DAY_S, earlier, present, lambda: {0: 50.0})
    found = past.demand("all", Grid(0.0, 300.0, 2 * 288), ())
    own = found.jobs["all", f"nvidia.com/mig-{ONE}"]
    assert [(job.arrival_s, job.service_s) for job in own] == [
        (0.0, 100),
        (DAY_S, 50),
        (DAY_S + 10, 75),
    ]
    # None of its kind has ended: nobody can say anything about how long it runs.
    assert ("all", f"nvidia.com/mig-{THREE}") not in found.jobs


def test_the_policy_of_studies_is_the_one_in_the_file():
    """So that people can read and change what studies use."""
    assert load_policy(FILE).policy == unthrottled()


def test_a_run_begins_on_the_date_of_its_jobs():
    """On a Friday a window of Fridays is open at once; on the day before one waits for it."""
    disruption = {**UNTHROTTLED["disruption"], **FRIDAYS}
    policy = Policy.model_validate_json(json.dumps({**UNTHROTTLED, "disruption": disruption}))
    case = case_of((0, 600, THREE), (0, 600, THREE), gpus=1)
    own = settings({WHOLE: 1}, policy=policy)
    dated = run_embedded("a", replace(case, start_s=FRIDAY_S), own)
    assert problems_of(dated, case) == []
    assert max(t.start_s for t in dated.jobs) < 600
    early = run_embedded("a", replace(case, start_s=FRIDAY_S - 7200), own)
    assert 7200 < min(t.start_s for t in early.jobs) < 7800
