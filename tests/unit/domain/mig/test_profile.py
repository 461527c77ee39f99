"""The profile table and the models it gives."""

import json
from dataclasses import replace
from importlib import resources

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import (
    GpuModel,
    Profile,
    load_models,
    models_for_product,
    parse_models,
)
from autoscaler.domain.mig.resource import resource_name
from tests.builders import DATA, model
from tests.table_rules import violations

GOLDEN = json.loads((DATA / "geometry_counts.json").read_text())
TABLE = resources.files("autoscaler.domain").joinpath("data/mig_profiles.json").read_text()


def keys(label: str) -> list[str]:
    """Return the models a product label may mean."""
    return [m.key for m in models_for_product(label)]


def changed(profile: str, /, **fields: object) -> GpuModel:
    """Return the A100 with one profile changed."""
    a100 = model()
    profiles = tuple(replace(p, **fields) if p.name == profile else p for p in a100.profiles)
    return replace(a100, profiles=profiles)


def test_the_table_holds_every_known_model():
    """Nineteen models with 134 profiles."""
    assert [m.key for m in load_models()] == list(GOLDEN)
    assert sum(len(m.profiles) for m in load_models()) == 134


@pytest.mark.parametrize("key", GOLDEN)
def test_every_model_keeps_the_rules(key):
    """Names, limits, sums and ids of the table agree with each other."""
    assert violations(model(key)) == []


@pytest.mark.parametrize(
    ("profile", "fields", "complaint"),
    [
        ("3g.20gb", {"name": "3g.40gb"}, "by rule the name is 3g.20gb"),
        ("1g.5gb", {"max_instances": 8}, "placements allow 7 instances"),
        ("2g.10gb", {"starts": (0, 2)}, "placements allow 2 instances"),
        ("1g.5gb+me", {"max_instances": 7}, "placements allow 1 instances"),
        ("3g.20gb", {"gi_profile_id": 14}, "gi_profile_id 14 occurs 2 times"),
        ("1g.5gb", {"nvml_profile_index": 4}, "nvml_profile_index 4 occurs 2 times"),
        ("1g.5gb", {"sm_count": 42}, "sm_count: 7x1g.5gb has more than the GPU"),
        ("3g.20gb", {"memory_mib": 39968}, "memory_mib: 2x3g.20gb has more"),
        ("3g.20gb", {"engines": Counts({"nvdec": 6})}, "takes more nvdec"),
        ("3g.20gb", {"engines": None}, "engines are missing"),
        ("1g.10gb", {"more_memory": False}, "more_memory contradicts"),
        ("3g.20gb", {"starts": (0,), "max_instances": 1, "memory_slices": 5}, "by rule"),
    ],
)
def test_the_rules_see_a_wrong_profile(profile, fields, complaint):
    """A fault planted in one field of one profile is named."""
    found = violations(changed(profile, **fields))
    assert any(complaint in text for text in found), found


def test_the_rules_see_a_wrong_model():
    """Faults planted in the model itself are named."""
    balanced = replace(model(), all_balanced=Counts({"3g.20gb": 2, "2g.10gb": 1}))
    assert any("all_balanced does not fit" in text for text in violations(balanced))
    silent = replace(model(), confidence={"names": "primary"})
    assert violations(silent) == ["confidence is about ['names']"]


def test_products_and_boards_belong_to_one_model():
    """A label or PCI id means one model, but for the GB200 with its two tables."""
    seen: dict[str, list[str]] = {}
    for known in load_models():
        for name in (*known.products, *known.device_filters):
            seen.setdefault(name, []).append(known.key)
    shared = {name: found for name, found in seen.items() if len(found) > 1}
    both = ["gb200-186gb", "gb200-189gb"]
    assert shared == {"NVIDIA-GB200": both, "0x294110DE": both}


@pytest.mark.parametrize("key", GOLDEN)
def test_mixed_resource_names_agree_with_the_source(key):
    """Each profile is advertised under the name its source gives."""
    names = {p.name: resource_name(p.name) for p in model(key).profiles}
    assert names == GOLDEN[key]["resource_names"]


@pytest.mark.parametrize(
    "suffix",
    ["", "-MIG-1g.5gb", "-MIG-1g.5gb.me", "-MIG-INVALID", "-SHARED", "-MIG-3g.20gb-SHARED"],
)
def test_what_the_strategy_adds_to_a_label_is_dropped(suffix):
    """Profile, INVALID and SHARED behind a product do not hide the model."""
    assert keys(f"NVIDIA-A100-SXM4-40GB{suffix}") == ["a100-40gb"]


