"""Any plan survives being written as JSON, and fits the schema."""

import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.plan.plan import (
    Avoided,
    DemandLine,
    Eviction,
    GpuChange,
    NodeChange,
    Optimality,
    Plan,
    Price,
    Scenario,
    StoppedBy,
)
from autoscaler.domain.plan.plan_json import parse_plan, plan_to_json, render_plan
from autoscaler.domain.policy.policy import Mode
from autoscaler.domain.reasons import Block, Hold, PodNote, Reason
from tests.builders import placed

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "docs" / "plan.schema.json").read_text("utf-8"))
)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
numbers = st.floats(-1e12, 1e12)
positive = st.floats(0, 1e9)
wholes = st.integers(0, 10**6)
reasons = st.sampled_from(list(Reason))
amounts = st.dictionaries(names, wholes, max_size=3).map(Counts)
pods = st.builds(PodRef, names, names, st.just("") | names)
unnamed = st.builds(PodRef, names, names)
geometries = st.none() | st.sampled_from([{"1g.5gb": 7}, {"3g.20gb": 2}, {}]).map(placed)
gpus = st.builds(GpuChange, st.integers(0, 1), amounts, amounts, geometries, geometries)


def tuples(of):
    """Return tuples of at most three."""
    return st.lists(of, max_size=3).map(tuple)


@st.composite
def drawn_prices(draw):
    """Return a price whose waiting is made of parts, or said as a whole."""
    price = Price(*[draw(numbers) for _ in range(8)], displaced=draw(numbers))
    keys = st.tuples(st.sampled_from(Scenario), names)
    parts = draw(st.dictionaries(keys, numbers, max_size=4))
    if not parts:
        return price
    avoided = tuple(Avoided(*key, worth) for key, worth in sorted(parts.items()))
    pending = sum((own.worth for own in avoided if own.scenario is Scenario.PENDING), 0.0)
    hedge = sum((own.worth for own in avoided if own.scenario is not Scenario.PENDING), 0.0)
    waiting = pending - price.displaced
    return replace(price, waiting_avoided=waiting, hedge=hedge, avoided=avoided)


prices = drawn_prices()
changes = st.builds(
    NodeChange,
    node=names,
    uid=names,
    pool=names,
    observed=names,
    config_name=names,
    gpus=tuples(gpus),
    layout=st.tuples(st.none() | amounts, st.none() | amounts),
    resources=amounts,
    evictions=tuples(st.builds(Eviction, pods, names)),
    awaits=tuples(unnamed),
    serves=tuples(unnamed),
    price=prices,
    estimated_s=positive,
    blocked_by=tuples(st.builds(Block, reasons, names)),
)
optima = st.builds(
    Optimality,
    numbers,
    numbers | st.just(float("inf")),
    positive | st.just(float("inf")),
    positive,
    st.sampled_from(list(StoppedBy)),
)
plans = st.builds(
    Plan,
    id=names,
    observed_at_s=st.integers(0, 4 * 10**12).map(lambda ms: ms / 1000),
    policy_name=names,
    policy_hash=names,
    mode=st.sampled_from(Mode).map(str),
    demand=tuples(st.builds(DemandLine, names, names, wholes, wholes, wholes, wholes)),
    changes=tuples(changes),
    unserved=tuples(st.builds(PodNote, unnamed, reasons, names)),
    holds=tuples(st.builds(Hold, reasons, names, st.none() | names)),
    optimality=st.none() | optima,
    notices=tuples(names),
    terms=prices,
)


@given(plans)
def test_plans_survive_and_fit(plan):
    """The same value and the same bytes again."""
    text = render_plan(plan)
    again = parse_plan(text, "plan.json")
    assert again == plan
    assert render_plan(again) == text
    assert list(SCHEMA.iter_errors(plan_to_json(plan))) == []
