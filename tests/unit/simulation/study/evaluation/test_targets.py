"""Targets of the evaluation: reached, missed or open, by the cases that are run."""

from math import inf
from pathlib import Path

import pytest

from autoscaler.simulation.study.evaluation.rows import A, C, Part, Row, planned
from autoscaler.simulation.study.evaluation.targets import State, findings_of
from tests.evaluations import in_peaks, kept

CASES = planned(Path("results"))


def findings(row, part, ratios, **figures):
    """Return the findings of a row when only a part is run, given the ratio of each case."""
    found = []
    for case in CASES:
        is_own = case.row is row and case.part is part
        found.append(kept(case, ratios(case.entry.recipe) if is_own else None, **figures))
    return findings_of(row, found)


def one(found, start):
    return next(own for own in found if own.wanted.startswith(start))


def test_all_cases_within_the_limit_reach_it():
    """Fourteen of fourteen, and the worst is named."""
    own = one(findings(Row.AGENT, Part.BASE, lambda _: 1.005), "base: every case")
    assert own.state is State.REACHED
    assert own.found.startswith("14 of 14 reach it; worst 1.005")


@pytest.mark.parametrize(("bad", "words"), [(1.034, "0.024 too much"), (inf, "never ran")])
def test_one_case_above_the_limit_misses_it(bad, words):
    """Even while others are not run yet; a job that never ran is above any limit."""

    def ratios(recipe):
        if recipe.column == C and recipe.draw.load == 0.5:
            return bad
        return None if recipe.draw.load == 0.3 else 0.9

    own = one(findings(Row.AGENT, Part.BASE, ratios), "base: every case")
    assert own.state is State.MISSED
    assert own.found.startswith("11 of 12 run so far reach it, 14 planned; worst")
    assert words in own.found
    assert "(C 0.5)" in own.found


def test_what_is_not_run_leaves_a_target_open():
    """However good the rest is."""
    own = one(
        findings(Row.AGENT, Part.BASE, lambda r: None if r.draw.load == 0.9 else 0.5),
        "base: every case",
    )
    assert own.state is State.OPEN


def test_a_mean_over_some_of_the_cases_decides_nothing():
    """The rest may be better or worse; over all it does."""
    some = findings(Row.AGENT, Part.BASE, lambda r: None if r.draw.load == 0.4 else 0.5)
    assert one(some, "base, rule A").state is State.OPEN
    every = findings(Row.AGENT, Part.BASE, lambda r: 0.9 if r.column == A else 0.8)
    assert one(every, "base, rule A").state is State.REACHED
    missed = one(every, "base, rule C")
    assert missed.state is State.MISSED
    assert missed.found == "0.800 (0.800 to 0.800), 5 of 5 cases run, 0.030 too much"


@pytest.mark.parametrize(("bad", "state"), [(3, State.REACHED), (4, State.MISSED)])
def test_two_percent_of_the_resampled_may_lose(bad, state):
    """Three of 160, and only those count whose whole interval is above."""
    losing = {(A, 0.4, 9001 + k) for k in range(bad)}

    def ratios(recipe):
        key = recipe.column, recipe.draw.load, recipe.draw.seed
        # 1.02 with 0.02 of noise to both sides may well be no loss.
        return 1.04 if key in losing else 1.02

    own = one(findings(Row.AGENT, Part.RESAMPLED, ratios), "resampled")
    assert own.state is state
    assert f"{160 - bad} of 160 reach it; worst 1.040" in own.found


def test_peaks_count_jobs_that_arrive_in_them():
    """All 24 a quarter better than the tuned mix, not half as long as whole GPUs."""
    found = findings(Row.AGENT, Part.PEAKS, lambda _: 1.5, peakVersus=in_peaks(0.75, 0.6))
    assert one(found, "peaks: every case").state is State.REACHED
    assert one(found, "peaks: at least 20%").state is State.REACHED
    missed = one(found, "peaks: at least 50%")
    assert (missed.state, missed.found) == (State.MISSED, "0 of 24 reach it, 12 too few")


@pytest.mark.parametrize(("told", "state"), [(0.6, State.REACHED), (0.8, State.MISSED)])
def test_announced_peaks_must_gain_more(told, state):
    """Beside the same peaks that nobody announced, at 0.7."""
    found = []
    for case in CASES:
        figures = {
            Part.PEAKS: {"peakVersus": in_peaks(0.7, 0.6)},
            Part.ANNOUNCED: {"peakVersus": in_peaks(told, 0.6)},
        }.get(case.part)
        found.append(kept(case, None if figures is None else 1.0, **(figures or {})))
    own = one(findings_of(Row.AGENT, found), "announced peaks")
    assert own.state is state
    assert own.found.endswith("16 pairs run")


def test_a_number_is_out_of_reach_as_soon_as_too_few_are_left():
    """Four of 24 are left, twelve are wanted, none is there."""
    found = findings(
        Row.AGENT,
        Part.PEAKS,
        lambda r: None if r.peak.startswith("1g") and r.draw.load < 0.7 else 1.0,
        peakVersus=in_peaks(0.9, 0.9),
    )
    assert one(found, "peaks: at least 20%").state is State.MISSED


def test_each_row_has_its_own_targets():
    """Nightly changes may lose in one of twenty; for the default there is only a report."""
    nightly = findings(Row.NIGHTLY, Part.BASE, lambda _: 1.0)
    assert one(nightly, "base, swapped and resampled").state is State.OPEN
    assert one(findings(Row.NIGHTLY, Part.PEAKS, lambda _: 1.0), "base, sw").found == (
        "none run so far, 68 planned"
    )
    manager = findings(Row.MIG_MANAGER, Part.BASE, lambda _: 1.02)
    assert one(manager, "base, on every cluster: every case <= 1.03").state is State.OPEN
    default = findings(Row.DEFAULT, Part.BASE, lambda _: 1.2)
    assert {own.state for own in default} == {State.REPORTED}
    assert findings(Row.PEERS, Part.BASE, lambda _: 1.0) == []


def test_one_cluster_on_which_a_case_fares_badly_misses_the_target():
    """What chance decides is not reached by a good draw."""

    def ratios(recipe):
        return 1.6 if (recipe.draw.load, recipe.cluster_seed) == (0.8, 2) else 0.9

    found = findings(Row.MIG_MANAGER, Part.CLUSTERS, ratios)
    base = one(found, "base, on every cluster")
    assert base.state is State.MISSED
    assert "(C 0.8 cluster 2)" in base.found
    assert one(found, "peaks, on every cluster").state is State.OPEN
