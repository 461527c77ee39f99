"""Each rule of the gate: what it blocks, what it lets through and what it says."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Journal, Layout, Result, State
from autoscaler.domain.plan.plan import (
    Eviction,
    GpuChange,
    Optimality,
    Price,
    StoppedBy,
)
from autoscaler.domain.policy.policy import (
    Budgets,
    DailySpan,
    Disruption,
    Driver,
    Freeze,
    Metadata,
    PlanningRules,
    Policy,
    Pool,
)
from autoscaler.domain.reasons import Block, Hold, Reason
from autoscaler.planning.gating.gate import Standing, gate
from tests.builders import change, fleet_node, node, plan, snapshot


def at(text):
    """Return epoch seconds of a UTC time."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


# A Monday.
NOON = at("2026-03-02T12:00")


def policy(planning=None, **disruption):
    """Return a policy with these rules of disruption, budgets wide unless given."""
    rules = {"budgets": Budgets(nodes=100, per_hour=100), **disruption}
    return Policy(
        api_version="mig-autoscaler.io/v1alpha1",
        kind="MigPolicy",
        metadata=Metadata(name="x"),
        pools=(Pool(name="pool"),),
        disruption=Disruption(**rules),
        planning=planning or PlanningRules(),
    )


def fleet(number, **special):
    """Return a fleet of nodes a, b, c and so on; some with fields of their own."""
    names = [f"node-{letter}" for letter in "abcdefghijkl"[:number]]
    return snapshot(*(fleet_node(name, **special.get(name[-1], {})) for name in names))


def blocks(rules, *, of=None, now_s=NOON, nodes=None, standing=None):
    """Return the blocks of each change, reason and message."""
    gated = gate(of or plan(), nodes or fleet(3), rules, now_s, standing)
    return [[(b.reason, b.message) for b in c.blocked_by] for c in gated.changes]


def reasons(rules, **inputs):
    """Return the reasons that block each change."""
    return [[reason for reason, _ in found] for found in blocks(rules, **inputs)]


def nightly(**fields):
    """Return a window from 22:00 to 06:00 UTC, every day."""
    return DailySpan(start="22:00", end="06:00", **fields)


def test_without_rules_in_the_way_a_change_may_start():
    """No windows, no freeze, budget left, worth it."""
    assert blocks(policy()) == [[]]


def test_changes_are_never_removed_nor_reordered():
    """Blocked or not."""
    many = plan(change("node-b"), change("node-a"), change("node-c"))
    gated = gate(many, fleet(3), policy(windows=()), NOON)
    assert [c.node for c in gated.changes] == ["node-b", "node-a", "node-c"]
    assert [replace(c, blocked_by=()) for c in gated.changes] == list(many.changes)


def test_pause_blocks_everything_and_says_what_people_wrote():
    """The text of the annotation."""
    found = blocks(policy(), standing=Standing(paused="upgrade of the operator"))
    assert found == [
        [(Reason.PAUSED, "paused by people (upgrade of the operator), until they resume")]
    ]
    assert reasons(policy(), standing=Standing(paused="")) == [[Reason.PAUSED]]


@pytest.mark.parametrize("stopped_by", [StoppedBy.WALL_CLOCK, StoppedBy.FAILURE])
def test_a_plan_of_a_stopped_solver_waits_for_a_person(stopped_by):
    """It would be another one on another machine."""
    stopped = plan(optimality=Optimality(1.0, 2.0, 0.5, 10.0, stopped_by))
    assert reasons(policy(), of=stopped) == [[Reason.SOLVER_STOPPED]]
    assert reasons(policy(), of=stopped, standing=Standing(by_hand=True)) == [[]]


@pytest.mark.parametrize("stopped_by", [StoppedBy.OPTIMAL, StoppedBy.GAP, StoppedBy.NODE_LIMIT])
def test_a_plan_that_any_run_would_find_needs_no_person(stopped_by):
    """Gap and node count do not depend on the machine."""
    found = plan(optimality=Optimality(1.0, 1.0, 0.0, 1.0, stopped_by))
    assert reasons(policy(), of=found) == [[]]


