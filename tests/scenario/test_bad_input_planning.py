"""Plans for what cannot be: a result with reasons, never an exception, never silence."""

from dataclasses import replace
from itertools import product
from math import inf, isfinite, nan

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Announced, Demand
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.plan.plan import StoppedBy
from autoscaler.domain.plan.plan_json import parse_plan, render_plan
from autoscaler.domain.reasons import Reason
from autoscaler.planning.gating.gate import Standing, gate
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.solving.answer import Answer, Status
from tests.builders import NOW_S, fleet_node, snapshot, waiting
from tests.commands import Shell, write_policy
from tests.dumps import dump_configurations, dump_node, dump_pod, write_dump
from tests.fleets import policy, pool

SMALLS = [{"1g.5gb": 7}] * 2
DAY = {"start": "00:00", "end": "24:00"}
HALF = resource_name("3g.20gb")


def planned(*groups, fleet=None, own=None, now_s=NOW_S, past=None, records=(), **demand):
    """Return a gated plan that said a word about every pod, in finite numbers."""
    seen, rules = fleet or snapshot(fleet_node(layout=SMALLS)), own or policy()
    asked = replace(Demand(groups), **demand)
    settings = PlannerSettings(past, records)
    plan = make_plan(seen, asked, rules, now_s, settings)
    found = gate(plan, seen, rules, now_s, Standing(history=records))
    assert parse_plan(render_plan(found), "plan") == found
    optimality = found.optimality
    assert all(map(isfinite, (optimality.objective, optimality.bound, optimality.gap)))
    waits = {pod for group in groups for pod in group.pods}
    served = {pod for change in found.changes for pod in change.serves}
    told = {note.pod for note in found.unserved if note.message}
    assert waits == served | told
    return found


def reasons(plan):
    return {note.reason for note in plan.unserved}


@pytest.mark.parametrize(
    ("group", "reason"),
    [
        (waiting("9g.90gb", 3), Reason.IMPOSSIBLE_PROFILE),
        (waiting({"7g.40gb": 9}, 3), Reason.NO_CAPACITY),
        (waiting("3g.20gb", 3, nodes=()), Reason.NO_ELIGIBLE_NODE),
        (waiting("3g.20gb", 3, nodes=("nowhere",)), Reason.NO_ELIGIBLE_NODE),
        (waiting("3g.20gb", 9, gang="default/g", gang_min=9), Reason.GANG_TOO_LARGE),
    ],
)
def test_demand_that_nothing_can_serve_is_told_why(group, reason):
    """And nothing is changed for it."""
    found = planned(group)
    assert found.changes == ()
    assert reasons(found) == {reason}


@pytest.mark.parametrize(
    "fleet",
    [
        replace(snapshot(), nodes=(), pools_total={"pool": 0}),
        snapshot(replace(fleet_node(), gpus=(), supply=Counts(), allocated=Counts())),
        snapshot(fleet_node(layout=[None, None])),
    ],
    ids=["no node", "no GPU", "MIG off"],
)
def test_where_there_is_nothing_to_cut_every_pod_is_told(fleet):
    """No node, a node without GPUs, a node without MIG."""
    found = planned(waiting("3g.20gb", 3), waiting("1g.5gb", 2), fleet=fleet)
    assert found.changes == ()
    assert len(found.unserved) == 5


def test_pods_of_many_kinds_for_one_node_are_weighed_against_each_other():
    """Thousands of instances are asked for; some are served, all others are told."""
    names = ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb")
    bundles = [dict(zip(names, n, strict=True)) for n in product(range(4), repeat=4) if any(n)]
    groups = [
        waiting({p: n for p, n in bundle.items() if n}, 20, prefix=f"kind-{index:03d}")
        for index, bundle in enumerate(bundles)
    ]
    found = planned(*groups, fleet=snapshot(fleet_node(layout=[{"7g.40gb": 1}] * 2)))
    assert len(found.changes) == 1
    assert found.changes[0].serves
    assert len(found.unserved) > 5000


