"""The light simulator, by hand."""

import pytest

from autoscaler.domain.errors import InvariantError
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.simulation.study.light import Scene, play
from autoscaler.simulation.study.players import Exact
from autoscaler.simulation.study.starting import start_exact
from tests.studies import MODEL, ONE, THREE, WHOLE, fleet, jobs, layouts

HALVES = layouts({THREE: 2})[0]


class Recutter:
    """Cuts GPU 0 into halves at the first event, then starts what fits."""

    def __init__(self, target: Geometry = HALVES) -> None:
        self._target = target

    def act(self, scene: Scene) -> None:
        if scene.now_s == 0:
            scene.cut(0, self._target, scene.now_s + 60)
        start_exact(scene)


def test_new_instances_are_usable_after_the_cut():
    """Two 3g jobs that wait at 0 start at 60 on a GPU that was whole."""
    outcome = play("cut", fleet({WHOLE: 1}), jobs((0, 30, THREE), (0, 40, THREE)), Recutter())
    assert [times.start_s for times in outcome.jobs] == [60.0, 60.0]
    assert [times.end_s for times in outcome.jobs] == [90.0, 100.0]
    assert (outcome.changes, outcome.ended_s) == (1, 100.0)


def test_an_instance_in_use_cannot_be_destroyed():
    """The simulator notices, whatever a player thinks."""
    scene = Scene(fleet({WHOLE: 1}))
    scene.expect(jobs((0, 30, WHOLE)))
    scene.next_moment(jobs((0, 30, WHOLE)))
    start_exact(scene)
    with pytest.raises(InvariantError, match="in use and would be lost"):
        scene.cut(0, HALVES, 60)


def test_one_that_is_being_created_cannot_be_destroyed():
    """Nor held before it is there."""
    scene = Scene(fleet({WHOLE: 1}))
    scene.cut(0, HALVES, 60)
    with pytest.raises(InvariantError, match="in use and would be lost"):
        scene.cut(0, layouts({WHOLE: 1})[0], 60)
    assert not scene.cells.free(THREE)


def test_an_impossible_geometry_is_refused():
    """Eight instances of one slice do not fit: there is no start for the eighth."""
    scene = Scene(fleet({WHOLE: 1}))
    with pytest.raises(InvariantError, match="cannot be cut into"):
        scene.cut(0, Geometry(tuple(GpuInstance(k, 1, ONE) for k in range(8))), 0)


def test_nobody_starts_on_a_closed_node():
    """Idle instances that are kept are out of service too while it is closed."""

    class Closer:
        def act(self, scene: Scene) -> None:
            if scene.now_s == 0:
                scene.close([0], 50)
            start_exact(scene)

    outcome = play("close", fleet({WHOLE: 1}), jobs((0, 1, ONE), (5, 10, WHOLE)), Closer())
    assert [times.start_s for times in outcome.jobs] == [None, 50.0]


def test_higher_priority_goes_first():
    """Of two that wait the later one starts first when it weighs more."""
    low, high = jobs((0, 10, WHOLE))[0], jobs((1, 10, WHOLE), priority=5)[0]
    everyone = (low, *jobs((0.5, 10, WHOLE)), high)
    numbered = tuple(
        type(job)(job.arrival_s, place, job.run_s, job.profile, job.priority)
        for place, job in enumerate(everyone)
    )
    outcome = play("exact", fleet({WHOLE: 1}), numbered, Exact())
    assert [times.start_s for times in outcome.jobs] == [0.0, 20.0, 10.0]


def test_an_evicted_job_begins_anew():
    """What it had run is lost, and its first end does not count."""

    class Evicter:
        def act(self, scene: Scene) -> float | None:
            if scene.now_s == 4:
                scene.evict((0, scene.cells.geometry(0).instances[0]))
            start_exact(scene)
            return 4.0 if scene.now_s < 4 else None

    outcome = play("evict", fleet({WHOLE: 1}), jobs((0, 10, WHOLE)), Evicter())
    times = outcome.jobs[0]
    assert (times.start_s, times.end_s, times.restarts, times.lost_s) == (4.0, 14.0, 1, 4.0)
    assert outcome.evictions == 1


def test_a_player_that_never_rests_is_stopped():
    """It may not ask for the present moment again and again."""
    scene = Scene(fleet({WHOLE: 1}))
    assert not scene.next_moment(())
    assert scene.model == MODEL
