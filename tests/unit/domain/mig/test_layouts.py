"""All layouts of a GPU model and their profile counts."""

import csv
import json

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.layouts import (
    layouts,
    layouts_around,
    maximal_layouts,
    maximal_multisets,
    multisets,
    multisets_around,
    non_dominated,
    targets_around,
)
from autoscaler.domain.mig.profile import GpuModel
from tests.builders import DATA, model

GOLDEN = json.loads((DATA / "geometry_counts.json").read_text())
RTX = "rtx-pro-6000-blackwell-96gb"
PLAIN = ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")


def names_of(known: GpuModel, kind: str) -> tuple[str, ...]:
    """Return the profiles of one of the golden sets."""
    if kind == "base":
        return known.plain_names
    if kind == "extended_compute":
        return tuple(p.name for p in known.profiles if not p.gfx)
    return tuple(p.name for p in known.profiles)


@pytest.mark.parametrize("kind", ["base", "extended_compute", "extended_all"])
@pytest.mark.parametrize("key", GOLDEN)
def test_every_model_has_the_known_number_of_layouts(key, kind):
    """Layouts and multisets, all and maximal, for three sets of profiles."""
    names = names_of(model(key), kind)
    full = maximal_layouts(model(key), names)
    assert GOLDEN[key]["geometry_counts"][kind] == {
        "layouts_all": len(layouts(model(key), names)),
        "layouts_maximal": len(full),
        "multisets_all": len(multisets(model(key), names)),
        "multisets_maximal": len(maximal_multisets(model(key), names)),
        "multisets_of_maximal_layouts": len({geometry.counts for geometry in full}),
    }


def test_the_maximal_geometries_of_an_a100_are_the_golden_ones():
    """All nineteen, each with its placements."""
    text = (DATA / "instances" / "a100_maximal_geometries.csv").read_text()
    short = {name.split(".")[0]: name for name in PLAIN}
    sizes = {p.name: p.memory_slices for p in model().profiles}
    golden = set()
    for row in csv.DictReader(text.splitlines()):
        pairs = [item.split("@") for item in row["placements"].split()]
        instances = [GpuInstance(int(at), sizes[short[p]], short[p]) for p, at in pairs]
        golden.add(Geometry(tuple(instances)))
    assert len(golden) == 19
    assert set(maximal_layouts(model(), PLAIN)) == golden


@pytest.mark.parametrize("key", [key for key, g in GOLDEN.items() if g["maximal_layouts_base"]])
def test_maximal_layouts_agree_with_the_source(key):
    """Where the source lists them, the same ones are found."""
    found = {str(g) for g in maximal_layouts(model(key), model(key).plain_names)}
    assert found == set(GOLDEN[key]["maximal_layouts_base"])


def test_the_twelve_maximal_multisets_come_larger_profiles_first():
    """In this order on every run."""
    found = [str(counts) for counts in maximal_multisets(model(), PLAIN)]
    assert found == [
        "1x7g.40gb",
        "1x3g.20gb + 1x4g.20gb",
        "1x1g.5gb + 1x2g.10gb + 1x4g.20gb",
        "3x1g.5gb + 1x4g.20gb",
        "2x3g.20gb",
        "2x2g.10gb + 1x3g.20gb",
        "2x1g.5gb + 1x2g.10gb + 1x3g.20gb",
        "4x1g.5gb + 1x3g.20gb",
        "1x1g.5gb + 3x2g.10gb",
        "3x1g.5gb + 2x2g.10gb",
        "5x1g.5gb + 1x2g.10gb",
        "7x1g.5gb",
    ]


def test_the_order_of_names_changes_nothing():
    """Profiles are a set."""
    assert layouts(model(), reversed(PLAIN)) == layouts(model(), PLAIN)


