"""Defaults, immutability and hash of the policy model."""

import json

import pytest
from pydantic import ValidationError

from autoscaler.domain.policy.policy import Budgets, Disruption, Mode, Policy, Pool, policy_hash

LEAST = {
    "apiVersion": "mig-autoscaler.io/v1alpha1",
    "kind": "MigPolicy",
    "metadata": {"name": "x"},
    "pools": [{"name": "a"}],
}


def read(**changes):
    """Return a policy of file keys."""
    return Policy.model_validate_json(json.dumps({**LEAST, **changes}), by_name=False)


DEFAULTS = {
    "presets": {},
    "mode": "dry-run",
    "prometheus": None,
    "demand": {
        "pending": {"minAge": "0s"},
        "scheduled": [],
        "peaks": {"lead": "30m", "weight": 1.0, "annotations": True},
        "forecast": None,
    },
    "disruption": {
        "windows": None,
        "outsideWindows": "none",
        "freezes": [],
        "budgets": {"nodes": 1, "perHour": 4},
        "cooldown": "30m",
        "eviction": {"enabled": False, "jobs": False, "unowned": False},
        "draining": {"enabled": True, "minChance": 0.5, "placeholders": True},
    },
    "planning": {
        "horizon": "3h20m",
        "minGain": 1.5,
        "undoGain": 3.0,
        "undoWithin": "2h",
        "persistence": "1m",
        "persistenceLooks": 2,
        "homeBonus": 0.1,
        "hedge": None,
        "usualService": "50m",
        "fairness": 0.0,
        "priorJobs": 5.0,
        "wholeGpuCap": "10%",
        "restart": "1m",
        "solveLimit": "20s",
        "past": {"history": "14d", "minHistory": "3d", "refresh": "1d"},
    },
    "rollout": {
        "drainDeadline": "20m",
        "surplusDeadline": "6h",
        "placeholderImage": "registry.k8s.io/pause:3.10",
        "bindGrace": "10s",
        "settle": "30s",
        "noResponse": "5m",
        "backoff": "10m",
        "warmUp": "10m",
    },
    "migManager": {
        "namespace": "gpu-operator",
        "configMap": "mig-autoscaler-config",
        "configSync": "2m",
        "deadline": "30m",
    },
    "loop": {"interval": "30s"},
    "priorities": {},
}
POOL = {
    "name": "a",
    "nodeSelector": {},
    "driver": "mig-manager",
    "strategy": "mixed",
    "profiles": None,
    "reserve": {"fullGpuNodes": 0},
    "floors": {},
    "ceilings": {},
    "presets": [],
}


def test_every_key_has_its_documented_default():
    """The whole file that the shortest one stands for."""
    written = read().model_dump(mode="json", by_alias=True)
    assert written == {**LEAST, **DEFAULTS, "pools": [POOL]}


def test_what_is_written_reads_back_the_same():
    """Durations and days survive the form of the file."""
    policy = read(
        disruption={
            "freezes": [
                {"from": "2026-12-24", "to": "2027-01-02", "timeZone": "Asia/Shanghai"}
            ],
            "windows": [{"start": "22:00", "end": "06:00"}],
            "cooldown": "1h30m",
        }
    )
    text = json.dumps(policy.model_dump(mode="json", by_alias=True))
    assert Policy.model_validate_json(text, by_name=False) == policy


def test_the_hash_ignores_order_spelling_and_written_defaults():
    """The same policy in other words."""
    short = read(disruption={"cooldown": "90m"})
    long = read(mode="dry-run", disruption={"budgets": {"nodes": 1}, "cooldown": "1h30m"})
    turned = Policy.model_validate_json(
        json.dumps({"disruption": {"cooldown": "5400s"}, **dict(reversed(LEAST.items()))}),
        by_name=False,
    )
    assert policy_hash(short) == policy_hash(long) == policy_hash(turned)
    assert len(policy_hash(short)) == 12
    assert int(policy_hash(short), 16) >= 0


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "auto"},
        {"disruption": {"windows": []}},
        {"disruption": {"budgets": {"nodes": "1%"}}},
        {"pools": [{"name": "b"}]},
        {"loop": {"interval": "31s"}},
    ],
)
def test_the_hash_shows_every_change(changes):
    """Also the difference between no windows and an empty list."""
    assert policy_hash(read(**changes)) != policy_hash(read())


def test_a_policy_cannot_be_changed():
    """Frozen at every level."""
    policy = read()
    with pytest.raises(ValidationError, match="frozen"):
        policy.mode = Mode.AUTO
    with pytest.raises(ValidationError, match="frozen"):
        policy.disruption.budgets.nodes = 5


def test_files_cannot_use_the_names_of_the_code():
    """One spelling a key."""
    with pytest.raises(ValidationError, match="Extra inputs"):
        read(disruption={"cooldown_s": "5m"})


def test_code_gives_numbers_in_the_unit_of_the_name():
    """Seconds as a number, by the name that says so."""
    assert Disruption(cooldown_s=60.0, budgets=Budgets(nodes="10%")).cooldown_s == 60.0
    with pytest.raises(ValidationError, match="ceiling"):
        Pool(name="a", floors={"1g.5gb": 2}, ceilings={"1g.5gb": 1})
