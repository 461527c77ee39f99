"""Recorded runs of ``simulate`` come out the same, to the byte."""

from pathlib import Path

import pytest

from tools.recorded import RUNS, output_of

FOLDER = Path("simulations/recorded")


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_is_reproduced(name):
    """A change of any decision shows here; ``make record`` writes the runs anew."""
    assert output_of(RUNS[name]) == (FOLDER / f"{name}.json").read_text(encoding="utf-8")


def test_only_these_runs_are_recorded():
    """Nothing is left over from runs that are not made any more."""
    assert {path.stem for path in FOLDER.glob("*.json")} == set(RUNS)
