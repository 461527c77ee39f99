"""Pictures as files: which there are, and that the same results give the same bytes."""

import struct
from math import inf, isnan
from pathlib import Path

import pytest

from autoscaler.simulation.study.evaluation.rows import Part, Row, planned
from autoscaler.simulation.study.report.images import (
    draw_ratios,
    draw_study,
    draw_waits,
    wait_height,
)
from autoscaler.simulation.study.report.points import (
    RatioPoint,
    evaluated_points,
    ratio_points,
)
from tests.evaluations import kept
from tests.studies import ONE, THREE, WHOLE
from tests.study_results import case_of, exact, result_of, static

PNG = b"\x89PNG\r\n\x1a\n"


def result():
    case = case_of((0, 600, THREE), (60, 600, THREE), (90, 60, ONE), name="a b/c: d")
    halves = exact(case, {THREE: 1, ONE: 3})
    bound = type(halves)("free-repack", halves.jobs, halves.ended_s)
    return result_of(case, halves, static(case, {WHOLE: 1}), bound)


def size_of(content):
    return struct.unpack(">II", content[16:24])


def test_each_case_has_its_pictures(tmp_path):
    """A bound that tells no layout has none."""
    files = draw_study([result()], tmp_path)
    assert [file.name for file in files] == [
        "ratios-autoscaler.png",
        "ratios-free-repack.png",
        "openb_pods.csv.gz_mig_share_base_0.5-waits.png",
        "openb_pods.csv.gz_mig_share_base_0.5-queues.png",
        "openb_pods.csv.gz_mig_share_base_0.5-layout-autoscaler.png",
        "openb_pods.csv.gz_mig_share_base_0.5-layout-static-past.png",
    ]
    assert all(file.read_bytes().startswith(PNG) for file in files)
    assert all(size_of(file.read_bytes())[0] == 960 for file in files)


@pytest.mark.filterwarnings("error")
def test_who_never_runs_has_no_bar(tmp_path):
    """Missing is not the shortest wait; a policy that runs nothing is in the legend only."""
    case = case_of((0, 600, THREE))
    outcomes = exact(case, {ONE: 7}), static(case, {ONE: 7})
    assert isnan(wait_height(None))
    draw_waits(result_of(case, *outcomes), tmp_path / "waits.png")
    assert (tmp_path / "waits.png").read_bytes().startswith(PNG)


def test_cases_of_one_name_do_not_share_files(tmp_path):
    """The second gets a number."""
    own = result()
    alone = result_of(own.case, own.outcomes[1])
    names = [file.name for file in draw_study([alone, alone], tmp_path)]
    assert len(set(names)) == len(names) == 6
    assert "openb_pods.csv.gz_mig_share_base_0.5_2-waits.png" in names


def test_the_same_results_give_the_same_bytes(tmp_path):
    """No date and no version gets in."""
    first = {file: file.read_bytes() for file in draw_study([result()], tmp_path)}
    again = {file: file.read_bytes() for file in draw_study([result()], tmp_path)}
    assert first == again
    assert not any(word in text for text in first.values() for word in (b"tEXt", b"tIME"))


def test_points_are_the_ratios_of_the_cases():
    """Completion of 600, 1140 and 60 s against 600, 1140 and 1170 s."""
    points = ratio_points([result()])
    assert list(points) == ["autoscaler", "free-repack"]
    (point,) = points["autoscaler"]
    assert (point.line, point.load) == ("mig_share", 0.5)
    assert point.ratio == pytest.approx(1800 / 2910)


def test_an_interval_that_does_not_hold_its_value_is_drawn(tmp_path):
    """A bootstrap may give one; a bar of negative length would be an error."""
    file = tmp_path / "ratios.png"
    points = [RatioPoint("A", 0.5, 1.0, 0.8, 0.9), RatioPoint("A", 0.7, 0.9)]
    draw_ratios(points, file, policy="autoscaler")
    assert file.read_bytes().startswith(PNG)


def test_points_of_the_evaluation_are_its_base_cases():
    """One a case that is run, in a line of its rule and driver; the others have none."""
    cases = [
        kept(case, 0.9 if case.entry.recipe.draw.load == 0.5 else None)
        for case in planned(Path("x"))
    ]
    points = evaluated_points(cases)
    assert sorted((point.line, point.load) for point in points) == [
        ("rule A, MIG manager", 0.5),
        ("rule A, agent", 0.5),
        ("rule C, MIG manager", 0.5),
        ("rule C, agent", 0.5),
    ]
    assert {(point.ratio, point.low, point.high) for point in points} == {(0.9, 0.88, 0.92)}
    assert any(case.is_run and case.part is not Part.BASE for case in cases)
    assert any(case.is_run and case.row is Row.PEERS for case in cases)


def test_jobs_that_never_ran_have_no_point():
    """There is no ratio that could be drawn."""
    cases = [kept(case, inf) for case in planned(Path("x"))]
    assert evaluated_points(cases) == []
