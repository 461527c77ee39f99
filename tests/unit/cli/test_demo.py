"""Parts of the demo that need no run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from autoscaler.cli.demo import conclude, settings_of
from autoscaler.cli.demo_live import change_text, nodes_table, waits_at
from autoscaler.cli.demo_policy import demo_policy, policy_text
from autoscaler.cli.demo_report import row_text
from autoscaler.cli.demo_run import AutoscaledRun, faults_of, make_world
from autoscaler.cli.output import text_of, write_file
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Journal, Layout, Result, State
from autoscaler.domain.policy.policy import Mode
from autoscaler.domain.policy.window import is_open
from autoscaler.ports import NODES
from autoscaler.simulation.demo.comparison import Row
from autoscaler.simulation.demo.run_record import ChangeRecord
from autoscaler.simulation.demo.scenario import Scenario, build_scenario
from autoscaler.simulation.figures import PodTimes
from tests.builders import fleet_node
from tests.rollouts import before, target

SMALL = settings_of(seed=1, hours=1, nodes=2)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build_scenario(SMALL)


def journal(**changes: object) -> Journal:
    values: dict[str, object] = {
        "id": "r1",
        "plan": "p1",
        "holder": "me",
        "epoch": 1,
        "state": State.APPLYING,
        "state_since_s": 0.0,
        "deadline_s": 1.0,
        "before": before(),
        "target": target(),
        "node_uid": "uid",
        "gpus": (0,),
        "serves": ("jobs/a",),
    }
    return Journal(**{**values, **changes})


def pod(name: str, submitted_s: float, started_s: float | None) -> PodTimes:
    requests = Counts({"nvidia.com/mig-1g.5gb": 1})
    return PodTimes("jobs", name, name, requests, submitted_s, started_s=started_s)


def test_the_window_opens_after_the_start_and_stays_open(scenario: Scenario):
    """First only a dry run can be, and no change is cut off by the end of the window."""
    whole = settings_of(seed=1, hours=8, nodes=2)
    windows = demo_policy(scenario).disruption.windows
    assert not is_open(windows, whole.start_s)
    assert is_open(windows, whole.start_s + 3600)
    assert is_open(windows, whole.end_s + 1800)


def test_the_policy_changes_nothing_until_it_is_told_to(scenario: Scenario):
    """The file says dry-run, as that of a newcomer does."""
    assert demo_policy(scenario).mode is Mode.DRY_RUN
    assert "mode: dry-run" in policy_text(scenario)


def test_the_floor_keeps_most_of_the_staple_profile(scenario: Scenario):
    """Never more than the starting mix has."""
    (pool,) = demo_policy(scenario).pools
    text = policy_text(scenario)
    mix = scenario.mix.instances
    names = [name for name in mix if f"floors: {{{name}: {int(0.95 * mix[name])}}}" in text]
    assert pool.reserve.full_gpu_nodes == 1
    assert len(names) == 1


def test_fewer_hours_are_the_first_ones():
    """Of the days run and of the days before alike."""
    whole, part = settings_of(1, 8, 12).choice, settings_of(1, 3, 12).choice
    assert part.present == replace(whole.present, end_h=whole.present.start_h + 3)
    assert part.past == replace(whole.past, end_h=whole.past.start_h + 3)


def test_waits_until_a_moment_know_nothing_of_what_comes_after():
    """A pod that starts later still waits; one submitted later is not there."""
    pods = [pod("a", 0, 10), pod("b", 5, 90), pod("c", 20, None), pod("d", 60, None)]
    (found,) = waits_at(pods, ["1g.5gb"], 50).values()
    assert (found.number, found.mean_s) == (2, (10 + 45 + 30) / 3)


def test_a_change_is_told_with_gpus_before_and_after():
    """GPUs that change alike share a part of the sentence."""
    text = "closed, to cut GPU 0 from 7x1g.5gb to 2x3g.20gb; for 1 pod"
    assert change_text(journal()) == text


def test_small_figures_differ_by_no_share():
    """1.2 s more is no 100 percent."""
    assert row_text(Row("wait", "s", 1.2, 2.4)) == ("1.2", "2.4", "+1.2")
    assert row_text(Row("wait", "s", 1200.0, 900.0)) == ("1,200.0", "900.0", "-300.0 (-25%)")
    assert row_text(Row("jobs", "", 40, 44)) == ("40", "44", "+4 (+10%)")


def test_a_cordoned_node_is_a_fault(scenario: Scenario):
    """Nobody else would notice it in the figures."""
    world = make_world(scenario)
    assert faults_of(world, ()) == ()
    cordon = {"spec": {"unschedulable": True}}
    world.platform.client.patch(NODES, None, "gpu-02", cordon)
    assert faults_of(world, ()) == ("gpu-02 is still cordoned",)


def test_a_node_that_is_not_as_planned_is_a_fault(scenario: Scenario):
    """The last change of a node counts, and only if it was done."""
    world = make_world(scenario)
    wrong = Layout("as-1", (Counts(),), Counts({"nvidia.com/mig-7g.40gb": 99}))
    record = RolloutRecord("gpu-02", 0.0, 1.0, Result.DONE)
    changed = ChangeRecord(record, journal(target=wrong))
    aborted = ChangeRecord(replace(record, result=Result.ABORTED), journal(target=wrong))
    (fault,) = faults_of(world, [changed])
    assert fault.startswith("gpu-02 advertises ")
    assert fault.endswith("not 99xnvidia.com/mig-7g.40gb")
    assert faults_of(world, [aborted]) == ()


def test_faults_end_in_exit_code_1(capsys: pytest.CaptureFixture[str]):
    """Each is named on standard error."""
    run = AutoscaledRun(None, None, 0.0, (), (), 0, ("gpu-02 is still cordoned",))
    assert conclude(Console(), run) == 1
    assert capsys.readouterr().err == "error: gpu-02 is still cordoned\n"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    """As for every other command."""
    with pytest.raises(ConfigError, match=r"missing/x\.json: cannot be written: No such file"):
        write_file(tmp_path / "missing" / "x.json", json.dumps({}))


def test_a_reserved_node_is_shown_as_such():
    """Its hold is what being reserved means, and no trouble."""
    nodes = [fleet_node("gpu-01", reserved=True), fleet_node("gpu-02")]
    lines = text_of(nodes_table(nodes)).splitlines()[2:]
    assert [line.split()[:2] for line in lines] == [["gpu-01", "reserved"], ["gpu-02", "ready"]]
