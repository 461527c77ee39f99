"""Aging: what has waited long counts more, in steps."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.domain.policy.planning_rules import PlanningRules
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.program.aging import aged, step_of
from autoscaler.planning.program.worth import Worth

ONE = "nvidia.com/mig-1g.5gb"
NOW_S = 100_000.0
GROUP = DemandGroup(
    bundle=Counts({ONE: 1}),
    eligible=frozenset({"n"}),
    pods=tuple(PodRef("x", f"p{k}") for k in range(3)),
    created_s=(NOW_S - 5000.0, NOW_S - 1200.0, NOW_S - 10.0),
)


def worth(fairness):
    history = ValueHistory(service_s={ONE: 1000.0})
    return Worth(12000.0, {ONE: 1}, history, PlanningRules(fairness=fairness))


@pytest.mark.parametrize(
    ("waited_s", "step"),
    [(-5, 0), (0, 0), (999, 0), (1000, 1), (1999, 1), (2000, 2), (4000, 3), (1e9, 7)],
)
def test_each_doubling_of_the_wait_is_a_step(waited_s, step):
    """From the service time of the profile on, up to a last step."""
    assert step_of(waited_s, 1000.0) == step


def test_without_fairness_age_does_not_count():
    """The group stays as it is."""
    assert list(aged([GROUP], worth(0.0), NOW_S)) == [GROUP]


def test_older_requests_weigh_more():
    """5000 s are three steps at a service time of 1000 s, 1200 s are one, 10 s none."""
    parts = list(aged([GROUP], worth(0.5), NOW_S))
    assert [(p.number, p.weight) for p in parts] == [(1, 2.5), (1, 1.5), (1, 1.0)]
    assert [p.pods for p in parts] == [(pod,) for pod in GROUP.pods]
    assert sum((p.created_s for p in parts), ()) == GROUP.created_s


def test_requests_of_one_step_stay_one_group():
    """The program grows with ages in steps, not with pods."""
    alike = replace(GROUP, created_s=(NOW_S - 3000.0, NOW_S - 2500.0, NOW_S - 2000.0))
    (part,) = aged([alike], worth(1.0), NOW_S)
    assert (part.number, part.weight) == (3, 3.0)


def test_priorities_are_kept():
    """Age multiplies what a priority class weighs."""
    urgent = replace(GROUP, weight=10.0)
    assert [p.weight for p in aged([urgent], worth(0.5), NOW_S)] == [25.0, 15.0, 10.0]


def test_gangs_and_unknown_ages_stay_as_they_are():
    """A gang starts whole; an age that is not known is not taken for zero."""
    gang = replace(GROUP, gang="x/g")
    unknown = replace(GROUP, created_s=())
    assert list(aged([gang, unknown], worth(1.0), NOW_S)) == [gang, unknown]
