"""Pods that the present layout could take as it is."""

from dataclasses import replace

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.cluster.placeholder import Placeholder
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.domain.demand.fitting import fitting_pods
from tests.builders import fleet_node, node

SMALL = "nvidia.com/mig-1g.5gb"


def group(*pods, number=1, nodes=("a", "b"), **changes):
    """Return pods that each need so many instances."""
    refs = tuple(PodRef("default", name) for name in pods)
    return DemandGroup(Counts({SMALL: number}), frozenset(nodes), pods=refs, **changes)


def fits(groups, *nodes, ages=None):
    """Return the node of each pod that fits; the first listed is the oldest."""
    order = [pod for g in groups for pod in g.pods]
    age = {pod: float(i) for i, pod in enumerate(order)}
    age.update({PodRef("default", name): at for name, at in (ages or {}).items()})
    notes = fitting_pods(groups, nodes, age)
    return {note.pod.name: note.message.split()[1] for note in notes}


def room(name, taken=0):
    """Return a node with seven small instances of which some are taken."""
    return fleet_node(name, allocated=Counts({SMALL: taken}))


def test_free_instances_are_given_out_once():
    """Three pods, two instances."""
    assert fits([group("p", "q", "r")], room("a", 5)) == {"p": "a", "q": "a"}


def test_the_oldest_pod_chooses_first_across_groups():
    """Its group comes later in the list."""
    groups = [group("young"), group("old")]
    ages = {"young": 9.0, "old": 1.0}
    assert fits(groups, room("a", 6), ages=ages) == {"old": "a"}


def test_a_bundle_needs_one_node():
    """One instance on each of two nodes is not two on one."""
    assert fits([group("p", number=2)], room("a", 6), room("b", 6)) == {}
    assert fits([group("p", number=2)], room("a", 6), room("b", 5)) == {"p": "b"}


def test_only_eligible_and_open_nodes_take_pods():
    """A cordon keeps them away, ours too."""
    closed = fleet_node("a", node=node("a", unschedulable=True))
    assert fits([group("p")], closed, room("b")) == {"p": "b"}
    assert fits([group("p", nodes=("a",))], room("b")) == {}


def test_a_gang_fits_whole_or_not_at_all():
    """What its first members took is given back, and others may have it."""
    gang = group("g0", "g1", "g2", gang="default/g", gang_min=3)
    assert fits([gang], room("a", 5)) == {}
    assert len(fits([gang], room("a", 4))) == 3
    assert fits([gang, group("alone")], room("a", 5)) == {"alone": "a"}


def test_pods_that_keep_apart_take_a_node_each():
    """Also when they are not of one gang."""
    apart = group("p", "q", "r", one_per_node=True)
    assert fits([apart], room("a"), room("b")) == {"p": "a", "q": "b"}
    gang = group("g0", "g1", "g2", gang="default/g", gang_min=3, one_per_node=True)
    assert fits([gang], room("a"), room("b")) == {}


def test_what_a_placeholder_keeps_is_for_nobody():
    """It counts as free for plans, but no pod can take it as it is."""
    own = Placeholder("a", PodRef("ours", "p-0"), Counts({SMALL: 1}), is_bound=True)
    kept = replace(room("a", 5), placeholders=(own,))
    assert fits([group("p", "q")], kept) == {"p": "a"}
