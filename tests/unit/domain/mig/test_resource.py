"""Names of resources, and the way back to profiles."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.mig.resource import (
    folded,
    is_gpu_resource,
    is_shared,
    label_safe,
    parse_resource,
    prometheus_name,
    resource_name,
    shared_name,
    supply_of,
)
from autoscaler.domain.mig.strategy import Strategy
from tests.builders import model

RTX = "rtx-pro-6000-blackwell-96gb"
MIG = "nvidia.com/mig-"


@pytest.mark.parametrize(
    ("profile", "resource"),
    [
        ("1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("1g.5gb+me", "nvidia.com/mig-1g.5gb.me"),
        ("1g.24gb+gfx", "nvidia.com/mig-1g.24gb.gfx"),
        ("1g.24gb+me.all", "nvidia.com/mig-1g.24gb.me.all"),
        ("1g.24gb-me", "nvidia.com/mig-1g.24gb-me"),
    ],
)
def test_a_plus_becomes_a_dot_and_a_minus_stays(profile, resource):
    """As the device plugin advertises them under strategy mixed."""
    assert resource_name(profile) == resource


@pytest.mark.parametrize("strategy", [Strategy.SINGLE, Strategy.NONE])
def test_other_strategies_know_only_gpus(strategy):
    """Every instance is nvidia.com/gpu."""
    assert resource_name("1g.5gb", strategy) == "nvidia.com/gpu"


def test_every_name_leads_back_to_its_profile():
    """For all profiles of all models, with the prefix and without it."""
    for known in load_models():
        for profile in known.profiles:
            name = resource_name(profile.name)
            spellings = {name, name.removeprefix(MIG), MIG + profile.name, profile.name}
            assert {parse_resource(known, s) for s in spellings} == {profile.name}


@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.10gb.shared",
        "nvidia.com/mig-1g.10gb.me.all",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-1c.3g.40gb",
        "nvidia.com/mig-",
        "cpu",
        "",
    ],
)
def test_what_the_model_does_not_have_is_no_profile(resource):
    """Whole GPUs, shares, other models' profiles and compute instances."""
    assert parse_resource(model("a100-80gb"), resource) is None


def test_folded_variants_count_as_the_standard_profile():
    """Ten plain ones, or eight and two +me, are the same supply."""
    wanted = Counts({MIG + "1g.10gb": 8, MIG + "1g.10gb.me": 2, MIG + "2g.20gb": 2})
    seen = Counts({MIG + "1g.10gb": 10, MIG + "2g.20gb": 2})
    assert folded(wanted) == folded(seen) == seen


def test_folding_leaves_other_resources_alone():
    """More memory is another profile, and unknown names stay."""
    amounts = Counts({"nvidia.com/gpu": 1, MIG + "1g.10gb": 1, MIG + "9g.90gb": 1, "x": 1})
    assert folded(amounts) == amounts
    graphics = Counts(
        {MIG + "1g.24gb.gfx": 1, MIG + "1g.24gb-me": 1, MIG + "1g.24gb.me.all": 1}
    )
    assert folded(graphics) == Counts({MIG + "1g.24gb": 3})


@pytest.mark.parametrize(
    ("resource", "is_gpu"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("nvidia.com/mig-1g.5gb.shared", True),
        ("nvidia.com/gpu.count", False),
        ("amd.com/gpu", False),
        ("memory", False),
    ],
)
def test_gpu_resources_are_told_from_others(resource, is_gpu):
    """GPUs, instances and shares of either."""
    assert is_gpu_resource(resource) is is_gpu


def test_shares_are_no_instances():
    """The suffix tells, and the name behind it is the plain one."""
    assert is_shared(shared_name("nvidia.com/mig-1g.5gb"))
    assert shared_name("nvidia.com/gpu") == "nvidia.com/gpu.shared"
    assert not is_shared("nvidia.com/mig-1g.5gb")


def test_prometheus_names_lose_what_they_cannot_carry():
    """Two resources become one name, so there is no way back."""
    assert prometheus_name("nvidia.com/mig-1g.5gb") == "nvidia_com_mig_1g_5gb"
    assert prometheus_name(MIG + "1g.24gb.me") == prometheus_name(MIG + "1g.24gb-me")


@pytest.mark.parametrize("name", ["a" * 64, "", "-a", "a.", "a/b", "a b", "ä"])
def test_names_no_label_can_carry_are_refused(name):
    """Only a plus can be helped."""
    assert label_safe("all-1g.10gb+me") == "all-1g.10gb.me"
    with pytest.raises(ValueError, match="not a label value"):
        label_safe(name)


def test_a_mixed_node_advertises_whole_gpus_and_instances():
    """MIG-off GPUs count as whole ones, an empty GPU as nothing."""
    layout = [None, Counts({"1g.5gb": 7}), Counts({"3g.20gb": 1, "1g.5gb": 1}), Counts()]
    assert supply_of(layout) == Counts(
        {"nvidia.com/gpu": 1, MIG + "1g.5gb": 8, MIG + "3g.20gb": 1}
    )


@pytest.mark.parametrize(
    ("layout", "number"),
    [
        ([None, None], 2),
        ([Counts({"3g.20gb": 2}), Counts({"3g.20gb": 2})], 4),
        ([Counts({"3g.20gb": 2}), Counts({"3g.20gb": 1})], 3),
        ([Counts({"3g.20gb": 2}), None], 0),
        ([Counts({"3g.20gb": 2}), Counts()], 0),
        ([Counts({"3g.20gb": 1, "1g.5gb": 4})], 0),
        ([], 0),
    ],
)
def test_a_single_node_advertises_only_instances_of_one_kind(layout, number):
    """One MIG mode, one profile, no empty GPU; otherwise the plugin does not start."""
    assert supply_of(layout, Strategy.SINGLE) == Counts({"nvidia.com/gpu": number})


def test_without_strategy_every_gpu_is_a_whole_one():
    """Cut or not."""
    layout = [None, Counts({"1g.5gb": 7})]
    assert supply_of(layout, Strategy.NONE) == Counts({"nvidia.com/gpu": 2})
