"""Plans as JSON: the contract key by key, and what reading refuses."""

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.plan.plan import (
    Avoided,
    DemandLine,
    Eviction,
    GpuChange,
    NodePlaceholders,
    Optimality,
    Price,
    Scenario,
    StoppedBy,
    sum_of,
)
from autoscaler.domain.plan.plan_json import (
    parse_plan,
    plan_from_json,
    plan_to_json,
    render_plan,
)
from autoscaler.domain.reasons import Block, Hold, PodNote, Reason
from tests.builders import change, placed, plan

SCHEMA = json.loads(
    (Path(__file__).parents[4] / "docs" / "plan.schema.json").read_text(encoding="utf-8")
)
SMALL = "nvidia.com/mig-1g.5gb"
PRICE = Price(
    waiting_avoided=100.0,
    home=20.0,
    hedge=3.0,
    out_of_service=30.0,
    work_lost=4.0,
    rule=500.0,
    displaced=5.0,
    avoided=(
        Avoided(Scenario.LIKELY, SMALL, 3.0),
        Avoided(Scenario.PENDING, SMALL, 105.0),
    ),
)
TERMS = {
    "waitingAvoided": 100.0,
    "home": 20.0,
    "hedge": 3.0,
    "rule": 500.0,
    "outOfService": 30.0,
    "workLost": 4.0,
    "restarts": 0.0,
    "churn": 0.0,
    "displaced": 5.0,
    "avoided": {"likely": {SMALL: 3.0}, "pending": {SMALL: 105.0}},
}


def full():
    """Return a plan in which every key is used."""
    gpu = GpuChange(
        0,
        Counts({"1g.5gb": 7}),
        Counts({"3g.20gb": 2}),
        placements_before=placed({"1g.5gb": 7}),
        placements_after=placed({"3g.20gb": 2}),
    )
    own = change(
        gpus=(gpu,),
        layout=(Counts({"3g.20gb": 2}), None),
        evictions=(Eviction(PodRef("team", "train-0", "uid-1"), "holds GPU 0"),),
        awaits=(PodRef("team", "ends-0"),),
        serves=(PodRef("team", "wait-0"), PodRef("team", "wait-1")),
        price=PRICE,
        blocked_by=(Block(Reason.PAUSED, "paused"),),
    )
    return plan(
        own,
        observed_at_s=1772452800.25,
        demand=(DemandLine("nvidia.com/mig-3g.20gb", "pool", 2, 0, 2, 2),),
        unserved=(PodNote(PodRef("team", "big"), Reason.NO_CAPACITY, "no room"),),
        holds=(Hold(Reason.CORDONED, "cordoned", "node-b"), Hold(Reason.POOL_EMPTY, "none")),
        optimality=Optimality(600.0, 610.0, 0.016, 0.2, StoppedBy.GAP),
        notices=("no ConfigMaps in the input",),
        terms=PRICE,
        placeholders=(
            NodePlaceholders(
                "node-a", "pool", "nvidia.com/mig-7g.40gb", 1, (PodRef("team", "ends-1"),)
            ),
        ),
    )


def test_the_form_is_the_contract():
    """Every key of it, in its order."""
    data = plan_to_json(full())
    assert data == {
        "apiVersion": "mig-autoscaler.io/v1alpha1",
        "kind": "MigPlan",
        "id": "plan-1",
        "observedAt": "2026-03-02T12:00:00.250000Z",
        "policy": {"name": "x", "hash": "hash"},
        "mode": "auto",
        "demand": [
            {
                "resource": "nvidia.com/mig-3g.20gb",
                "pool": "pool",
                "pending": 2,
                "free": 0,
                "lacking": 2,
                "servedByPlan": 2,
            }
        ],
        "changes": [data["changes"][0]],
        "unserved": [
            {"namespace": "team", "name": "big", "reason": "NoCapacity", "message": "no room"}
        ],
        "holds": [
            {"reason": "Cordoned", "node": "node-b", "message": "cordoned"},
            {"reason": "PoolEmpty", "message": "none"},
        ],
        "optimality": {
            "objective": 600.0,
            "bound": 610.0,
            "gap": 0.016,
            "seconds": 0.2,
            "stoppedBy": "gap",
        },
        "notices": ["no ConfigMaps in the input"],
        "placeholders": [
            {
                "node": "node-a",
                "pool": "pool",
                "resource": "nvidia.com/mig-7g.40gb",
                "number": 1,
                "awaits": [{"namespace": "team", "name": "ends-1"}],
            }
        ],
        "terms": TERMS,
    }
    assert list(data)[:6] == ["apiVersion", "kind", "id", "observedAt", "policy", "mode"]