@pytest.mark.parametrize("weight", [0.0, -1.0, nan, 1e-300, 1e300, inf])
def test_weights_of_any_size_leave_a_plan(weight):
    """What weighs nothing is worth no change, and what outweighs all else goes first."""
    group = waiting("3g.20gb", 4, weight=weight)
    found = planned(group, waiting("7g.40gb", 2))
    served = set(group.pods) & {pod for change in found.changes for pod in change.serves}
    assert bool(served) == (weight > 1)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"floors": {"1g.5gb": 1000}}, "1000 x 1g.5gb, 14 can be had"),
        ({"floors": {"1g.5gb": 14, "7g.40gb": 2}}, "2 x 7g.40gb, 0 can be had"),
        ({"floors": {"9g.90gb": 1}}, "1 x 9g.90gb, 0 can be had"),
        (
            {
                "floors": ({**DAY, "profiles": {"3g.20gb": 4}},),
                "ceilings": ({**DAY, "profiles": {"3g.20gb": 2}},),
            },
            "4 x 3g.20gb and have at most 2 at the same time",
        ),
    ],
)
def test_floors_that_cannot_be_kept_are_named(rules, said):
    """Those above capacity, above each other, of no profile, above a ceiling."""
    found = planned(waiting("2g.10gb", 3), own=policy(pool(**rules)))
    (hold,) = [h for h in found.holds if h.reason is Reason.FLOOR_IMPOSSIBLE]
    assert said in hold.message


def test_of_a_floor_and_a_ceiling_below_it_the_ceiling_counts():
    """They hold at the same time of day, which no reader of the file can see."""
    spans = {"floors": {"3g.20gb": 4}, "ceilings": {"3g.20gb": 2}}
    own = pool(**{key: ({**DAY, "profiles": p},) for key, p in spans.items()})
    found = planned(waiting("3g.20gb", 4), own=policy(own))
    made = sum(gpu.after["3g.20gb"] for change in found.changes for gpu in change.gpus)
    assert made == 2
    assert reasons(found) == {Reason.CEILING}


def test_ceilings_of_nothing_leave_nothing_and_say_so():
    """Whoever waits is told which rule forbids it."""
    names = ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")
    own = policy(pool(ceilings=dict.fromkeys(names, 0)))
    assert reasons(planned(waiting("3g.20gb", 2), own=own)) == {Reason.CEILING}


@pytest.mark.parametrize("value", [nan, inf, -inf, 0.0, -5.0, 1e-308, 1e308, 1e18])
def test_a_past_of_odd_numbers_leaves_a_plan(value):
    """Service times, chances and home mixes of any size."""
    number = 10**9 if value > 1 else -3
    past = ValueHistory(
        service_s={HALF: value, resource_name("1g.5gb"): value},
        home={("pool", HALF): number, ("elsewhere", "nonsense"): number},
        reach={("pool", HALF): (value, 0.5, value, 2.0)},
    )
    found = planned(waiting("3g.20gb", 3), past=past)
    assert found.optimality.stopped_by is not StoppedBy.FAILURE


def test_peaks_and_queues_of_any_size_leave_a_plan():
    """Also of resources that no GPU offers."""
    huge = 10**9
    names = ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-9g.90gb")
    announced = tuple(Announced("someone", name, huge, NOW_S, inf) for name in names)
    queued = Counts(dict.fromkeys(names, huge))
    planned(waiting("3g.20gb", 3), announced=announced, queued=queued)


@pytest.mark.parametrize("now_s", [0.0, -1e9, NOW_S - 1e6, NOW_S + 1e9, 1e11])
def test_any_time_of_the_clock_leaves_a_plan(now_s):
    """Rules by the time of day, windows and cooldowns are asked what holds then."""
    record = RolloutRecord("node-a", NOW_S - 60.0, NOW_S, Result.DONE, pool="pool")
    own = policy(pool(floors=({**DAY, "profiles": {"1g.5gb": 2}},)))
    found = planned(waiting("3g.20gb", 3), own=own, now_s=now_s, records=(record,))
    assert found.changes


def test_a_solver_that_fails_leaves_the_geometry_and_a_word_for_every_pod():
    """Nothing is known then, and that is what is said."""
    demand = Demand((waiting("3g.20gb", 3),))
    broken = PlannerSettings(solver=lambda *_: Answer(Status.FAILURE))
    found = make_plan(snapshot(), demand, policy(), NOW_S, broken)
    assert found.changes == ()
    assert {note.reason for note in found.unserved} == {Reason.SOLVER_STOPPED}
    assert len(found.unserved) == 3
    assert found.notices


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def dump(tmp_path):
    """An idle node of small instances, and three pods that wait for larger ones."""
    pods = [dump_pod(f"waits-{i}") for i in range(3)]
    return write_dump(tmp_path, dump_node(layout=SMALLS), *pods, dump_configurations([SMALLS]))


def silent(data):
    """Say whether a plan proposes nothing and names no reason."""
    return not (data["changes"] or data["unserved"] or data["holds"] or data["notices"])


