"""Gangs count whole or not at all."""

from dataclasses import replace

from autoscaler.domain.cluster.objects import Container, Gang, PodGroup
from autoscaler.domain.demand.gangs import complete_gangs
from autoscaler.domain.reasons import Reason
from tests.builders import observation, pod


def member(name, least=0, gang="g", **changes):
    """Return a pod of a gang."""
    return pod(name, gang=Gang(gang, least), **changes)


def gangs(*pods, waiting=None, groups=()):
    """Return what the gangs of these pods need."""
    seen = observation(*pods, pod_groups=groups)
    pending = [p for p in pods if p.node is None] if waiting is None else waiting
    return complete_gangs(seen, pending)


def test_all_members_that_wait_are_needed():
    """Four of four."""
    found = gangs(*(member(f"p{i}", 4) for i in range(4)))
    assert found.needed == {"default/g": 4}
    assert found.incomplete == ()


def test_more_members_than_needed_leave_some_free():
    """Six wait, four are enough to start."""
    assert gangs(*(member(f"p{i}", 4) for i in range(6))).needed == {"default/g": 4}


def test_running_members_count():
    """Two run, so two of the three others are needed."""
    running = [member(f"r{i}", 4, node="a") for i in range(2)]
    found = gangs(*running, *(member(f"p{i}", 4) for i in range(3)))
    assert found.needed == {"default/g": 2}


def test_enough_running_members_leave_the_others_to_themselves():
    """The gang has started; more pods are welcome one by one."""
    running = [member(f"r{i}", 2, node="a") for i in range(2)]
    found = gangs(*running, member("p", 2))
    assert found.needed == {}
    assert found.incomplete == ()


def test_ended_and_going_members_do_not_count():
    """They are no members of the next start."""
    gone = [member("e", 2, node="a", phase="Failed"), member("t", 2, node="a", deletion_s=1.0)]
    found = gangs(*gone, member("p", 2))
    assert [note.reason for note in found.incomplete] == [Reason.GANG_INCOMPLETE]


def test_a_gang_with_too_few_pods_is_incomplete():
    """The sentence has its numbers."""
    found = gangs(member("p0", 4), member("p1", 4), member("r", 4, node="a"))
    assert {note.pod.name for note in found.incomplete} == {"p0", "p1"}
    assert (
        "needs 4 pods: 1 run or need no GPU and only 2 of the 3 others"
        in found.incomplete[0].message
    )


def test_the_pod_group_says_how_many_where_there_is_one():
    """Its number is above that of a pod's own mark."""
    group = PodGroup("default", "g", 3)
    assert gangs(*(member(f"p{i}", 2) for i in range(3)), groups=(group,)).needed == {
        "default/g": 3
    }


def test_without_any_number_all_that_wait_are_needed_together():
    """Nobody says how many are enough."""
    found = gangs(member("r", node="a"), *(member(f"p{i}") for i in range(3)))
    assert found.needed == {"default/g": 3}


def test_gangs_of_one_name_in_two_namespaces_are_two():
    """Names are of a namespace."""
    pods = [member("p0", 1), member("p1", 1, namespace="team-x")]
    assert gangs(*pods).needed == {"default/g": 1, "team-x/g": 1}


def test_c07_a_member_that_needs_no_gpu_is_no_obstacle():
    """A launcher beside two workers: only a launcher that is held back keeps them."""
    workers = [member(f"w{i}", 3) for i in range(2)]
    free = member("launcher", 3, containers=(Container("main", cpu_milli=100),))
    found = gangs(*workers, free, waiting=workers)
    assert (found.needed, found.incomplete) == ({"default/g": 2}, ())
    for held in ({"gates": ("queue",)}, {"deletion_s": 1.0}, {"faults": ("odd",)}):
        found = gangs(*workers, replace(free, **held), waiting=workers)
        assert found.needed == {}
        assert len(found.incomplete) == 2
