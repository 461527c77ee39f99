"""Plans for another time: windows, peaks, presets and ceilings are those of then."""

import time
from datetime import UTC, datetime

import pytest

from autoscaler.cli.moment import moment_text
from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from tests.commands import Shell, write_policy
from tests.dumps import dump_configurations, dump_node, dump_pod, write_dump
from tests.worlds import SEVENS, THREE, make_world, task

SMALLS = [{"1g.5gb": 7}] * 2
# A Thursday; the pods of dumps were made at 11:00.
DAY = "2030-01-10"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def dump(tmp_path):
    """Two idle nodes of small instances; a pod waits for a larger one."""
    nodes = [dump_node(name, layout=SMALLS) for name in ("gpu-1", "gpu-2")]
    return write_dump(tmp_path, *nodes, dump_pod("waits"), dump_configurations([SMALLS]))


def at(shell, dump, tmp_path, clock, *lines, day=DAY):
    """Return the plan of a time of day under a policy of these lines."""
    path = write_policy(tmp_path, *lines)
    return shell.plan(dump, policy=path, at=f"{day}T{clock}:00Z").json


def after(plan, profile):
    """Return how many instances of a profile the changes of a plan leave."""
    gpus = [gpu for change in plan["changes"] for gpu in change["gpus"]]
    return sum(gpu["after"].get(profile, 0) for gpu in gpus)


@pytest.mark.parametrize(
    ("clock", "day", "reasons"),
    [
        ("12:00", DAY, {"OutsideWindow"}),
        ("22:00", DAY, set()),
        ("02:00", "2030-01-11", set()),
        ("05:58", "2030-01-11", {"DoesNotFitWindow"}),
        ("06:00", "2030-01-11", {"OutsideWindow"}),
        ("23:00", "2030-01-11", {"OutsideWindow"}),
        ("23:00", "2030-01-14", {"Frozen"}),
    ],
)
def test_a_change_is_blocked_by_the_windows_of_that_time(
    shell, dump, tmp_path, clock, day, reasons
):
    """What it proposes is the same; whether it fits before the end is asked too."""
    days = "[mon, tue, wed, thu]"
    window = f'{{days: {days}, start: "22:00", end: "06:00"}}'
    freeze = '{from: "2030-01-14", to: "2030-01-15"}'
    line = f"disruption: {{windows: [{window}], freezes: [{freeze}]}}"
    plan = at(shell, dump, tmp_path, clock, line, day=day)
    (change,) = plan["changes"]
    assert {block["reason"] for block in change["blockedBy"]} == reasons


@pytest.mark.parametrize(("clock", "counts"), [("11:30", False), ("12:30", True)])
def test_a_peak_counts_from_its_lead_on(shell, dump, tmp_path, clock, counts):
    """An hour ahead by default; before that it is no reason for a change."""
    peak = '{name: rush, start: "13:00", end: "15:00", profiles: {7g.40gb: 2}}'
    plan = at(shell, dump, tmp_path, clock, f"demand: {{scheduled: [{peak}]}}")
    assert after(plan, "7g.40gb") == (2 if counts else 0)
    assert ("scheduled" in plan["terms"]["avoided"]) == counts


PRESET = (
    "    presets:",
    '      - {preset: inference, at: {start: "18:00", end: "20:00"}, gpus: 2}',
    "presets: {inference: {a100-40gb: {2g.10gb: 3}}}",
)


@pytest.mark.parametrize(("clock", "number"), [("17:30", 0), ("18:30", 6)])
def test_a_preset_holds_at_its_time(shell, dump, tmp_path, clock, number):
    """Before and after it free space is left as it is."""
    plan = at(shell, dump, tmp_path, clock, *PRESET)
    assert after(plan, "2g.10gb") == number


CEILING = (
    "    ceilings:",
    '      - {start: "08:00", end: "12:00", profiles: {3g.20gb: 0}}',
)


@pytest.mark.parametrize(("clock", "reasons"), [("11:59", {"Ceiling"}), ("12:00", set())])
def test_a_ceiling_holds_at_its_time(shell, dump, tmp_path, clock, reasons):
    """Whoever waits is told which rule of then forbids it."""
    plan = at(shell, dump, tmp_path, clock, *CEILING)
    assert {note["reason"] for note in plan["unserved"]} == reasons
    assert bool(plan["changes"]) == (not reasons)


def test_a_live_cluster_is_planned_for_a_coming_window(shell, tmp_path):
    """With its nodes and pods of now, and a word that they are."""
    start_s = time.time() - 400.0
    world = make_world(SEVENS, SEVENS, start_s=start_s)
    world.submit([task(f"waits-{i}", {THREE: 1}, run_s=None) for i in range(3)])
    world.run_until(time.time())
    opens_s = (time.time() // 3600 + 3) * 3600
    clock = datetime.fromtimestamp(opens_s, UTC).strftime("%H:%M")
    ends = datetime.fromtimestamp(opens_s + 3600, UTC).strftime("%H:%M")
    policy = write_policy(
        tmp_path,
        "rollout: {warmUp: 0s}",
        f'disruption: {{windows: [{{start: "{clock}", end: "{ends}"}}]}}',
    )
    kubeconfig = tmp_path / "kubeconfig"
    with ApiServer(world.store) as server:
        write_kubeconfig(kubeconfig, server.url)
        where = ("--policy", policy, "--kubeconfig", str(kubeconfig), "-o", "json")
        now = shell.run("plan", *where).json
        then = shell.run("plan", *where, "--at", moment_text(opens_s + 60)).json
    assert [b["reason"] for b in now["changes"][0]["blockedBy"]] == ["OutsideWindow"]
    assert then["changes"][0]["blockedBy"] == []
    assert then["observedAt"] == moment_text(opens_s + 60)
    assert not any("--at" in notice for notice in now["notices"])
    (said,) = [notice for notice in then["notices"] if "--at" in notice]
    assert "ahead" in said