def test_profiles_are_looked_up_on_their_model():
    """One name has different shapes on boards with different memory."""
    small, large = model("a100-40gb").profile("1g.10gb"), model("a100-80gb").profile("1g.10gb")
    assert (small.memory_slices, large.memory_slices) == (2, 1)
    assert model("a100-40gb").profile("3g.40gb") is None


def test_a_label_without_the_makers_name_is_known():
    """Older drivers leave NVIDIA out."""
    assert keys("A100-SXM4-40GB") == ["a100-40gb"]


def test_gb200_is_ambiguous():
    """Two name tables stand behind one label, so both are named."""
    assert keys("NVIDIA-GB200") == ["gb200-186gb", "gb200-189gb"]


@pytest.mark.parametrize("label", ["", "Tesla-T4", "NVIDIA-A100", "NVIDIA-A100-40GB-PCIe"])
def test_an_unknown_label_means_no_model(label):
    """Nothing is guessed from part of a name."""
    assert keys(label) == []


def test_the_whole_gpu_is_the_largest_standard_profile():
    """7g, 4g or 2g, never a graphics variant of it."""
    wholes = [
        model(key).whole_gpu.name
        for key in ("a100-40gb", "a30-24gb", "rtx-pro-6000-blackwell-96gb")
    ]
    assert wholes == ["7g.40gb", "4g.24gb", "4g.96gb"]


def test_plain_names_leave_out_variants():
    """Media, graphics and memory variants are not standard profiles."""
    assert model().plain_names == ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")


def test_an_unknown_profile_is_named_with_those_that_exist():
    """The message says which profiles the model has."""
    with pytest.raises(ConfigError, match=r"1g\.10gb is no profile of a30-24gb, .*1g\.6gb"):
        model("a30-24gb").require(["1g.10gb"])


def test_required_profiles_come_in_table_order():
    """Whatever the order of the question."""
    assert [p.name for p in model().require(["7g.40gb", "1g.5gb"])] == ["1g.5gb", "7g.40gb"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda t: t[:200], r"table\.json: Invalid JSON"),
        (lambda t: t.replace('"schema_version": 1', '"schema_version": 2'), "schema_version"),
        (
            lambda t: t.replace('"chip"', '"chop"', 1),
            r"table\.json: gpus\.0\.chip: Field required",
        ),
        (lambda t: t.replace('"memory_gb": 40', '"memory_gb": "40"'), r"gpus\.0\.memory_gb"),
        (lambda t: t.replace('"gfx": false', '"gfx": 0', 1), r"gpus\.0\.profiles\.0\.gfx"),
        (lambda t: t.replace('"0x20B010DE"', '"20B0"', 1), r"gpus\.0\.device_filters\.0"),
        (
            lambda t: t.replace('"starts": [0, 4]', '"starts": [0, 5]', 1),
            "3g.20gb leaves the GPU",
        ),
        (lambda t: t.replace('"starts": [0, 4]', '"starts": [4, 0]', 1), "3g.20gb: starts are"),
        (lambda t: t.replace('"1g.10gb"', '"1g.5gb"', 1), "a profile name occurs twice"),
        (lambda t: t.replace("a100-80gb", "a100-40gb"), "GPU model a100-40gb occurs twice"),
    ],
)
def test_a_broken_table_is_refused_with_its_place(change, place):
    """The message names the table and the field, GPU or profile."""
    text = change(TABLE)
    assert text != TABLE
    with pytest.raises(ConfigError, match=place):
        parse_models(text, "table.json")


@pytest.mark.parametrize(
    "fields",
    [
        {"compute_slices": 0},
        {"memory_slices": 0},
        {"max_instances": 0},
        {"starts": ()},
        {"starts": (0, 0)},
        {"starts": (-1, 0)},
    ],
)
def test_an_impossible_profile_is_refused(fields):
    """Sizes, limits and starts are checked when a profile is made."""
    good = Profile("1g.5gb", 1, 1, (0, 1), 2)
    with pytest.raises(ValueError, match=r"1g\.5gb"):
        replace(good, **fields)


def test_a_model_without_whole_gpu_profile_says_so():
    """The answer is an error with the model's key, never a smaller profile."""
    with pytest.raises(ConfigError, match="a100-40gb has no profile of a whole GPU"):
        _ = replace(model(), profiles=model().profiles[:3]).whole_gpu


def test_unknown_engines_are_not_zero():
    """Where no source gives the engines, they are unknown."""
    b300 = model("b300-269gb")
    assert b300.engine_totals is None
    assert {p.engines for p in b300.profiles} == {None}
