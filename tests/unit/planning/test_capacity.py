"""Fewest GPUs for a demand, and what a number of GPUs holds."""

import csv

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.planning.capacity import (
    fewest_by_program,
    fewest_gpus,
    has_closed_form,
    what_fits,
)
from tests.builders import DATA, model

TEXT = (DATA / "instances" / "a100_packing_optima.csv").read_text()
GOLDEN = list(csv.DictReader(TEXT.splitlines()))
COLUMNS = {
    "n1g": "1g.5gb",
    "n2g": "2g.10gb",
    "n3g": "3g.20gb",
    "n4g": "4g.20gb",
    "n7g": "7g.40gb",
}
RTX = "rtx-pro-6000-blackwell-96gb"


def demand_of(row: dict[str, str]) -> Counts:
    """Return the demand of a golden row."""
    return Counts({profile: int(row[column]) for column, profile in COLUMNS.items()})


def test_the_formula_reaches_every_proven_optimum():
    """All 239 golden demands: number of GPUs, compute bound and what binds."""
    assert len(GOLDEN) == 239
    for row in GOLDEN:
        answer = fewest_gpus(model(), demand_of(row))
        found = (answer.gpus, answer.bounds["compute"], answer.binding)
        assert found == (int(row["min_gpus"]), int(row["compute_slice_bound"]), row["binding"])


def test_the_program_reaches_every_proven_optimum():
    """The integer program alone gives the same 239 answers."""
    for row in GOLDEN:
        assert fewest_by_program(model(), demand_of(row)) == int(row["min_gpus"])


@pytest.mark.parametrize(
    ("key", "demand", "gpus", "binding"),
    [
        ("a100-40gb", {"1g.5gb": 8}, 2, "compute"),
        ("a100-40gb", {"3g.20gb": 3}, 2, "memory"),
        ("a100-40gb", {"2g.10gb": 4}, 2, "mid"),
        ("a100-40gb", {"4g.20gb": 2}, 2, "4g"),
        ("a100-40gb", {"1g.10gb": 9}, 3, "memory"),
        ("a100-40gb", {"1g.5gb": 3, "1g.10gb": 2}, 1, "memory"),
        ("a100-40gb", {"1g.5gb+me": 3, "1g.5gb": 4}, 3, "media"),
        ("a30-24gb", {"1g.6gb": 3, "2g.12gb": 1}, 2, "compute"),
        ("a30-24gb", {"1g.6gb+me": 1, "2g.12gb+me": 1}, 2, "media"),
        (RTX, {"1g.24gb": 5, "2g.48gb": 2, "4g.96gb": 1}, 4, "compute"),
        (RTX, {"1g.24gb+me.all": 1, "1g.24gb": 1}, 2, "nvdec"),
        (RTX, {"1g.24gb+me.all": 1, "1g.24gb-me": 3}, 1, "compute"),
    ],
)
def test_each_bound_can_bind(key, demand, gpus, binding):
    """The fewest GPUs, checked by hand, and the bound that makes it so many."""
    answer = fewest_gpus(model(key), Counts(demand))
    assert (answer.gpus, answer.binding) == (gpus, binding)
    assert answer.gpus == max(answer.bounds.values())


def test_waste_beyond_all_bounds_is_called_packing():
    """Two 1g+me go to two GPUs and spoil a half of each, so three 2g need a third."""
    answer = fewest_gpus(model("a30-24gb"), Counts({"1g.6gb+me": 2, "2g.12gb": 3}))
    assert (answer.gpus, answer.binding) == (3, "packing")
    assert max(n for name, n in answer.bounds.items() if name != "packing") == 2


def test_no_demand_needs_no_gpu():
    """Nothing binds then."""
    answer = fewest_gpus(model(), Counts())
    assert (answer.gpus, answer.bounds, answer.binding) == (0, Counts(), "")


def test_variants_have_no_closed_form():
    """Media variants go through the program, standard profiles do not."""
    assert has_closed_form(model(), Counts({"1g.5gb": 1, "1g.10gb": 1}))
    assert not has_closed_form(model(), Counts({"1g.5gb+me": 1}))
    assert has_closed_form(model(RTX), Counts({"1g.24gb": 1, "4g.96gb": 1}))
    assert not has_closed_form(model(RTX), Counts({"1g.24gb-me": 1}))


@pytest.mark.parametrize(
    ("demand", "gpus", "served"),
    [
        ({"1g.5gb": 10, "3g.20gb": 4}, 3, {"1g.5gb": 8, "3g.20gb": 4}),
        ({"7g.40gb": 1, "1g.5gb": 6}, 1, {"7g.40gb": 1}),
        ({"3g.20gb": 3}, 1, {"3g.20gb": 2}),
        ({"3g.20gb": 1, "2g.10gb": 3}, 1, {"3g.20gb": 1, "2g.10gb": 2}),
        ({"4g.20gb": 2}, 2, {"4g.20gb": 2}),
        ({"1g.5gb": 3}, 0, {}),
        ({}, 5, {}),
    ],
)
def test_the_part_with_most_slices_fits(demand, gpus, served):
    """What so many GPUs serve, checked by hand."""
    assert what_fits(model(), Counts(demand), gpus) == Counts(served)


def test_among_equal_slices_more_instances_are_served():
    """Seven 1g before one 7g, which takes the same compute slices."""
    demand = Counts({"7g.40gb": 1, "1g.5gb": 7})
    assert what_fits(model(), demand, 1) == Counts({"1g.5gb": 7})


def test_an_unknown_profile_is_refused():
    """With the profiles that exist."""
    for ask in (fewest_gpus, fewest_by_program):
        with pytest.raises(ConfigError, match=r"1g\.10gb is no profile of a30-24gb"):
            ask(model("a30-24gb"), Counts({"1g.10gb": 1}))
    with pytest.raises(ConfigError, match=r"1g\.10gb is no profile"):
        what_fits(model("a30-24gb"), Counts({"1g.10gb": 1}), 0)


def test_a_negative_number_of_gpus_is_refused():
    """It is no number of GPUs."""
    with pytest.raises(ValueError, match="negative: -1"):
        what_fits(model(), Counts({"1g.5gb": 1}), -1)