def test_outside_of_windows_the_next_opening_is_named():
    """And inside one nothing is said."""
    rules = policy(windows=(nightly(),))
    assert blocks(rules) == [
        [
            (
                Reason.OUTSIDE_WINDOW,
                "no maintenance window is open;"
                " changes may start again from 2026-03-02 22:00 UTC",
            )
        ]
    ]
    assert blocks(rules, now_s=at("2026-03-02T23:00")) == [[]]


def test_an_empty_list_of_windows_never_opens():
    """Never is never."""
    message = "no maintenance window is open; no window ever opens"
    assert blocks(policy(windows=())) == [[(Reason.OUTSIDE_WINDOW, message)]]


def test_idle_changes_may_start_outside_where_the_policy_says_so():
    """Nobody holds the GPU that changes; the other GPU may be in use."""
    rules = policy(windows=(nightly(),), outside_windows="idle")
    seven = {"1g.5gb": 7}
    busy_elsewhere = snapshot(fleet_node("node-a", (seven, seven), held=({}, {"1g.5gb": 1})))
    assert reasons(rules, nodes=busy_elsewhere) == [[]]
    assert reasons(policy(windows=(nightly(),)), nodes=busy_elsewhere) == [
        [Reason.OUTSIDE_WINDOW]
    ]


def test_changes_that_disturb_someone_wait_for_the_window():
    """An eviction, or a GPU that is or may be held."""
    rules = policy(windows=(nightly(),), outside_windows="idle")
    held = snapshot(fleet_node("node-a", held=({"1g.5gb": 1},)))
    ((reason, message),) = blocks(rules, nodes=held)[0]
    assert reason is Reason.OUTSIDE_WINDOW
    assert "not idle: GPU 0 is or may be held" in message
    evicting = plan(change(evictions=(Eviction(PodRef("ns", "p"), "holds GPU 0"),)))
    ((reason, message),) = blocks(rules, of=evicting)[0]
    assert reason is Reason.OUTSIDE_WINDOW
    assert "not idle: it evicts 1 pod" in message


def test_a_freeze_blocks_idle_changes_too():
    """Days on which nothing starts."""
    frozen = Freeze(from_=date(2026, 3, 1), to=date(2026, 3, 2), time_zone="Asia/Shanghai")
    rules = policy(windows=(nightly(),), outside_windows="idle", freezes=(frozen,))
    assert blocks(rules) == [
        [
            (
                Reason.FROZEN,
                "nothing starts from 2026-03-01 to 2026-03-02 (Asia/Shanghai), until"
                " 2026-03-02 16:00 UTC; changes may start again from 2026-03-02 22:00 UTC",
            )
        ]
    ]
    assert reasons(policy(freezes=(frozen,))) == [[Reason.FROZEN]]


@pytest.mark.parametrize(("now", "fits"), [("05:55", True), ("05:55:01", False)])
def test_a_change_must_be_over_before_the_window_closes(now, fits):
    """Five minutes, and the window closes at six."""
    found = blocks(policy(windows=(nightly(),)), now_s=at(f"2026-03-02T{now}"))
    if fits:
        assert found == [[]]
    else:
        assert found == [
            [
                (
                    Reason.DOES_NOT_FIT_WINDOW,
                    "takes about 5m, but only 4m59s are left until 2026-03-02 06:00 UTC;"
                    " changes may start again from 2026-03-02 22:00 UTC",
                )
            ]
        ]


