"""Which configurations there are, and what they make of a node."""

from dataclasses import replace

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.configuration import (
    Entry,
    flaws,
    initial_configurations,
    layout_of,
    node_configuration,
    parse_configurations,
    render_configurations,
    uniform_name,
)
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.mig.resource import label_safe
from tests.builders import model

SEVEN, TWO = Counts({"1g.5gb": 7}), Counts({"3g.20gb": 2})
ONLY_SECOND = (Entry((1,), True, TWO),)


def name_of(key: str, *layout: Counts | None) -> str:
    """Return the name of a layout's configuration."""
    return node_configuration(model(key), layout)[0]


@pytest.mark.parametrize(
    ("key", "layout", "name"),
    [
        ("a100-40gb", [SEVEN] * 8, "all-1g.5gb"),
        ("a100-40gb", [Counts({"1g.10gb": 4})], "all-1g.10gb"),
        ("a100-80gb", [Counts({"1g.10gb": 7})], "all-1g.10gb"),
        ("a100-40gb", [Counts({"1g.5gb+me": 1})], "all-1g.5gb.me"),
        ("a100-40gb", [Counts({"7g.40gb": 1})] * 2, "all-7g.40gb"),
        ("a100-40gb", [None, None], "all-disabled"),
        ("a100-40gb", [Counts()], "all-enabled"),
        (
            "a100-40gb",
            [Counts({"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1})],
            "all-balanced",
        ),
        ("rtx-pro-6000-blackwell-96gb", [Counts({"1g.24gb-me": 4})], "all-1g.24gb-me"),
    ],
)
def test_uniform_layouts_have_nvidias_own_names(key, layout, name):
    """People select nodes by them."""
    assert name_of(key, *layout) == name


@pytest.mark.parametrize(
    "layout",
    [
        [SEVEN, TWO],
        [SEVEN, None],
        [Counts({"1g.5gb": 6})],
        [Counts({"1g.5gb+me": 1, "1g.5gb": 6})],
        [Counts(), SEVEN],
    ],
)
def test_every_other_layout_is_named_after_its_content(layout):
    """Also one that is uniform but not full."""
    name = name_of("a100-40gb", *layout)
    assert name.startswith("as-")
    assert label_safe(name) == name
    assert name == name_of("a100-40gb", *layout)


@pytest.mark.parametrize("key", ["gb200-186gb", "gb200-189gb"])
def test_all_balanced_means_nothing_on_a_gb200(key):
    """Both of its tables share a PCI id, and what fits one board breaks the other."""
    balanced = model(key).all_balanced
    assert name_of(key, balanced).startswith("as-")
    assert layout_of(initial_configurations()["all-balanced"], 1, model(key)) is None
    assert name_of("h100-80gb", model("h100-80gb").all_balanced) == "all-balanced"


def test_entries_name_every_gpu_exactly_once():
    """Alike GPUs share an entry, indexes ascend, MIG off is said."""
    _, entries = node_configuration(model(), [SEVEN, None, TWO, SEVEN])
    assert entries == (
        Entry((0, 3), True, SEVEN),
        Entry((1,), False),
        Entry((2,), True, TWO),
    )


def test_names_differ_where_contents_do():
    """Which GPU holds what, and how many GPUs there are, is content."""
    layouts = [[SEVEN, TWO], [TWO, SEVEN], [SEVEN, TWO, TWO], [SEVEN, None], [SEVEN, Counts()]]
    assert len({name_of("a100-40gb", *layout) for layout in layouts}) == len(layouts)


def test_a_name_never_changes_its_meaning():
    """Names live in labels and journals across versions: this one is fixed."""
    assert name_of("a100-40gb", SEVEN, None, TWO, SEVEN) == "as-10ad6c68d1de"


@pytest.mark.parametrize(
    "layout", [[], [Counts({"4g.20gb": 2})], [SEVEN, Counts({"9g.1gb": 1})]]
)
def test_an_impossible_layout_has_no_configuration(layout):
    """No GPUs, too much on one, or a profile the model does not have."""
    with pytest.raises(ValueError, match=r"without GPUs|cannot hold"):
        node_configuration(model(), layout)


def test_the_initial_file_defines_every_uniform_layout():
    """For each model and profile the name means a GPU full of it."""
    initial = initial_configurations()
    for known in load_models():
        for profile in known.profiles:
            full = Counts({profile.name: profile.max_instances})
            entries = initial[uniform_name(profile.name)]
            assert layout_of(entries, 2, known) == (full, full)


def test_the_initial_file_defines_the_whole_node_states():
    """all-disabled, all-enabled and, where NVIDIA has one, all-balanced."""
    initial = initial_configurations()
    for known in load_models():
        assert layout_of(initial["all-disabled"], 1, known) == (None,)
        assert layout_of(initial["all-enabled"], 1, known) == (Counts(),)
        has_one = known.all_balanced and not known.key.startswith("gb200")
        expected = (known.all_balanced,) if has_one else None
        assert layout_of(initial["all-balanced"], 1, known) == expected


def test_the_initial_file_is_a_file_mig_parted_takes():
    """It reads back the same, and all names fit into labels."""
    initial = initial_configurations()
    assert parse_configurations(render_configurations(initial)) == initial
    assert list(initial) == sorted(initial)
    assert {label_safe(name) for name in initial} == set(initial)


def test_no_board_is_in_two_entries_of_a_name():
    """MIG manager would apply one after the other."""
    for entries in initial_configurations().values():
        boards = [board for entry in entries for board in entry.device_filter]
        assert len(boards) == len(set(boards))


def test_a_configuration_reads_back_as_its_layout():
    """Names expand to the layout they were made from."""
    for layout in [(SEVEN, None, TWO), (SEVEN, SEVEN), (None,), (Counts(), TWO)]:
        _, entries = node_configuration(model(), layout)
        assert layout_of(entries, len(layout), model()) == layout


def test_a_configuration_with_gaps_is_not_used():
    """Every restart of MIG manager would run it again."""
    assert layout_of(ONLY_SECOND, 2, model()) is None
    expected = ("mig-configs.only-second: no entry names GPU 0",)
    assert flaws(ONLY_SECOND, 2, model(), "mig-configs.only-second") == expected


def test_a_gpu_in_two_entries_is_a_flaw():
    """Which one holds would depend on order."""
    twice = (Entry(None, True, SEVEN), Entry((0,), True, TWO))
    assert flaws(twice, 2, model()) == ("configuration: 2 entries name GPU 0",)
    assert layout_of(twice, 2, model()) is None


def test_profiles_of_another_model_are_a_flaw():
    """3g.20gb on an 80 GB board is a classic of hand-written tables."""
    entries = (Entry(None, True, Counts({"2g.20gb": 2, "3g.20gb": 1})),)
    assert flaws(entries, 1, model("a100-80gb"), "c") == (
        "c[0].mig-devices: 3g.20gb is no profile of a100-80gb",
    )


def test_instances_that_do_not_fit_are_a_flaw():
    """Every number is allowed for itself, together they are too many."""
    entries = (Entry(None, True, Counts({"3g.20gb": 2, "1g.5gb": 1})),)
    assert flaws(entries, 1, model(), "c") == (
        "c[0].mig-devices: one a100-40gb cannot hold 1x1g.5gb + 2x3g.20gb",
    )


def test_entries_for_other_boards_do_not_matter():
    """Neither their content nor that they name the same GPUs."""
    other = Entry(None, True, Counts({"1g.10gb": 7}), ("0x20B510DE",))
    mine = Entry(None, True, SEVEN, ("0x20b010de",))
    assert layout_of((other, mine), 1, model()) == (SEVEN,)
    assert layout_of((other,), 1, model()) is None


def test_indexes_beyond_the_node_do_not_matter():
    """One file serves nodes of different size."""
    assert layout_of((Entry((0, 1, 2, 3), True, SEVEN),), 2, model()) == (SEVEN, SEVEN)


def test_a_made_up_model_is_named_after_content():
    """NVIDIA's names mean known boards only."""
    unknown = replace(model(), key="other", device_filters=("0x999910DE",))
    assert node_configuration(unknown, [SEVEN])[0].startswith("as-")