def test_the_form_of_a_change_is_the_contract():
    """Placements, layout with null for MIG off, and the terms of gain and cost."""
    data = plan_to_json(full())["changes"][0]
    small = [{"profile": "1g.5gb", "start": start, "size": 1} for start in range(7)]
    large = [{"profile": "3g.20gb", "start": start, "size": 4} for start in (0, 4)]
    assert data == {
        "node": "node-a",
        "uid": "uid-node-a",
        "pool": "pool",
        "observed": "",
        "configName": "all-3g.20gb",
        "gpus": [
            {
                "index": 0,
                "before": {"1g.5gb": 7},
                "after": {"3g.20gb": 2},
                "placementsBefore": small,
                "placementsAfter": large,
            }
        ],
        "layout": [{"3g.20gb": 2}, None],
        "resources": {"nvidia.com/mig-3g.20gb": 2},
        "evictions": [
            {"namespace": "team", "name": "train-0", "uid": "uid-1", "reason": "holds GPU 0"}
        ],
        "awaits": [{"namespace": "team", "name": "ends-0"}],
        "serves": [
            {"namespace": "team", "name": "wait-0"},
            {"namespace": "team", "name": "wait-1"},
        ],
        "gain": 623.0,
        "cost": 34.0,
        "terms": TERMS,
        "estimatedSeconds": 300.0,
        "blockedBy": [{"reason": "Paused", "message": "paused"}],
    }


def test_prices_add_up_term_by_term():
    """Kinds of waiting that several changes avoid are one."""
    other = Price(waiting_avoided=7.0, avoided=(Avoided(Scenario.PENDING, SMALL, 7.0),))
    both = sum_of([PRICE, other])
    assert both.avoided[1] == Avoided(Scenario.PENDING, SMALL, 112.0)
    assert both.net == PRICE.net + 7.0
    assert sum_of([]) == Price()


def test_plans_read_back_as_they_were():
    """Also the uid of pods to evict, which equality of pods leaves out."""
    again = parse_plan(render_plan(full()), "plan.json")
    assert again == full()
    assert again.changes[0].evictions[0].pod.uid == "uid-1"
    assert render_plan(again) == render_plan(full())


def test_a_bound_that_is_not_there_is_null():
    """JSON has no infinity."""
    failed = plan(optimality=Optimality(0.0, inf, inf, 10.0, StoppedBy.FAILURE))
    data = plan_to_json(failed)
    assert data["optimality"]["bound"] is None
    assert data["optimality"]["gap"] is None
    assert plan_from_json(data) == failed
    assert plan_from_json(plan_to_json(plan())).optimality is None


def test_plans_fit_their_schema():
    """The one in docs/."""
    Draft202012Validator.check_schema(SCHEMA)
    assert list(Draft202012Validator(SCHEMA).iter_errors(plan_to_json(full()))) == []
    assert list(Draft202012Validator(SCHEMA).iter_errors(plan_to_json(plan()))) == []


@pytest.mark.parametrize(
    "key", sorted(plan_to_json(full()).keys() - {"notices", "placeholders", "terms"})
)
def test_every_key_of_the_plan_is_needed(key):
    """Reader and schema agree."""
    data = plan_to_json(full())
    del data[key]
    assert not Draft202012Validator(SCHEMA).is_valid(data)
    with pytest.raises(ConfigError, match=f"plan: {key}: is missing"):
        plan_from_json(data)


@pytest.mark.parametrize("key", sorted(plan_to_json(full())["changes"][0]))
def test_every_key_of_a_change_is_needed(key):
    """Reader and schema agree."""
    data = plan_to_json(full())
    del data["changes"][0][key]
    assert not Draft202012Validator(SCHEMA).is_valid(data)
    with pytest.raises(ConfigError, match=rf"plan: changes\[0\]\.{key}: is missing"):
        plan_from_json(data)


