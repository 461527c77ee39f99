"""Whatever is proposed, what the gate lets through keeps to the budgets and the calendar."""

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.plan.plan import Price
from autoscaler.domain.policy.policy import (
    Budgets,
    DailySpan,
    Disruption,
    Freeze,
    Metadata,
    Policy,
    Pool,
)
from autoscaler.domain.policy.quantity import share_of
from autoscaler.domain.policy.window import closes_at_s, is_frozen, is_open
from autoscaler.planning.gating.gate import Standing, gate
from tests.builders import NOW_S, change, fleet_node, node, plan, snapshot

NAMES = [f"node-{number}" for number in range(6)]


@st.composite
def fleets(draw):
    """Draw six nodes of which some are out of service and some are in use."""
    nodes = []
    for name in NAMES:
        raw = node(
            name, unschedulable=draw(st.booleans()), ready=draw(st.sampled_from([True, None]))
        )
        held = draw(st.sampled_from([{}, {"1g.5gb": 1}]))
        nodes.append(fleet_node(name, held=(held,), node=raw))
    return snapshot(*nodes)


@st.composite
def policies(draw):
    """Draw budgets, windows and freezes around now, which is a Tuesday, 22:13 UTC."""
    short, long = DailySpan(start="22:00", end="22:20"), DailySpan(start="22:00", end="06:00")
    later = DailySpan(start="23:00", end="01:00")
    today = Freeze(from_=date(2023, 11, 14), to=date(2023, 11, 14))
    tomorrow = Freeze(from_=date(2023, 11, 15), to=date(2023, 11, 15))
    windows = st.sampled_from([None, (long,), (short,), (short,), (later,), ()])
    freezes = st.sampled_from([(), (), (), (today,), (tomorrow,)])
    disruption = Disruption(
        windows=draw(windows),
        freezes=draw(freezes),
        outside_windows=draw(st.sampled_from(["none", "idle"])),
        budgets=Budgets(
            nodes=draw(st.sampled_from(["100%", 6, 5, 4, 3, 2, 1, 0, "34%"])),
            per_hour=draw(st.integers(1, 8)),
        ),
    )
    return Policy(
        api_version="mig-autoscaler.io/v1alpha1",
        kind="MigPolicy",
        metadata=Metadata(name="x"),
        pools=(Pool(name="pool"),),
        disruption=disruption,
    )


@st.composite
def proposals(draw):
    """Draw changes of any of the nodes, good and bad, short and long."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(2, 6))]
    return plan(
        *(
            change(
                name,
                price=Price(
                    draw(st.sampled_from([9e9, 9e9, 9e9, 1500.0, 0.0])), out_of_service=1000.0
                ),
                estimated_s=draw(st.sampled_from([60.0, 60.0, 600.0, 9000.0])),
            )
            for name in names
        )
    )


records = st.builds(
    lambda name, ago_s: RolloutRecord(name, NOW_S - ago_s, NOW_S - ago_s / 2, Result.DONE),
    st.sampled_from(NAMES),
    st.floats(10.0, 8000.0),
)


@settings(max_examples=150)
@given(proposals(), fleets(), policies(), st.lists(records, max_size=2).map(tuple))
def test_what_may_start_keeps_to_every_rule(proposed, fleet, policy, history):
    """Recounted here from the inputs."""
    gated = gate(proposed, fleet, policy, NOW_S, Standing(history=history))
    may_start = [c for c in gated.changes if not c.blocked_by]
    rules = policy.disruption
    out = [n for n in fleet.nodes if n.node.unschedulable or not n.node.ready]
    recent = [r for r in history if r.started_at_s > NOW_S - 3600.0]
    if may_start:
        assert len(out) + len(may_start) <= share_of(rules.budgets.nodes, len(NAMES))
        assert len(recent) + len(may_start) <= rules.budgets.per_hour
        assert is_frozen(rules.freezes, NOW_S) is None
    closes_s = closes_at_s(rules.windows, NOW_S, rules.freezes) or float("inf")
    for own in may_start:
        assert own.price.gain >= policy.planning.min_gain * own.price.cost
        assert all(r.ended_at_s + 1800.0 <= NOW_S for r in history if r.node == own.node)
        idle = all(gpu.is_idle for gpu in fleet.node(own.node).gpus)
        if rules.outside_windows == "none" or not idle:
            assert is_open(rules.windows, NOW_S)
            assert NOW_S + own.estimated_s <= closes_s


@given(proposals(), fleets(), policies())
def test_every_block_has_a_sentence(proposed, fleet, policy):
    """And no reason is given twice."""
    for own in gate(proposed, fleet, policy, NOW_S).changes:
        assert all(len(block.message) > 10 for block in own.blocked_by)
        assert len({block.reason for block in own.blocked_by}) == len(own.blocked_by)