def test_a_change_must_be_over_before_a_freeze_starts():
    """Also where there are no windows, and for idle changes."""
    frozen = (Freeze(from_=date(2026, 3, 3), to=date(2026, 3, 3)),)
    late = at("2026-03-02T23:58")
    fits_not = [[Reason.DOES_NOT_FIT_WINDOW]]
    assert reasons(policy(freezes=frozen), now_s=late) == fits_not
    rules = policy(windows=(), outside_windows="idle", freezes=frozen)
    assert reasons(rules, now_s=late) == fits_not
    assert reasons(rules, now_s=at("2026-03-02T23:50")) == [[]]


def test_idle_changes_need_not_fit_into_the_window():
    """They might as well start after it."""
    rules = policy(windows=(nightly(),), outside_windows="idle")
    assert reasons(rules, now_s=at("2026-03-02T05:59")) == [[]]


def test_windows_that_touch_count_as_one_for_the_estimate():
    """At 05:59 the next window starts when this one ends."""
    rules = policy(windows=(nightly(), DailySpan(start="06:00", end="07:00")))
    assert reasons(rules, now_s=at("2026-03-02T05:59")) == [[]]


def test_the_order_of_changes_decides_who_gets_the_budget():
    """The first that nothing else blocks."""
    three = plan(change("node-c", price=Price()), change("node-b"), change("node-a"))
    cheap = replace(three.changes[0], price=Price(out_of_service=1.0))
    three = replace(three, changes=(cheap, *three.changes[1:]))
    found = blocks(policy(budgets=Budgets(nodes=1, per_hour=9)), of=three)
    assert [[reason for reason, _ in block] for block in found] == [
        [Reason.MIN_GAIN], [], [Reason.NODE_BUDGET]
    ]  # fmt: skip
    assert found[2][0][1] == "budgets.nodes is 1, all used: 1 of this plan go first"


def journal(state=State.DRAINING, started_s=NOON - 60.0):
    """Return an open rollout."""
    layout = Layout("all-1g.5gb", (Counts({"1g.5gb": 7}),), Counts())
    return Journal(
        "r-1", "plan-0", "me", 1, state, started_s, NOON + 600.0, layout, layout, "uid-x",
        started_at_s=started_s,
    )  # fmt: skip


def test_the_node_budget_counts_what_is_out_of_service_for_any_reason():
    """An open rollout, a cordon of somebody else, a node that is not ready."""
    out = {
        "b": {"journal": journal()},
        "c": {"node": node("node-c", unschedulable=True)},
        "d": {"node": node("node-d", ready=None)},
    }
    found = blocks(policy(budgets=Budgets(nodes=3, per_hour=9)), nodes=fleet(6, **out))
    assert found == [
        [
            (
                Reason.NODE_BUDGET,
                "budgets.nodes is 3, all used: node-b (rollout draining),"
                " node-c (cordoned), node-d (not ready)",
            )
        ]
    ]
    rules = policy(budgets=Budgets(nodes=4, per_hour=9))
    assert reasons(rules, nodes=fleet(6, **out)) == [[]]


def test_a_node_that_is_out_for_two_reasons_counts_once():
    """Its rollout cordoned it."""
    out = {"b": {"journal": journal(), "node": node("node-b", unschedulable=True, ready=False)}}
    rules = policy(budgets=Budgets(nodes=2, per_hour=9))
    assert reasons(rules, nodes=fleet(3, **out)) == [[]]


@pytest.mark.parametrize(("number", "allowed"), [(9, 0), (10, 1), (12, 1)])
def test_a_percentage_of_nodes_rounds_down(number, allowed):
    """10% of nine nodes is none, and the message says so."""
    rules = policy(budgets=Budgets(nodes="10%", per_hour=9))
    found = blocks(rules, nodes=fleet(number))
    if allowed:
        assert found == [[]]
    else:
        message = "budgets.nodes is 10%, rounded down 0 of 9 nodes: nothing may start"
        assert found == [[(Reason.NODE_BUDGET, message)]]