def test_a_badly_placed_3g_makes_a_full_gpu_with_less():
    """Placements leave two counts that the maximal multisets do not have."""
    full = {geometry.counts for geometry in maximal_layouts(model(), PLAIN)}
    assert full - set(maximal_multisets(model(), PLAIN)) == {
        Counts({"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1}),
        Counts({"3g.20gb": 1, "1g.5gb": 3}),
    }


@pytest.mark.parametrize(
    ("pinned", "expected"),
    [
        ("3g.20gb@0", ["3g.20gb@0 3g.20gb@4", "3g.20gb@0 1g.5gb@4 1g.5gb@5 1g.5gb@6"]),
        ("3g.20gb@4", ["4g.20gb@0 3g.20gb@4", "2g.10gb@0 2g.10gb@2 3g.20gb@4"]),
        ("7g.40gb@0", ["7g.40gb@0"]),
    ],
)
def test_layouts_around_keep_what_is_pinned(pinned, expected):
    """Every maximal geometry around it holds the pinned instance, and no other does."""
    name, start = pinned.split("@")
    instance = GpuInstance(int(start), model().profile(name).memory_slices, name)
    around = layouts_around(model(), Geometry((instance,)), PLAIN)
    everything = maximal_layouts(model(), PLAIN)
    assert set(around) == {g for g in everything if instance in g.instances}
    assert set(expected) <= {str(geometry) for geometry in around}


def test_pinned_profiles_need_not_be_among_those_added():
    """A profile no longer allowed stays, and no more of it comes."""
    pinned = Geometry((GpuInstance(4, 4, "3g.20gb"),))
    found = targets_around(model(), pinned, ["1g.5gb"])
    assert found == (Counts({"3g.20gb": 1, "1g.5gb": 4}),)
    two = targets_around(model(), Geometry((GpuInstance(0, 4, "3g.20gb"),)), ["1g.5gb"])
    assert two == (Counts({"3g.20gb": 1, "1g.5gb": 3}),)


def test_targets_around_drop_dominated_counts():
    """A 3g at 4 can have 4g, 2x2g, 2g+2x1g or 4x1g beside it, or another 3g."""
    pinned = Geometry((GpuInstance(4, 4, "3g.20gb"),))
    found = {
        str(counts.minus({"3g.20gb": 1})) for counts in targets_around(model(), pinned, PLAIN)
    }
    assert found == {
        "1x3g.20gb",
        "1x4g.20gb",
        "2x2g.10gb",
        "2x1g.5gb + 1x2g.10gb",
        "4x1g.5gb",
    }


def test_multisets_around_count_on_the_best_placement():
    """Without placements a 3g may be where four 1g fit beside it."""
    found = multisets_around(model(), Counts({"3g.20gb": 1}), ["1g.5gb"])
    assert found == (Counts({"3g.20gb": 1, "1g.5gb": 4}),)


@pytest.mark.parametrize("pinned", [{"7g.40gb": 2}, {"9g.90gb": 1}])
def test_what_does_not_fit_has_nothing_around_it(pinned):
    """Impossible or unknown pinned counts have no multiset."""
    assert multisets_around(model(), Counts(pinned)) == ()


def test_impossible_pinned_placements_are_refused():
    """A 4g starts at 0 only."""
    with pytest.raises(ValueError, match=r"a100-40gb does not allow 4g\.20gb@4"):
        layouts_around(model(), Geometry((GpuInstance(4, 4, "4g.20gb"),)))


@pytest.mark.parametrize("ask", [layouts, maximal_layouts, multisets, maximal_multisets])
def test_an_unknown_profile_is_refused(ask):
    """With the model's key and its profiles."""
    with pytest.raises(ConfigError, match=r"2g\.20gb is no profile of a100-40gb"):
        ask(model(), ["2g.20gb"])


def test_media_instances_share_the_engines():
    """+me.all takes every engine, so only -me instances fit beside it."""
    names = ["1g.24gb", "1g.24gb+me", "1g.24gb+me.all", "1g.24gb-me"]
    with_all = [c for c in multisets(model(RTX), names) if c["1g.24gb+me.all"]]
    assert with_all
    assert all(c["1g.24gb+me.all"] == 1 for c in with_all)
    assert all(not c["1g.24gb"] and not c["1g.24gb+me"] for c in with_all)


def test_one_media_instance_a_gpu_also_where_engines_are_unknown():
    """The rule on +me does not hang on engine numbers."""
    most = max(c["1g.34gb+me"] for c in multisets(model("b300-269gb")))
    assert most == 1


def test_dominated_counts_are_dropped_once():
    """Doubles go too, and the order stays."""
    one, two, other = Counts({"a": 1}), Counts({"a": 2}), Counts({"b": 1})
    assert non_dominated([one, other, two, other]) == (other, two)


def test_no_profiles_leave_only_the_empty_geometry():
    """With nothing to place there is one geometry, and it is maximal."""
    assert layouts(model(), []) == maximal_layouts(model(), []) == (Geometry(),)
    assert maximal_multisets(model(), []) == (Counts(),)