@pytest.mark.parametrize("weight", ["0", "-1", ".nan", ".inf", "1e999", "high", "true"])
def test_a_priority_that_is_no_weight_is_named_with_its_line(shell, dump, tmp_path, weight):
    """Nobody asks for pods that are worth nothing: that is what leaving them out says."""
    path = write_policy(tmp_path, f"priorities: {{urgent: {weight}}}")
    result = shell.plan(dump, policy=path)
    assert result.code == 65
    assert "policy.yaml:7:" in result.err
    assert "priorities.urgent" in result.err


@pytest.mark.parametrize("weight", ["1e-300", "1e300"])
def test_a_priority_of_any_size_leaves_a_plan(shell, tmp_path, weight):
    """Every pod is served or told why not."""
    urgent = dump_pod("urgent", "7g.40gb", spec={"priorityClassName": "urgent"})
    objects = (dump_node(layout=SMALLS), urgent, dump_pod("waits"))
    path = write_dump(tmp_path, *objects, dump_configurations([SMALLS]))
    policy_path = write_policy(tmp_path, f"priorities: {{urgent: {weight}}}")
    data = shell.plan(path, policy=policy_path).json
    served = {pod["name"] for change in data["changes"] for pod in change["serves"]}
    assert served | {note["name"] for note in data["unserved"]} == {"urgent", "waits"}
    assert ("urgent" in served) == (weight == "1e300")


def test_pods_by_the_thousand_for_one_node_are_all_told(shell, tmp_path):
    """All of them must run on the same node of two GPUs."""
    there = {"nodeSelector": {"kubernetes.io/hostname": "gpu-1"}}
    kinds = ("2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")
    pods = [dump_pod(f"p-{i:04d}", kinds[i % 4], spec=there) for i in range(1500)]
    nodes = [dump_node(name, layout=SMALLS) for name in ("gpu-1", "gpu-2")]
    data = shell.plan(write_dump(tmp_path, *nodes, *pods, dump_configurations([SMALLS]))).json
    assert {change["node"] for change in data["changes"]} == {"gpu-1"}
    served = sum(len(change["serves"]) for change in data["changes"])
    assert served + len(data["unserved"]) == 1500


@pytest.mark.parametrize("objects", [(), (dump_pod("waits"),)], ids=["idle", "waiting"])
def test_nodes_without_gpus_are_no_silence(shell, tmp_path, objects):
    """A node that lost its GPUs, with and without pods that wait."""
    count = {"nvidia.com/gpu.count": "0"}
    amounts = {"cpu": "96", "memory": "1024Gi", "pods": "110"}
    node = dump_node(labels=count, status={"allocatable": amounts, "capacity": amounts})
    data = shell.plan(write_dump(tmp_path, node, *objects)).json
    assert data["changes"] == []
    assert not silent(data)
    assert {note["name"] for note in data["unserved"]} == {"waits"} & {
        pod["metadata"]["name"] for pod in objects
    }


@pytest.mark.parametrize(
    "at", ["1970-01-01T00:00:00Z", "2030-01-10T10:59:00Z", "2031-01-01T00:00:00Z"]
)
def test_a_clock_that_is_wrong_leaves_a_plan(shell, dump, tmp_path, at):
    """Long before the objects were made, a moment before, and long after."""
    path = write_policy(tmp_path, 'disruption: {windows: [{start: "22:00", end: "06:00"}]}')
    data = shell.plan(dump, policy=path, at=at).json
    assert not silent(data)


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "null",
        "[" * 5000,
        '[{"pool": "a100", "madeAt": "9999-12-31T23:59:59Z", "home": {"x": 1}}]',
        '[{"pool": "a100", "madeAt": "2030-01-10T11:00:00Z", "services": {"x": [NaN, 1]}}]',
        '[{"pool": "a100", "madeAt": "2030-01-10T11:00:00Z", "reach": {"x": [[2.0, -4]]}}]',
        '[{"pool": "a100", "madeAt": "2030-01-10T11:00:00Z", "home": {"x": 1e999}}]',
    ],
)
def test_a_kept_past_that_cannot_be_is_as_if_it_were_not_there(shell, tmp_path, kept):
    """Someone wrote into the status ConfigMap, or an older version did."""
    metadata = {"name": "mig-autoscaler-status", "namespace": "mig-autoscaler"}
    data = {"past.json": kept, "history.json": kept, "status.json": kept}
    status = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    objects = (dump_node(layout=SMALLS), dump_pod("waits"), dump_configurations([SMALLS]))
    plain = shell.plan(write_dump(tmp_path, *objects)).json
    odd = shell.plan(write_dump(tmp_path, *objects, status)).json
    assert odd["changes"] == plain["changes"]
