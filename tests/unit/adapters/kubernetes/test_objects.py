"""The smaller kinds, and their careful readings."""

from typing import Any

import pytest

from autoscaler.adapters.kubernetes.objects import (
    budget_from,
    claim_driver_from,
    config_map_from,
    mig_config_map_of,
    pod_group_from,
    priority_class_from,
    quota_from,
)
from autoscaler.domain.cluster.objects import ClaimDriver, PodGroup
from autoscaler.domain.cluster.selector import selects
from autoscaler.domain.counts import Counts


def named(name: str = "x", **parts: Any) -> dict[str, Any]:
    """Return an object with a name."""
    own = {"name": name, "namespace": "default", **parts.pop("metadata", {})}
    return {"metadata": own, **parts}


def test_a_budget_is_read_with_its_state() -> None:
    """Selector, numbers, and whether its controller has seen it."""
    raw = named(
        metadata={"generation": 2},
        spec={
            "selector": {
                "matchLabels": {"app": "a"},
                "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}],
            },
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
        status={"observedGeneration": 2, "disruptionsAllowed": 1, "currentHealthy": 3},
    )
    notices: list[str] = []
    budget = budget_from(raw, notices)
    assert (budget.disruptions_allowed, budget.current_healthy) == (1, 3)
    assert budget.observed
    assert budget.always_allow_unhealthy
    assert selects(budget.selector, {"app": "a"})
    assert not selects(budget.selector, {"app": "a", "tier": "x"})
    assert not selects(budget.selector, {})
    assert notices == []


def test_a_budget_whose_controller_lags_is_not_observed() -> None:
    """Its numbers are of another time."""
    raw = named(metadata={"generation": 3}, status={"observedGeneration": 2})
    assert not budget_from(raw, []).observed
    assert not budget_from(named(), []).observed


def test_a_budget_that_cannot_be_read_allows_nothing() -> None:
    """And it is said."""
    notices: list[str] = []
    budget = budget_from(named(status={"disruptionsAllowed": "many"}), notices)
    assert (budget.disruptions_allowed, budget.observed) == (0, False)
    assert notices == [
        "PodDisruptionBudget default/x: status.disruptionsAllowed = 'many': not a whole number"
    ]


def test_an_empty_selector_selects_all_and_none_selects_nothing() -> None:
    """As the API defines them."""
    everything = budget_from(named(spec={"selector": {}}), [])
    nothing = budget_from(named(spec={}), [])
    assert selects(everything.selector, {})
    assert not selects(nothing.selector, {"app": "a"})


@pytest.mark.parametrize(
    ("name", "metadata"),
    [
        ("own", {"ownerReferences": [{"kind": "ClusterPolicy", "name": "cluster-policy"}]}),
        ("own", {"labels": {"app.kubernetes.io/component": "nvidia-mig-manager"}}),
        ("default-mig-parted-config", {}),
    ],
)
def test_config_maps_of_the_operator_are_marked(name: str, metadata: dict[str, Any]) -> None:
    """By owner, by label, by name."""
    assert config_map_from(named(name, metadata=metadata), []).operator_owned
    assert not config_map_from(named("own"), []).operator_owned


def test_a_quota_is_by_resource_name_and_keeps_its_zeros_apart() -> None:
    """A limit of 0 forbids, no limit allows."""
    raw = named(
        spec={
            "hard": {
                "requests.nvidia.com/mig-1g.5gb": "4",
                "requests.nvidia.com/gpu": "0",
                "requests.cpu": "100",
            }
        },
        status={"used": {"requests.nvidia.com/mig-1g.5gb": "3"}},
    )
    quota = quota_from(raw, [])
    assert quota.hard == Counts({"nvidia.com/mig-1g.5gb": 4})
    assert quota.used == Counts({"nvidia.com/mig-1g.5gb": 3})
    assert quota.forbidden == ("nvidia.com/gpu",)


def test_pod_groups_slices_classes_and_policies_are_read() -> None:
    """One field each."""
    assert pod_group_from(named(spec={"minMember": 4}), []) == PodGroup("default", "x", 4)
    slice_ = {"spec": {"nodeName": "n", "driver": "gpu.nvidia.com"}}
    assert claim_driver_from(slice_) == ClaimDriver("n", "gpu.nvidia.com")
    assert priority_class_from(named(value=1000), []) == ("x", 1000)
    policy = {"spec": {"migManager": {"config": {"name": "own"}}}}
    assert mig_config_map_of(policy) == "own"
    assert mig_config_map_of({"spec": {}}) == "default-mig-parted-config"
