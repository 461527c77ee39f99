"""A proposal counts from when it was first there without a break."""

from dataclasses import replace

from autoscaler.planning.persistence import first_seen, persistence_due
from tests.builders import change, plan


def test_a_new_proposal_is_due_after_the_time():
    """A minute from now."""
    seen = first_seen(plan(), {}, 1000.0)
    assert persistence_due(change(), seen, 60.0) == 1060.0


def test_an_old_proposal_keeps_its_time():
    """Seen again a cycle later, with another price."""
    seen = first_seen(plan(), first_seen(plan(), {}, 1000.0), 1030.0)
    assert persistence_due(replace(change(), estimated_s=1.0), seen, 60.0) == 1060.0


def test_a_proposal_that_went_away_or_has_another_target_starts_again():
    """Two demand patterns that alternate start nothing."""
    seen = first_seen(plan(), {}, 1000.0)
    other = plan(change(config_name="all-7g.40gb"))
    assert persistence_due(other.changes[0], seen, 60.0) is None
    seen = first_seen(other, seen, 1030.0)
    assert persistence_due(change(), seen, 60.0) is None
    seen = first_seen(plan(), seen, 1060.0)
    assert persistence_due(change(), seen, 60.0) == 1120.0


def test_a_clock_that_went_back_does_not_delay_for_ever():
    """What was seen in the future counts from now."""
    seen = first_seen(plan(), {"node-a/all-3g.20gb": 5000.0}, 1000.0)
    assert persistence_due(change(), seen, 60.0) == 1060.0
