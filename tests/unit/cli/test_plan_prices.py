"""Prices in a wide plan: each term apart, and whose waiting is avoided."""

import pytest

from tests.commands import Shell, write_policy
from tests.dumps import SEVEN, dump_configurations, dump_node, dump_pod, write_dump

PEAK = (
    "demand:",
    "  scheduled:",
    '    - {name: rush, start: "00:00", end: "24:00", profiles: {7g.40gb: 1}}',
)


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def dump(tmp_path):
    """Two idle nodes of small instances; two pods wait for larger ones."""
    nodes = [dump_node(name, layout=[SEVEN, SEVEN]) for name in ("gpu-1", "gpu-2")]
    pods = [dump_pod("first"), dump_pod("second")]
    return write_dump(tmp_path, *nodes, *pods, dump_configurations([[SEVEN, SEVEN]]))


def rows(out, title):
    """Return the lines of a table, without its rules."""
    block = out.split(title)[1].split("\n\n")[0]
    return [line.split() for line in block.splitlines()[3:]]


def test_a_wide_plan_shows_whose_waiting_it_avoids(shell, dump, tmp_path):
    """By scenario and resource; the sum is that of the gain."""
    policy = write_policy(tmp_path, *PEAK)
    data = shell.plan(dump, policy=policy).json
    wide = shell.plan(dump, policy=policy, options="-o wide").out
    avoided = data["terms"]["avoided"]
    assert set(avoided) == {"pending", "scheduled"}
    found = {tuple(line[:3]): line[3] for line in rows(wide, "WAITING AVOIDED")}
    pending = f"{round(avoided['pending']['nvidia.com/mig-3g.20gb']):,}"
    assert found["pending", "pods", "nvidia.com/mig-3g.20gb"] == pending
    scheduled = f"{round(avoided['scheduled']['nvidia.com/mig-7g.40gb']):,}"
    assert found["scheduled", "peaks", "nvidia.com/mig-7g.40gb"] == scheduled


def test_the_terms_of_all_changes_are_those_of_the_plan(shell, dump, tmp_path):
    """Gain less cost less margin is the net, in the table as in the document."""
    policy = write_policy(tmp_path, *PEAK)
    data = shell.plan(dump, policy=policy).json
    terms, changes = data["terms"], data["changes"]
    for name in terms.keys() - {"avoided"}:
        assert terms[name] == pytest.approx(sum(own["terms"][name] for own in changes))
    net = sum(own["gain"] - own["cost"] - own["terms"]["churn"] for own in changes)
    wide = shell.plan(dump, policy=policy, options="-o wide").out
    assert rows(wide, "PRICE (slice-seconds)")[-1][-1] == f"{round(net):,}"
    assert data["optimality"]["objective"] == pytest.approx(net, abs=0.01)
