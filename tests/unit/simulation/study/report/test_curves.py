"""Who waits and what is busy over time, by hand."""

import pytest

from autoscaler.simulation.study.report.curves import busy_curve, lost_curve, queue_curves
from tests.studies import ONE, THREE
from tests.study_results import case_of, exact


def test_curves_of_one_gpu():
    """Two 3g run beside each other, a third waits until one has ended; one slice is lost."""
    case = case_of((0, 60, THREE), (0, 90, THREE), (20, 30, THREE), (20, 10, ONE), span_s=200)
    outcome = exact(case, {THREE: 1, ONE: 3})
    queues = queue_curves(outcome, case)
    assert queues[THREE].times_s == (0.0, 20.0, 60.0, 150.0)
    assert queues[THREE].values == (1.0, 2.0, 1.0, 0.0)
    assert set(queues[ONE].values) == {0.0}
    busy = busy_curve(outcome, case)
    assert busy.times_s == (0.0, 20.0, 30.0, 180.0)
    assert busy.values == pytest.approx([3 / 7, 4 / 7, 3 / 7, 0])
    lost = lost_curve(outcome, case)
    # At 20 a 1g takes one of four idle slices, and three would be enough for a 3g.
    assert lost.values == pytest.approx([4 / 7, 3 / 7, 4 / 7, 0])
