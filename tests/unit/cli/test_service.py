"""The loop as a service: what it publishes, and what does not end it."""

import json

import pytest
import structlog
from structlog.testing import CapturingLogger

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.cli.policy_source import PolicySource
from autoscaler.cli.service import LONGEST_REST_S, Service
from autoscaler.cli.stopping import StoppableClient
from autoscaler.control.outside import Outside
from autoscaler.domain.policy.policy import Mode
from autoscaler.ports import LEASES, NODES
from autoscaler.simulation.clock import VirtualClock
from autoscaler.simulation.store import Store, StoreClient
from tests.commands import write_policy
from tests.dumps import dump_node, dump_pod
from tests.servers import NOW_S, namespace


class Bench:
    """A service on a store, with a clock that the test moves."""

    def __init__(self, policy=None, mode=None, store=None):
        self.clock = VirtualClock(NOW_S)
        self.store = store or Store(self.clock.now_s)
        names = ("gpu-operator", "mig-autoscaler", "team")
        if store is None:
            self.store.load([*map(namespace, names), dump_node(), dump_pod()])
        self.client = StoppableClient(StoreClient(self.store, "loop"))
        self.built = 0
        self.name = "me"
        self.broken = False
        self.logger = CapturingLogger()
        self.source = PolicySource(policy, mode)
        log = structlog.wrap_logger(self.logger, processors=[lambda _, __, e: ((), e)])
        self.service = Service(self.source, self.outside_for, log=log, clock=self.clock)

    def outside_for(self, policy):
        self.built += 1
        if self.broken:
            raise ValueError("a fault of our own")
        return Outside(
            KubernetesCluster(self.client, self.clock), self.clock, identity=self.name
        )

    def tick(self, after_s=30.0):
        self.clock.move_to(self.clock.now_s() + after_s)
        self.service.tick()

    def metric(self, name):
        """Return the value of one series."""
        lines = self.service.exporter.exposition().decode().splitlines()
        (value,) = [line.split()[-1] for line in lines if line.startswith(f"{name} ")]
        return float(value)

    def events(self):
        return [call.kwargs["event"] for call in self.logger.calls]

    def mutations(self):
        return self.store.requests.entries(lambda e: e.mutating and e.user_agent == "loop")


def test_a_cycle_is_published(tmp_path):
    """Status, plan, holds, metrics and one line in the log."""
    bench = Bench(write_policy(tmp_path))
    assert bench.service.health.obstacle() != ""
    bench.tick()
    notes = bench.service.board.read()
    assert notes.status["mode"] == "dry-run"
    assert notes.plan is not None
    assert notes.plan["policy"]["name"] == "test"
    assert bench.service.health.obstacle() == ""
    assert bench.service.health.ailment() == ""
    assert bench.metric("mig_autoscaler_proposed_changes") == len(notes.plan["changes"])
    assert any(call.kwargs.get("decision") == "planned" for call in bench.logger.calls)
    json.dumps([notes.status, notes.plan, *notes.holds])


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.DRY_RUN])
def test_modes_that_observe_send_no_mutating_request(tmp_path, mode):
    """Not even a Lease."""
    bench = Bench(write_policy(tmp_path), mode)
    for _ in range(3):
        bench.tick()
    bench.service.close()
    assert bench.mutations() == ()


def test_recommend_writes_nothing_of_nodes_and_pods(tmp_path):
    """Its Lease, its status, Events."""
    bench = Bench(write_policy(tmp_path), Mode.RECOMMEND)
    for _ in range(3):
        bench.tick()
    written = {entry.resource for entry in bench.mutations()}
    assert written == {"leases", "configmaps", "events"}