WRONG = [
    ({"mode": "autoo"}, "mode: 'autoo' is not allowed; did you mean auto?"),
    ({"kind": "List"}, "kind: 'List' is not allowed; allowed: MigPlan"),
    ({"observedAt": "2026-03-02 12:00"}, "observedAt: '2026-03-02 12:00' is not a time in UTC"),
    (
        {"observedAt": "2026-02-30T12:00:00Z"},
        "observedAt: '2026-02-30T12:00:00Z' is not a time",
    ),
    ({"extra": 1}, "extra: is not a key here"),
    ({"changes": {}}, "changes: must be a list, not a mapping"),
    ({"optimality": []}, "optimality: must be a mapping, not a list"),
    (
        {"holds": [{"reason": "Bored", "message": "x"}]},
        "holds[0].reason: 'Bored' is not allowed",
    ),
    ({"terms": {"hedge": float("nan")}}, "terms.hedge: must be a finite number"),
    ({"terms": {"supply": 1.0}}, "terms.supply: is not a key here"),
]
WRONG_CHANGES = [
    ({"gain": 1.0}, "changes[0].gain: 1 is not the sum of its terms, 623"),
    (
        {"terms": {**TERMS, "displaced": 9.0}},
        "changes[0].terms.waitingAvoided: 100 is not the sum of its terms, 96",
    ),
    (
        {"terms": {**TERMS, "avoided": {"pending": {SMALL: 105.0}}}},
        "changes[0].terms.hedge: 3 is not the sum of its terms, 0",
    ),
    (
        {"terms": {**TERMS, "avoided": {"hoped": {SMALL: 3.0}}}},
        "changes[0].terms.avoided",
    ),
    ({"cost": True}, "changes[0].cost: must be a number, not true"),
    ({"layout": []}, "changes[0].gpus[0].index: 0 is not in the layout"),
    ({"resources": {"a": -1}}, "changes[0].resources.a: must be at least 0, not -1"),
    ({"resources": {"a": "2"}}, "changes[0].resources.a: must be a whole number, not '2'"),
    ({"layout": [{"1g.5gb": 1.5}]}, "changes[0].layout[0][1g.5gb]: must be a whole number"),
    ({"serves": [{"name": "x"}]}, "changes[0].serves[0].namespace: is missing"),
    ({"estimated_s": 1.0}, "changes[0].estimated_s: is not a key here"),
]


def told(data):
    """Return the lines of the error that reading gives."""
    with pytest.raises(ConfigError) as caught:
        plan_from_json(data, "p.json")
    return str(caught.value).splitlines()


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_what_is_wrong_is_named(wrong, message):
    """By the key that is wrong."""
    assert any(
        line.startswith(f"p.json: {message}")
        for line in told({**plan_to_json(full()), **wrong})
    )


@pytest.mark.parametrize(("wrong", "message"), WRONG_CHANGES)
def test_what_is_wrong_in_a_change_is_named(wrong, message):
    """By the keys that lead to it."""
    data = plan_to_json(full())
    data["changes"][0] |= wrong
    assert any(line.startswith(f"p.json: {message}") for line in told(data))


def test_placements_that_overlap_are_refused():
    """No GPU can look so."""
    data = plan_to_json(full())
    data["changes"][0]["gpus"][0]["placementsAfter"][1]["start"] = 2
    (line,) = told(data)
    assert line.startswith("p.json: changes[0].gpus[0].placementsAfter: ")
    assert "overlaps" in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.json:1:1: not valid JSON"),
        ('{"id": \n', "p.json:2:1: not valid JSON"),
        ("[]", "p.json: must be a mapping, not a list"),
        ("null", "p.json: must be a mapping, not null"),
        ("[" * 100_000, "p.json: not a plan: "),
    ],
)
def test_what_is_no_plan_at_all_is_named(text, message):
    """Empty, truncated, another thing."""
    with pytest.raises(ConfigError) as caught:
        parse_plan(text, "p.json")
    assert str(caught.value).startswith(message)


def test_the_same_plan_gives_the_same_bytes():
    """Whatever the order in which parts came."""
    turned = replace(full(), terms=replace(PRICE, avoided=PRICE.avoided[::-1]))
    assert render_plan(turned) == render_plan(full())
    assert render_plan(full()).endswith("}\n")
