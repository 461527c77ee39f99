"""Since when something has been proposed."""

from dataclasses import replace

from autoscaler.domain.counts import Counts
from autoscaler.domain.plan.plan import GpuChange
from autoscaler.domain.policy.planning_rules import PlanningRules
from autoscaler.planning.gating.persistence import Sighting, first_seen, persistence_due
from tests.builders import change, plan

RULES = PlanningRules(persistence_s=60.0, persistence_looks=2)
HALVES, SMALL, WHOLE = {"3g.20gb": 2}, {"1g.5gb": 7}, {"7g.40gb": 1}


def proposing(*targets):
    """Return a change of as many GPUs, and its plan."""
    gpus = tuple(GpuChange(i, Counts(), Counts(t)) for i, t in enumerate(targets))
    own = change(gpus=gpus)
    return own, plan(own)


def due(own, seen, rules=RULES):
    """Return when a change is due, with a look every half minute."""
    return persistence_due(own, seen, rules, 30.0)


def test_a_new_proposal_is_due_after_the_whole_time():
    """From the moment at which it is first seen."""
    own, whole = proposing(HALVES)
    assert due(own, first_seen(whole, {}, 1000.0)) == 1060.0


def test_a_proposal_that_stays_keeps_its_first_time():
    """Also when other parts of it change, such as its estimated duration."""
    own, whole = proposing(HALVES)
    seen = first_seen(whole, first_seen(whole, {}, 1000.0), 1030.0)
    assert due(replace(own, estimated_s=1.0), seen) == 1060.0


def test_another_target_begins_anew():
    """And so does one that was away for a cycle."""
    own, whole = proposing(HALVES)
    other, otherwise = proposing(WHOLE)
    seen = first_seen(whole, {}, 1000.0)
    assert due(other, seen) is None
    seen = first_seen(otherwise, seen, 1030.0)
    assert due(own, seen) is None
    assert due(own, first_seen(whole, seen, 1060.0)) == 1120.0


def test_a_proposal_that_grows_counts_from_its_older_half():
    """While pods keep arriving, every plan cuts one GPU more."""
    seen = first_seen(proposing(SMALL)[1], {}, 1000.0)
    two, plan_of_two = proposing(SMALL, SMALL)
    seen = first_seen(plan_of_two, seen, 1030.0)
    assert due(two, seen) == 1060.0
    three, plan_of_three = proposing(SMALL, SMALL, SMALL)
    seen = first_seen(plan_of_three, seen, 1060.0)
    assert due(three, seen) == 1090.0


def test_one_odd_look_is_not_enough_whatever_the_time():
    """Without any time to wait, the next look still has to see it again."""
    rules = PlanningRules(persistence_s=0.0, persistence_looks=2)
    own, whole = proposing(HALVES)
    seen = first_seen(whole, {}, 1000.0)
    assert due(own, seen, rules) == 1030.0
    assert due(own, first_seen(whole, seen, 1010.0), rules) == 1010.0


def test_two_demands_that_alternate_start_nothing():
    """Each is proposed every other look, and never twice in a row."""
    small, wants_small = proposing(SMALL)
    whole, wants_whole = proposing(WHOLE)
    seen: dict[str, Sighting] = {}
    for look in range(10):
        now_s = 1000.0 + 45.0 * look
        own, proposal = (small, wants_small) if look % 2 else (whole, wants_whole)
        seen = first_seen(proposal, seen, now_s)
        at_s = due(own, seen)
        assert at_s is not None
        assert at_s > now_s


def test_a_clock_that_goes_back_does_not_postpone_a_proposal():
    """A time in the future counts as now."""
    own, whole = proposing(HALVES)
    future = {name: Sighting(5000.0, 3, 5000.0) for name in first_seen(whole, {}, 0.0)}
    assert due(own, first_seen(whole, future, 1000.0)) == 1060.0
