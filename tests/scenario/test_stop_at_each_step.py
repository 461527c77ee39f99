"""SIGTERM at any step of a roll: the step is finished, the next process goes on."""

import pytest
import structlog
from structlog.testing import CapturingLogger

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.cli.policy_source import PolicySource
from autoscaler.cli.service import Service
from autoscaler.cli.stopping import StoppableClient
from autoscaler.control.outside import Outside
from autoscaler.domain.policy.policy import Mode
from autoscaler.ports import LEASES
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.store import StoreClient
from tests.commands import write_policy
from tests.loops import NAMESPACE, annotations, is_closed, status_of, world_with_namespace
from tests.worlds import HALVES, ONE, devices, task

QUICK = ("rollout: {warmUp: 1s}", "planning: {persistence: 0s, minGain: 0}")


class Process:
    """One process of ``run`` on a world: a participant of its engine, until it is stopped."""

    def __init__(self, world, policy, name):
        self.world, self.name = world, name
        self.client = StoppableClient(StoreClient(world.store, name))
        log = structlog.wrap_logger(CapturingLogger())
        source = PolicySource(policy, Mode.AUTO)
        self.service = Service(source, self._outside_for, log=log, clock=world.clock)
        self.is_told = self.is_over = False
        self._next_s = world.clock.now_s()
        world.engine.add(self)

    def _outside_for(self, policy):
        cluster = KubernetesCluster(self.client, self.world.clock)
        return Outside(cluster, self.world.clock, identity=self.name)

    def step(self):
        """Run a cycle when one is due; end as the command ends after SIGTERM."""
        if self.is_over:
            return None
        now_s = self.world.clock.now_s()
        if now_s >= self._next_s:
            self._next_s = now_s + 30.0
            self.service.tick()
        if self.is_told:
            self.is_over = True
            self.client.resume()
            self.service.close()
            return None
        return self._next_s

    def told_at(self, number):
        """Be told to stop while the n-th mutating request is under way."""

        def tell(_):
            self.is_told = True
            self.client.stop()

        def is_own_write(request):
            return request.is_mutating and request.user_agent == self.name

        fault = Fault(call=tell)
        rule = Rule(Point.AFTER_APPLY, fault, is_own_write, skip=number)
        return self.world.store.faults.add(rule)


def started(tmp_path):
    """Return a node in halves with small jobs waiting, and the first process."""
    world = world_with_namespace(HALVES)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=90_000.0) for i in range(7)])
    return world, Process(world, write_policy(tmp_path, *QUICK), "first")


def holder_of(world):
    lease = world.platform.client.get(LEASES, NAMESPACE, "mig-autoscaler")
    return lease["spec"].get("holderIdentity") or ""


def end_of(world):
    """Return what must be the same, wherever the first process was stopped."""
    offered = {key: n for key, n in devices(world).items() if n}
    return offered, is_closed(world), annotations(world), status_of(world)["openRollouts"]


DONE = ({ONE: 7}, False, {}, [])


def test_undisturbed_the_roll_is_done(tmp_path):
    """What all other runs are compared with."""
    world, first = started(tmp_path)
    world.run_for(900)
    assert end_of(world) == DONE
    assert not first.is_over


@pytest.mark.parametrize("number", range(14))
def test_stopped_at_any_write_the_next_process_ends_the_roll(tmp_path, number):
    """The Lease is given up at once, so the next one need not wait for its end."""
    world, first = started(tmp_path)
    first.told_at(number)
    world.run_for(1)
    for _ in range(60):
        if first.is_over:
            break
        world.run_for(10)
    assert first.is_over, "it made fewer writes than that"
    assert holder_of(world) == ""
    writes = world.store.requests.num_mutating("first")
    # The write under way, and the one that gives the Lease up.
    assert writes <= number + 2
    Process(world, write_policy(tmp_path, *QUICK), "second")
    world.run_for(900)
    assert world.store.requests.num_mutating("first") == writes
    assert holder_of(world) == "second"
    assert end_of(world) == DONE
