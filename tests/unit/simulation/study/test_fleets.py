"""Fleets of other models and other nodes, under the real loop."""

import pytest

from autoscaler.agent.wiring import new_agent
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.policy.policy import Driver
from autoscaler.simulation.study.checks import problems_of
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.division import Days
from autoscaler.simulation.study.policies import Conditions, run_policy
from autoscaler.simulation.study.splits import Case, Work, work_of_days
from autoscaler.simulation.study.trace_file import Trace, TraceRow
from autoscaler.simulation.study.unthrottled import unthrottled

# Whole GPUs in the past; then halves, of which none is there.
PAST = Trace("past", (TraceRow(0.0, 600.0, "7g", 1),))
PRESENT = Trace("present", tuple(TraceRow(60.0 * k, 900.0, "3g", 1) for k in range(4)))


@pytest.mark.parametrize(
    ("key", "gpus", "per_node", "driver"),
    [
        ("a30-24gb", 2, 1, Driver.AGENT),
        ("h100-80gb", 3, 2, Driver.MIG_MANAGER),
        ("rtx-pro-6000-blackwell-96gb", 5, 4, Driver.AGENT),
        ("a100-80gb", 9, 8, Driver.MIG_MANAGER),
    ],
)
def test_halves_are_cut_on_every_model_and_node(key, gpus, per_node, driver):
    """Jobs of a trace become the model's own profiles, and all of them run."""
    model = next(m for m in load_models() if m.key == key)
    past, present = (work_of_days(trace, model, Days(0, 1)) for trace in (PAST, PRESENT))
    assert {job.profile for job in past.jobs} == {model.whole_gpu.name}
    case = Case(key, model, gpus, 0.5, Work(past.jobs, 2 * DAY_S), Work(present.jobs, 3600.0))
    conditions = Conditions(unthrottled(), driver, per_node, agent=new_agent)
    outcome = run_policy("autoscaler", case, conditions)
    assert problems_of(outcome, case) == []
    assert all(times.end_s is not None for times in outcome.jobs)
    assert outcome.changes >= 1
    nodes = {times.place[0] for times in outcome.jobs}
    assert len(nodes) <= -(-gpus // per_node)
