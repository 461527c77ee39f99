"""A change for the agent starts only when every place is known."""

from dataclasses import replace

import pytest

from autoscaler.control.driver_agent import start_of, uses_agent
from autoscaler.domain.errors import Refused
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.plan.plan import GpuChange
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.rollout.opening import open_rollout
from tests.builders import NOW_S, change, fleet_node
from tests.rollouts import rules

SMALL = Geometry((GpuInstance(0, 1, "1g.5gb"), GpuInstance(1, 1, "1g.5gb")))
HALF = Geometry((GpuInstance(4, 4, "3g.20gb"),))
LAYOUT = (SMALL.counts, HALF.counts, None)
AFTER = (HALF.counts, HALF.counts, None)


def agent_node():
    """Return a node of the agent: two cut GPUs and a whole one."""
    own = fleet_node(layout=LAYOUT, driver=Driver.AGENT)
    gpus = (
        replace(own.gpus[0], geometry=SMALL),
        replace(own.gpus[1], geometry=HALF),
        own.gpus[2],
    )
    return replace(own, gpus=gpus)


def planned(after=HALF, **changes):
    """Return the change of its first GPU."""
    gpu = GpuChange(0, SMALL.counts, HALF.counts, SMALL, after)
    return change(gpus=(replace(gpu, **changes),), layout=AFTER, resources=supply_of(AFTER))


def test_the_journal_says_where_every_instance_is_and_shall_be():
    """Also on the GPUs that do not change; nothing is said of those with MIG off."""
    start = start_of("plan-1", planned(), agent_node())
    journal = open_rollout(start, rules(), NOW_S).journal
    assert uses_agent(journal)
    assert journal.before.places == (SMALL, HALF, None)
    assert journal.target.places == (HALF, HALF, None)
    assert (journal.gpus, journal.needed) == ((0,), ())
    assert journal.target.resources == supply_of(AFTER)


def test_the_rest_of_an_earlier_layout_is_no_part_of_what_was_before():
    """Kubelet keeps its capacity for some minutes, and nobody can bring it back."""
    own = agent_node()
    stale = own.node.capacity.plus({"nvidia.com/mig-7g.40gb": 1})
    own = replace(own, node=replace(own.node, capacity=stale))
    journal = open_rollout(start_of("plan-1", planned(), own), rules(), NOW_S).journal
    assert journal.before.resources == supply_of(LAYOUT)


@pytest.mark.parametrize(
    "own", [planned(None), planned(SMALL)], ids=["no places", "other places"]
)
def test_a_plan_without_places_is_refused(own):
    """It was made for another driver, or changed by hand."""
    with pytest.raises(Refused, match="does not say where the instances of GPU 0 go"):
        start_of("plan-1", own, agent_node())


def test_a_node_without_places_is_refused():
    """What is to be kept is not known."""
    own = agent_node()
    gpus = (own.gpus[0], replace(own.gpus[1], geometry=None), own.gpus[2])
    with pytest.raises(Refused, match="does not show where the instances of GPU 1 are"):
        start_of("plan-1", planned(), replace(own, gpus=gpus))
