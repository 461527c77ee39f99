"""Where instances are and who starts on them, as the simulated hardware has it."""

from autoscaler.agent.wiring import new_agent
from autoscaler.domain.counts import Counts
from autoscaler.simulation.study.checks import problems_of
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.embedded import EmbeddedSettings, run_embedded
from autoscaler.simulation.study.splits import Case, Work
from autoscaler.simulation.study.unthrottled import unthrottled
from tests.studies import MODEL, ONE, THREE, WHOLE, jobs

PAST = Work(jobs((0.0, 300.0, WHOLE)), 2 * DAY_S)


def outcome_of(layouts, *rows):
    case = Case("tiny", MODEL, len(layouts), 0.5, PAST, Work(jobs(*rows), 3600.0))
    counts = tuple(Counts(own) for own in layouts)
    settings = EmbeddedSettings(counts, unthrottled(), agent=new_agent)
    outcome = run_embedded("autoscaler", case, settings)
    assert problems_of(outcome, case) == []
    return outcome


def test_a_job_is_where_the_hardware_has_it():
    """A whole GPU leaves no choice."""
    outcome = outcome_of([{WHOLE: 1}], (0, 60, WHOLE))
    assert outcome.jobs[0].place == ("gpu-001 GPU 0", f"{WHOLE}@0")
    assert outcome.cuts[0].layout == f"{WHOLE}@0"


def test_jobs_at_one_time_have_instances_of_their_own():
    """The check of double bookings needs places to see any."""
    outcome = outcome_of([{ONE: 7}], *[(0, 600, ONE)] * 7)
    places = [times.place for times in outcome.jobs]
    assert len(set(places)) == 7
    assert {gpu for gpu, _ in places} == {"gpu-001 GPU 0"}


def test_each_change_of_a_gpu_is_noted_with_placements():
    """The layout of the start comes first, what the loop made of it later."""
    outcome = outcome_of([{WHOLE: 1}], (0, 600, THREE), (0, 600, THREE))
    first, *later = outcome.cuts
    assert (first.at_s, first.geometry.counts) == (0.0, Counts({WHOLE: 1}))
    assert later[-1].geometry.counts == Counts({THREE: 2})
    assert all(cut.at_s > 0 for cut in later)
    assert {times.place[1] for times in outcome.jobs} == {f"{THREE}@0", f"{THREE}@4"}
