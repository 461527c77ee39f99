"""Which instance was where, and who held it."""

from dataclasses import replace

from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.simulation.study.outcome import Cut
from autoscaler.simulation.study.report.tracks import (
    gpu_text,
    gpus_of,
    instance_blocks,
    job_blocks,
    longest,
)
from tests.studies import ONE, THREE, WHOLE
from tests.study_results import case_of, exact

LEFT, RIGHT, FULL = (
    GpuInstance(0, 4, THREE),
    GpuInstance(4, 4, THREE),
    GpuInstance(0, 8, WHOLE),
)


def cut_anew():
    """Return a case and a run in which the first GPU is halved at 100 s."""
    case = case_of((0, 50, WHOLE), (10, 30, THREE), gpus=2, span_s=300)
    outcome = exact(case, {WHOLE: 1}, {THREE: 2})
    halves = Geometry((LEFT, RIGHT))
    return case, replace(outcome, cuts=(*outcome.cuts, Cut(100, "0", str(halves), halves)))


def test_an_instance_lasts_from_cut_to_cut():
    """The whole GPU until it is halved, the halves to the end, the other GPU throughout."""
    case, outcome = cut_anew()
    found = [(b.gpu, b.instance, b.start_s, b.end_s) for b in instance_blocks(outcome, case)]
    assert found == [
        ("0", FULL, 0, 100),
        ("1", LEFT, 0, 300),
        ("1", RIGHT, 0, 300),
        ("0", LEFT, 100, 300),
        ("0", RIGHT, 100, 300),
    ]


def test_what_a_cut_keeps_goes_on():
    """The half that stays is one block, not two."""
    case, outcome = cut_anew()
    kept = Geometry((LEFT, *(GpuInstance(k, 1, ONE) for k in (4, 5, 6))))
    later = Cut(200, "0", str(kept), kept)
    outcome = replace(outcome, cuts=(*outcome.cuts, later))
    own = [b for b in instance_blocks(outcome, case) if b.gpu == "0" and b.instance == LEFT]
    assert [(b.start_s, b.end_s) for b in own] == [(100, 300)]


def test_jobs_hold_instances_from_start_to_end():
    """Where the run has them; what runs on after the last day is cut off there."""
    case, outcome = cut_anew()
    assert [(b.gpu, b.instance, b.start_s, b.end_s) for b in job_blocks(outcome, case)] == [
        ("0", FULL, 0, 50),
        ("1", LEFT, 10, 40),
    ]
    short = replace(case, present=replace(case.present, span_s=30.0))
    assert [b.end_s for b in job_blocks(outcome, short)] == [30.0, 30.0]


def test_a_job_without_a_place_is_not_drawn():
    """Some policies do not say where a job runs."""
    case, outcome = cut_anew()
    lost = tuple(replace(t, place=("gpu-001", "")) for t in outcome.jobs)
    assert job_blocks(replace(outcome, jobs=lost), case) == []


def test_the_shortest_blocks_are_left_out_first():
    """How many are missing is told, with the length of the shortest that is drawn."""
    case, outcome = cut_anew()
    few = longest(instance_blocks(outcome, case), 3)
    assert [b.span_s for b in few.blocks] == [300, 300, 200]
    assert (few.left_out, few.shortest_s) == (2, 200)


def test_gpus_are_in_the_order_of_their_numbers():
    """The tenth comes after the second."""
    case = case_of((0, 50, WHOLE), gpus=11)
    assert gpus_of(exact(case, *[{WHOLE: 1}] * 11))[-2:] == ("9", "10")
    assert [gpu_text(name) for name in ("3", "gpu-001 GPU 0", "gpu-001 GPU 1")] == [
        "GPU 3",
        "gpu-001",
        "gpu-001 GPU 1",
    ]
