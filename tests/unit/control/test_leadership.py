"""The Lease: one leader at a time, by the monotonic clock, with an epoch as fence."""

from dataclasses import replace

import pytest

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.control.leadership import Leadership, LeaseTimes
from autoscaler.control.outside import Outside
from autoscaler.ports import LEASES, NAMESPACES
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.clock import VirtualClock
from autoscaler.simulation.store import Store, StoreClient
from tests.builders import NOW_S

NAME, NAMESPACE = "mig-autoscaler", "mig-autoscaler"


class Setup:
    """A store with a virtual clock, and contenders for one Lease on it."""

    def __init__(self):
        self.clock = VirtualClock(NOW_S)
        self.store = Store(self.clock.now_s, wait=self.clock.sleep)
        self.client = StoreClient(self.store, "test")
        self.client.create(NAMESPACES, None, {"metadata": {"name": NAMESPACE}})

    def contender(self, name, clock=None):
        """Return one replica's side of the Lease."""
        clock = clock or self.clock
        cluster = KubernetesCluster(StoreClient(self.store, name), clock)
        return Leadership(Outside(cluster, clock, identity=name), NAME)

    def lease(self):
        """Return the Lease as the API has it."""
        return self.client.get(LEASES, NAMESPACE, NAME)["spec"]

    def fail(self, verb, times=None, code=503):
        """Have requests on Leases fail."""
        rule = Rule(Point.BEFORE_APPLY, Fault(code=code), is_lease(verb), times=times)
        return self.store.faults.add(rule)


def is_lease(verb):
    """Match requests with this verb on Leases."""
    return lambda request: request.kind.plural == "leases" and request.verb.value == verb


def test_the_first_one_takes_it_and_renews_it():
    """Renewing changes the time only."""
    setup = Setup()
    first = setup.contender("a")
    assert first.ensure().is_leader
    assert first.epoch == 1
    setup.clock.sleep(30)
    assert first.ensure().is_leader
    assert setup.lease()["leaseTransitions"] == 1


def test_a_second_one_waits_as_long_as_the_first_renews():
    """And names who leads."""
    setup = Setup()
    first, second = setup.contender("a"), setup.contender("b")
    first.ensure()
    for _ in range(20):
        setup.clock.sleep(30)
        assert first.ensure().is_leader
        assert second.ensure().holder == "a"


def test_a_silent_leader_is_succeeded_after_the_whole_time():
    """Counted from when the successor saw the last renewal itself."""
    setup = Setup()
    first, second = setup.contender("a"), setup.contender("b")
    first.ensure()
    setup.clock.sleep(80)
    assert not second.ensure().is_leader
    setup.clock.sleep(89)
    assert not second.ensure().is_leader
    setup.clock.sleep(1)
    assert second.ensure().is_leader
    assert second.epoch == 2
    assert not first.ensure().is_leader


def test_a_new_leader_evicts_nobody_at_first():
    """Not until the old one has surely noticed."""
    setup = Setup()
    first, second = setup.contender("a"), setup.contender("b")
    first.ensure()
    second.ensure()
    setup.clock.sleep(90)
    second.ensure()
    assert second.may_evict_from_s == setup.clock.now_s() + 60.0 + 10.0


def test_a_lease_that_was_given_up_is_taken_at_once():
    """And there is nobody left to wait for."""
    setup = Setup()
    first, second = setup.contender("a"), setup.contender("b")
    first.ensure()
    first.release()
    assert second.ensure().is_leader
    assert second.epoch == 2
    assert second.may_evict_from_s == setup.clock.now_s()
    assert not first.guard()


def test_the_same_name_takes_its_own_lease_over():
    """A process that was restarted need not wait; its epoch is a new one all the same."""
    setup = Setup()
    setup.contender("a").ensure()
    again = setup.contender("a")
    assert again.ensure().is_leader
    assert again.epoch == 2
    assert again.may_evict_from_s > setup.clock.now_s()


def test_an_old_process_of_the_same_name_notices():
    """The epoch tells them apart."""
    setup = Setup()
    old, new = setup.contender("a"), setup.contender("a")
    old.ensure()
    new.ensure()
    assert old.epoch == 1
    setup.clock.sleep(11)
    old.guard()
    assert old.epoch != new.epoch


def test_a_fresh_renewal_is_not_repeated_before_a_write():
    """An older one is."""
    setup = Setup()
    first = setup.contender("a")
    first.ensure()
    before = len(setup.store.requests.entries())
    setup.clock.sleep(9)
    assert first.guard()
    assert len(setup.store.requests.entries()) == before
    setup.clock.sleep(1)
    assert first.guard()
    assert len(setup.store.requests.entries()) == before + 2


def test_without_an_answer_we_go_on_for_the_deadline_and_no_longer():
    """The successor waits longer than that."""
    setup = Setup()
    first = setup.contender("a")
    first.ensure()
    setup.fail("get")
    setup.clock.sleep(59)
    assert first.guard()
    setup.clock.sleep(1)
    assert not first.guard()
    assert not first.ensure().is_leader


def test_a_renewal_whose_answer_was_lost_is_found_again():
    """The write landed; the version is newer than ours, and nobody else's."""
    setup = Setup()
    first = setup.contender("a")
    first.ensure()
    setup.clock.sleep(30)
    setup.store.faults.add(Rule(Point.AFTER_APPLY, Fault(code=504), is_lease("patch"), times=1))
    assert first.ensure().is_leader
    assert first.ensure().message == "holds the lease"


def test_two_at_once_make_one_leader():
    """The second write meets the version of the first."""
    setup = Setup()
    first, second = setup.contender("a"), setup.contender("b")

    def overtake(_):
        second.ensure()

    rule = Rule(Point.BEFORE_APPLY, Fault(call=overtake), is_lease("create"), times=1)
    setup.store.faults.add(rule)
    assert not first.ensure().is_leader
    assert second.epoch == 1


def test_the_epoch_is_raised_above_any_journal():
    """A Lease that was deleted begins to count anew."""
    setup = Setup()
    first = setup.contender("a")
    first.ensure()
    assert first.raise_above(7)
    assert (first.epoch, setup.lease()["leaseTransitions"]) == (8, 8)
    assert first.raise_above(3)
    assert first.epoch == 8
    setup.fail("patch", times=1)
    assert not first.raise_above(9)
    assert not first.guard()


def test_clocks_that_differ_do_not_matter():
    """Time stamps of others are never compared with our own time."""
    setup = Setup()
    first = setup.contender("a")
    ahead = VirtualClock(NOW_S + 3600.0)
    second = setup.contender("b", ahead)
    first.ensure()
    assert not second.ensure().is_leader
    setup.clock.sleep(30)
    ahead.sleep(30)
    first.ensure()
    assert not second.ensure().is_leader
    ahead.sleep(89)
    assert not second.ensure().is_leader


def test_times_must_be_in_order():
    """A leader must stop before it is succeeded."""
    assert replace(LeaseTimes(), duration_s=120.0).duration_s == 120.0
    with pytest.raises(ValueError, match="not in order"):
        LeaseTimes(duration_s=60.0)
