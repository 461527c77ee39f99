"""Figures of two runs, computed by hand on a few pods."""

from autoscaler.domain.counts import Counts
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Journal, Result, State
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.simulation.demo.comparison import compare, mean, percentile, profiles_of
from autoscaler.simulation.demo.run_record import BoardRecord, ChangeRecord, RunRecord
from autoscaler.simulation.figures import PodTimes
from tests.rollouts import before, target

START_S, END_S = 1000.0, 2000.0


def pod(name: str, profile: str, submitted_s: float, started_s: float | None) -> PodTimes:
    return PodTimes(
        namespace="jobs",
        name=name,
        task=name,
        requests=Counts({f"nvidia.com/mig-{profile}": 1}),
        submitted_s=submitted_s,
        started_s=started_s,
        outcome="Pending" if started_s is None else "Succeeded",
    )


def run(*pods: PodTimes, served: float = 0.0) -> RunRecord:
    board = BoardRecord("gpu-01", 0, Geometry())
    return RunRecord(START_S, END_S, pods, (), (), served, (board,), (board,))


def change(result: Result) -> ChangeRecord:
    journal = Journal(
        id="r1",
        plan="p1",
        holder="me",
        epoch=1,
        state=State.APPLYING,
        state_since_s=START_S,
        deadline_s=END_S,
        before=before(),
        target=target(),
        node_uid="uid",
        gpus=(0, 1),
    )
    return ChangeRecord(RolloutRecord("node-a", START_S, END_S, result), journal)


ALONE = run(
    pod("a", "1g.5gb", 1000.0, 1010.0),
    pod("b", "1g.5gb", 1000.0, 1030.0),
    pod("c", "3g.20gb", 1500.0, None),
    served=7200.0,
)
AUTOSCALED = run(
    pod("a", "1g.5gb", 1000.0, 1010.0),
    pod("b", "1g.5gb", 1000.0, 1010.0),
    pod("c", "3g.20gb", 1500.0, 1600.0),
    served=9000.0,
)


def figures(*changes: ChangeRecord) -> dict[str, tuple[float, float]]:
    return {r.figure: (r.alone, r.autoscaled) for r in compare(ALONE, AUTOSCALED, changes)}


def test_a_pod_that_never_started_has_waited_until_the_end():
    """Otherwise a run would look better the more pods it leaves waiting."""
    assert figures()["waiting time for 3g.20gb, mean"] == (500.0, 100.0)
    assert figures()["waiting time, mean"] == (180.0, 40.0)


def test_each_run_is_counted_by_itself():
    """Waits by profile, work in slice-hours, numbers of jobs."""
    found = figures()
    assert found["waiting time for 1g.5gb, mean"] == (20.0, 10.0)
    assert found["waiting time, 95th percentile"] == (500.0, 100.0)
    assert found["served"] == (2.0, 2.5)
    assert found["jobs started"] == (2, 3)
    assert found["jobs finished"] == (2, 3)


def test_only_changes_that_were_done_count_as_such():
    """Others are told apart, and none belongs to the run that was left alone."""
    found = figures(change(Result.DONE), change(Result.ABORTED), change(Result.ROLLED_BACK))
    assert found["changes of nodes"] == (0, 1)
    assert found["GPUs cut anew"] == (0, 2)
    assert found["changes given up or undone"] == (0, 2)


def test_a_percentile_is_a_value_that_occurred():
    """The smallest one that so many percent do not exceed."""
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.0
    assert percentile([4.0, 1.0, 3.0, 2.0], 95) == 4.0
    assert percentile([7.0], 1) == 7.0


def test_of_nothing_all_figures_are_zero():
    """An empty run is no error."""
    assert mean([]) == percentile([], 95) == 0.0
    assert profiles_of(run()) == ()