def test_a_fault_of_our_own_does_not_end_the_loop(tmp_path):
    """It is logged with its traceback and counted, and the rest grows."""
    bench = Bench(write_policy(tmp_path))
    bench.broken = True
    bench.tick()
    bench.tick(after_s=1.0)
    assert bench.metric("mig_autoscaler_loop_exceptions_total") == 1.0
    (call,) = [c for c in bench.logger.calls if c.kwargs["event"] == "cycle crashed"]
    assert isinstance(call.kwargs["exc_info"], ValueError)
    assert call.kwargs["rest_s"] == 30.0
    bench.tick()
    assert bench.metric("mig_autoscaler_loop_exceptions_total") == 2.0
    for _ in range(10):
        bench.tick(after_s=LONGEST_REST_S)
    assert bench.logger.calls[-1].kwargs["rest_s"] == LONGEST_REST_S
    assert "no cycle has succeeded" in bench.service.health.ailment()
    bench.broken = False
    bench.tick(after_s=LONGEST_REST_S)
    assert bench.service.health.ailment() == ""


def test_an_edit_takes_effect_and_a_bad_one_does_not(tmp_path):
    """The last good policy stays, and the trouble is told once."""
    path = write_policy(tmp_path)
    bench = Bench(path)
    bench.tick()
    write_policy(tmp_path, "loop: {interval: 45s}")
    bench.tick()
    bench.tick()
    assert bench.service.interval_s == 45.0
    write_policy(tmp_path, "loop: {interval: never}")
    for _ in range(4):
        bench.tick()
    assert bench.service.interval_s == 45.0
    assert bench.metric('mig_autoscaler_policy_reloads_total{result="bad"}') == 1.0
    assert bench.metric("mig_autoscaler_policy_invalid") == 1.0
    assert "interval" in bench.service.board.read().status["policyError"]
    assert bench.events().count("policy rejected, the last good one stays") == 1


def test_ports_are_built_anew_only_when_they_change(tmp_path):
    """Another pace needs none, another ConfigMap does."""
    path = write_policy(tmp_path)
    bench = Bench(path)
    bench.tick()
    for line in ("loop: {interval: 45s}", "migManager: {configMap: other}"):
        write_policy(tmp_path, line)
        bench.tick()
        bench.tick()
    assert bench.built == 2


def test_the_default_policy_follows_the_products(tmp_path):
    """One pool for what is there at the start, another for what joins."""
    bench = Bench()
    bench.tick()
    assert [pool.name for pool in bench.source.current().pools] == ["a100-sxm4-40gb"]
    client = StoreClient(bench.store, "test")
    client.create(NODES, None, dump_node("b", layout=[{"1g.6gb": 4}], key="a30-24gb"))
    bench.tick()
    assert sorted(p.name for p in bench.source.current().pools) == ["a100-sxm4-40gb", "a30"]


def test_once_stopped_no_step_is_begun_and_the_lease_is_given_up(tmp_path):
    """The cycle ends as if the API server went away; the last write frees the Lease."""
    bench = Bench(write_policy(tmp_path), Mode.RECOMMEND)
    bench.tick()
    before = len(bench.mutations())
    bench.client.stop()
    bench.tick()
    assert len(bench.mutations()) == before
    bench.client.resume()
    bench.service.close()
    lease = StoreClient(bench.store, "test").get(
        LEASES, "mig-autoscaler", "mig-autoscaler-recommend"
    )
    assert not lease["spec"].get("holderIdentity")


def test_a_missed_cycle_is_counted(tmp_path):
    """The timer says so when the cycle before was not over."""
    bench = Bench(write_policy(tmp_path))
    bench.service.note_missed()
    assert bench.metric("mig_autoscaler_cycles_missed_total") == 1.0
    assert bench.events() == ["cycle missed"]


def test_a_replica_that_waits_for_the_lease_is_ready_and_healthy(tmp_path):
    """It knows who leads; without an answer of the API server it is neither."""
    policy = write_policy(tmp_path)
    leader = Bench(policy, Mode.RECOMMEND)
    leader.tick()
    other = Bench(policy, Mode.RECOMMEND, store=leader.store)
    other.name = "other"
    other.client.stop()
    other.tick()
    assert other.service.health.obstacle() == "the cluster has not been observed yet"
    other.client.resume()
    other.tick()
    assert other.service.health.obstacle() == ""
    assert other.service.board.read().status["holder"] == "me"