def test_zero_means_zero():
    """Both budgets."""
    assert blocks(policy(budgets=Budgets(nodes=0, per_hour=0))) == [
        [
            (Reason.NODE_BUDGET, "budgets.nodes is 0: nothing may start"),
            (Reason.HOURLY_BUDGET, "budgets.perHour is 0: nothing may start"),
        ]
    ]


def record(name, ended_s, result=Result.DONE, started_s=None):
    """Return a rollout that is over; it took five minutes."""
    return RolloutRecord(name, started_s or ended_s - 300.0, ended_s, result)


def test_the_hourly_budget_counts_open_past_and_granted_rollouts():
    """Two of the last hour, one open, one older that no longer counts."""
    past = (
        record("node-x", NOON - 3000.0, started_s=NOON - 3599.0),
        record("node-y", NOON - 900.0),
        record("node-z", NOON - 3200.0, started_s=NOON - 3600.0),
    )
    nodes = fleet(4, d={"journal": journal()})
    standing = Standing(history=past)
    both = plan(change("node-a"), change("node-b"))
    found = blocks(
        policy(budgets=Budgets(nodes=9, per_hour=4)), of=both, nodes=nodes, standing=standing
    )
    assert found == [
        [],
        [
            (
                Reason.HOURLY_BUDGET,
                "budgets.perHour is 4, and 4 rollouts started in the last 1h;"
                " the next may start at 2026-03-02 12:00:01 UTC",
            )
        ],
    ]


@pytest.mark.parametrize(("minutes", "rests"), [(29, True), (30, False)])
def test_a_node_rests_after_a_rollout(minutes, rests):
    """Thirty minutes from its end; other nodes do not."""
    past = (record("node-a", NOON - minutes * 60.0), record("node-b", NOON - 1.0))
    found = blocks(policy(), standing=Standing(history=past))
    if not rests:
        assert found == [[]]
    else:
        message = (
            "its last rollout ended (done) at 2026-03-02 11:31 UTC; cooldown: it rests for"
            " 30m, until 2026-03-02 12:01 UTC"
        )
        assert found == [[(Reason.COOLDOWN, message)]]


def test_rollouts_given_up_in_a_row_wait_longer_each_time():
    """Ten minutes doubled thrice is more than the cooldown; a success ends the row."""
    aborted = [record("node-a", NOON - s, Result.ABORTED) for s in (9000.0, 6000.0, 3000.0)]
    last = record("node-a", NOON - 1900.0, Result.ABORTED)
    four = Standing(history=(last, *aborted))
    ((reason, message),) = blocks(policy(), standing=four)[0]
    assert reason is Reason.COOLDOWN
    assert "given up 4 times in a row: it rests for 1h20m" in message
    done = record("node-a", NOON - 2500.0)
    assert reasons(policy(), standing=Standing(history=(*four.history, done))) == [[]]


@pytest.mark.parametrize(("gain", "worth"), [(1499.0, False), (1500.0, True)])
def test_gain_must_exceed_cost_by_the_margin(gain, worth):
    """Half as much again by default."""
    priced = plan(change(price=Price(waiting_avoided=gain, out_of_service=1000.0)))
    found = blocks(policy(), of=priced)
    message = "gains 1499 slice-seconds for 1000; planning.minGain asks for 1.5 times the cost"
    assert found == ([[]] if worth else [[(Reason.MIN_GAIN, message)]])
    assert reasons(policy(planning=PlanningRules(min_gain=0.0)), of=priced) == [[]]


def test_holds_that_came_since_the_plan_block_too():
    """A plan may be applied long after it was made."""
    hold = Hold(Reason.HELD, "held by a person", "node-a")
    found = blocks(policy(), nodes=fleet(2, a={"holds": (hold,)}))
    assert found == [[(Reason.HELD, "held by a person")]]
    open_one = fleet(2, a={"journal": journal()})
    assert reasons(policy(), nodes=open_one) == [[Reason.CHANGE_IN_PROGRESS]]


def test_a_node_that_is_gone_or_another_is_not_changed():
    """The same name may be a new machine."""
    assert reasons(policy(), of=plan(change("node-z"))) == [[Reason.NODE_GONE]]
    assert reasons(policy(), of=plan(change(uid="another"))) == [[Reason.NODE_GONE]]


def test_reserved_nodes_are_made_whole_and_never_cut():
    """Whatever the planner says."""
    reserved = fleet(2, a={"reserved": True})
    assert reasons(policy(), nodes=reserved) == [[Reason.RESERVED]]
    whole = GpuChange(0, Counts({"1g.5gb": 7}), Counts({"7g.40gb": 1}))
    assert reasons(policy(), of=plan(change(gpus=(whole,))), nodes=reserved) == [[]]


def test_an_earlier_gate_is_forgotten_and_the_planner_is_not():
    """Saved plans carry old blocks."""
    old = (
        Block(Reason.OUTSIDE_WINDOW, "yesterday"),
        Block(Reason.HELD, "then"),
        Block(Reason.HOLDERS_UNPROVEN, "no pods in the input"),
    )
    found = blocks(policy(), of=plan(change(blocked_by=old)))
    assert found == [[(Reason.HOLDERS_UNPROVEN, "no pods in the input")]]


def test_the_gate_is_idempotent():
    """Gated twice is gated once."""
    rules = policy(windows=(nightly(),), budgets=Budgets(nodes=1, per_hour=1))
    once = gate(plan(change("node-a"), change("node-b")), fleet(2), rules, NOON)
    assert gate(once, fleet(2), rules, NOON) == once


def test_nothing_starts_while_mig_manager_reads_another_file():
    """It would fail on every name of ours; nodes that the agent changes do not care."""
    held = (Hold(Reason.OPERATOR_CONFIG, "create a ConfigMap of your own"),)
    nodes = replace(fleet(3), holds=held)
    assert reasons(policy(), nodes=nodes) == [[Reason.OPERATOR_CONFIG]]
    by_agent = replace(fleet(3, a={"driver": Driver.AGENT}), holds=held)
    assert reasons(policy(), nodes=by_agent) == [[]]


def failed_record(**fields):
    """Return the record of a layout that MIG manager could not make on another node."""
    own = RolloutRecord(
        node="node-z",
        started_at_s=NOON - 7200.0,
        ended_at_s=NOON - 3600.0,
        result=Result.ROLLED_BACK,
        pool="pool",
        after=change().config_name,
        refused=True,
    )
    return replace(own, **fields)


@pytest.mark.parametrize(
    ("fields", "blocked"),
    [
        ({}, True),
        ({"result": Result.QUARANTINED}, True),
        ({"refused": False}, False),
        ({"after": "another"}, False),
        ({"pool": "another"}, False),
        ({"ended_at_s": NOON - 8 * 86400.0}, False),
    ],
)
def test_e06_a_layout_that_failed_is_not_tried_on_another_node(fields, blocked):
    """What only came late, in another pool, or long ago is no reason."""
    known = Standing(history=(failed_record(**fields),))
    (found,) = blocks(policy(), of=plan(change()), standing=known)
    assert ([reason for reason, _ in found] == [Reason.LAYOUT_REFUSED]) is blocked
    if blocked:
        assert "node node-z" in found[0][1]
        assert "2026-03-09" in found[0][1]


def test_e06_a_node_that_has_the_layout_proves_it():
    """Then the fault was the node's, and the others may have it."""
    done = failed_record(node="node-y", result=Result.DONE, refused=False)
    known = Standing(history=(failed_record(), done))
    assert reasons(policy(), of=plan(change()), standing=known) == [[]]
    labels = {"nvidia.com/mig.config": change().config_name}
    has_it = snapshot(fleet_node("node-a"), fleet_node("node-b", node=node(labels=labels)))
    known = Standing(history=(failed_record(),))
    assert reasons(policy(), of=plan(change()), nodes=has_it, standing=known) == [[]]
