"""Anything in any order: a state machine over a small cluster, under audit at each step."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from autoscaler.domain.errors import AutoscalerError
from autoscaler.domain.policy.policy import Mode
from autoscaler.ports import CONFIG_MAPS, DISRUPTION_BUDGETS, NODES, PODS
from autoscaler.simulation.apiserver.faults import Break, Fault, Point, Rule
from autoscaler.simulation.controllers.operands import EXPORTER
from autoscaler.simulation.fleet import node_body
from tests.chaos.stage import (
    BlindMetrics,
    Watch,
    create_budget,
    create_service,
    open_by_hand,
    refs_on,
    stage_of,
)
from tests.loops import NAMESPACE, STATUS, Killed, annotate, annotations, auto_policy
from tests.worlds import CONFIG, HALVES, ONE, SEVENS, THREE, TWO, set_labels, task

NODE_NAMES = ("n1", "n2", "n3")
REPLICAS = ("replica-1", "replica-2")
MANAGER_SWITCH = "nvidia.com/gpu.deploy.mig-manager"
CALLS = ("nodes", "pods", "configmaps", "leases", "events", "poddisruptionbudgets")
BREAKS = (
    Fault(code=500),
    Fault(code=503, retry_after_s=5),
    Fault(code=429, retry_after_s=1),
    Fault(code=403, reason="Forbidden"),
    Fault(code=409, reason="Conflict"),
    Fault(broken=Break.DROP),
)
DAYS = 30_000.0


def policy_with(**changes):
    """Return a policy under which much happens soon."""
    base = {
        "budgets": {"nodes": 1, "perHour": 60},
        "cooldown": "5m",
        "eviction": {"enabled": True, "jobs": True},
    }
    disruption = {**base, **changes.pop("disruption", {})}
    rollout = {"warmUp": "1s", "backoff": "3m"}
    return auto_policy(disruption=disruption, rollout=rollout, **changes)


POLICIES = {
    "plain": policy_with(),
    "closed": policy_with(disruption={"windows": ()}),
    "gentle": policy_with(disruption={"eviction": {"enabled": False}}),
    "narrow": policy_with(pools=({"name": "pool", "profiles": ("3g.20gb", "7g.40gb")},)),
    "away": policy_with(pools=({"name": "away", "nodeSelector": {"x": "y"}},)),
    "dry-run": policy_with(mode=Mode.DRY_RUN),
    "off": policy_with(mode=Mode.OFF),
}


names = st.sampled_from(NODE_NAMES)
replicas = st.sampled_from(REPLICAS)


class Machine(RuleBasedStateMachine):
    """Three nodes of two GPUs, two replicas, and everybody's mistakes."""

    def __init__(self):
        super().__init__()
        self.stage = stage_of(
            HALVES, SEVENS, nodes=NODE_NAMES, policy=POLICIES["plain"], jobs=0
        )
        self.world = self.stage.world
        self.client = self.world.platform.client
        self.metrics = BlindMetrics(self.world)
        self.clocks = {}
        self.names = {}
        self.breaks = []
        self.number = 0
        create_service(self.world, "web", 2, THREE)
        for name in REPLICAS:
            self.start(name)

    def start(self, name):
        """Start a new process of a replica."""
        self.number += 1
        agent = f"{name}/{self.number}"
        self.names[name] = agent
        self.clocks[name] = Watch(self.world.clock)
        self.stage.join(agent, agent, self.metrics, self.clocks[name])

    def process(self, name):
        """Return the process of a replica that runs now."""
        return self.stage.replicas[self.names[name]]

    @rule(seconds=st.sampled_from([5, 10, 31, 60, 95, 120, 240, 700]))
    def wait(self, seconds):
        """Let time pass."""
        self.stage.run(seconds)

    @rule(
        profile=st.sampled_from([ONE, ONE, TWO, THREE]),
        number=st.integers(1, 14),
        run_s=st.sampled_from([60.0, 600.0, 5000.0]),
        as_job=st.booleans(),
    )
    def arrive(self, profile, number, run_s, as_job):
        """Have work arrive."""
        self.number += 1
        self.world.submit(
            task(f"t{self.number}-{i}", {profile: 1}, run_s=run_s, as_job=as_job, arrival_s=0.0)
            for i in range(number)
        )
        self.stage.run(1)

    @rule(data=st.data())
    def cancel(self, data):
        """Have someone delete pods."""
        found = [p["metadata"]["name"] for p in self.client.list(PODS, "jobs").items]
        for name in found[:: data.draw(st.integers(1, 4))]:
            self.client.delete(PODS, "jobs", name)
        self.stage.run(1)

    @rule(name=replicas, write=st.integers(0, 6), late=st.booleans())
    def kill(self, name, write, late):
        """Have a replica die at one of its next writes."""
        point = Point.AFTER_APPLY if late else Point.BEFORE_APPLY
        self.stage.kill_at(write, point, self.names[name])

    @rule(name=replicas)
    def restart(self, name):
        """End a replica as a rolling update does, and start another."""
        process = self.process(name)
        if process.is_alive:
            process.is_alive = False
            # It may be to die at this very write.
            with suppress(Killed):
                process.loop.close()
        self.start(name)

    @rule(name=replicas, request=st.integers(0, 25), seconds=st.sampled_from([70.0, 300.0]))
    def freeze(self, name, request, seconds):
        """Have a replica stand still after one of its next requests."""
        agent = self.names[name]

        def stand_still(_):
            self.world.clock.sleep(seconds)

        def is_own(asked):
            return asked.user_agent == agent

        point, fault = Point.AFTER_APPLY, Fault(call=stand_still)
        self.world.store.faults.add(Rule(point, fault, is_own, skip=request))

    @rule(name=replicas, skew_s=st.sampled_from([-3600.0, -60.0, 0.0, 60.0, 3600.0]))
    def set_clock(self, name, skew_s):
        """Set the clock of a replica."""
        self.stage.audit.rules.is_punctual = False
        self.clocks[name].skew_s = skew_s

    @rule(
        kind=st.sampled_from(CALLS),
        fault=st.sampled_from(BREAKS),
        number=st.integers(1, 12),
        writes=st.booleans(),
        late=st.booleans(),
    )
    def break_calls(self, kind, fault, number, writes, late):
        """Have some requests of the product fail, or their answers be lost."""
        agents = self.stage.audit.actors

        def is_hit(asked):
            ours = asked.user_agent in agents and asked.kind.plural == kind
            return ours and (asked.is_mutating or not writes)

        is_lost = late and (fault.code in {500, 503} or fault.broken is not None)
        point = Point.AFTER_APPLY if is_lost else Point.BEFORE_APPLY
        added = Rule(point, fault, is_hit, times=number)
        self.breaks.append(self.world.store.faults.add(added))

    @rule(name=names, closed=st.booleans())
    def cordon(self, name, closed):
        """Have a person cordon or uncordon a node."""
        self.stage.cordon(name, closed=closed)

    @rule(name=names)
    def replace_node(self, name):
        """Have a node go and come back as another of the same name."""
        body = node_body(self.world.fleet.groups[0], name, "10.0.9.9")
        self.client.delete(NODES, None, name)
        self.stage.run(5)
        self.client.create(NODES, None, body)
        self.stage.audit.forget(name)
        self.stage.run(20)

    @rule(name=names, config=st.sampled_from(["all-2g.10gb", "all-1g.5gb", None]))
    def relabel(self, name, config):
        """Have somebody else set the configuration of a node."""
        set_labels(self.world, {CONFIG: config}, name)
        self.stage.audit.rules.relabelled.add(name)

    @rule(name=names, mark=st.sampled_from(["hold", "ignore", "reserved"]), on=st.booleans())
    def mark(self, name, mark, on):
        """Have a person set or remove a mark on a node."""
        annotate(self.world, name, **{mark: "true" if on else None})

    @rule(name=names)
    def abort(self, name):
        """Have a person ask for the end of a rollout."""
        annotate(self.world, name, abort="true")

    @rule(name=names)
    def clear_quarantine(self, name):
        """Have a person end a quarantine."""
        if "mig-autoscaler.io/quarantine" in annotations(self.world, name):
            annotate(self.world, name, quarantine="clear")

    @rule(on=st.booleans())
    def pause(self, on):
        """Have a person pause or resume the product."""
        value = "by ops" if on else None
        body = {"metadata": {"annotations": {"mig-autoscaler.io/pause": value}}}
        try:
            self.client.patch(CONFIG_MAPS, NAMESPACE, STATUS, body)
        except AutoscalerError:
            # There is no status yet.
            return

    @rule(name=st.sampled_from(sorted(POLICIES)))
    def edit_policy(self, name):
        """Put another policy in force."""
        self.stage.edit(POLICIES[name])

    @rule(on=st.booleans())
    def lose_metrics(self, on):
        """Have Prometheus go away or come back."""
        self.metrics.is_away = on

    @rule(name=names, on=st.booleans())
    def wedge(self, name, on):
        """Have a client of the GPUs not end when MIG manager wants it to."""
        stuck = self.world.faults.stuck_operands
        stuck.add((name, EXPORTER)) if on else stuck.discard((name, EXPORTER))

    @rule(name=names, gpu=st.integers(0, 1), on=st.booleans())
    def refuse(self, name, gpu, on):
        """Have a GPU refuse new instances: the change fails and leaves it empty."""
        self.world.hardware.gpus(name)[gpu].refuses_creation = on

    @rule(name=names, on=st.booleans())
    def lose_kubelet(self, name, on):
        """Have a node's kubelet not answer."""
        lost = self.world.faults.not_ready
        lost.add(name) if on else lost.discard(name)

    @rule(name=names, on=st.booleans())
    def lose_plugin(self, name, on):
        """Have a node's device plugin not start."""
        lost = self.world.faults.no_plugin
        lost.add(name) if on else lost.discard(name)

    @rule(name=names, on=st.booleans())
    def lose_manager(self, name, on):
        """Have a node lose its MIG manager."""
        set_labels(self.world, {MANAGER_SWITCH: "false" if on else "true"}, name)

    @rule(name=names, on=st.booleans())
    def freeze_mount(self, name, on):
        """Have a node not see new configurations."""
        frozen = self.world.faults.frozen_mounts
        frozen.add(name) if on else frozen.discard(name)

    @rule(allowed=st.sampled_from([0, 1, None]))
    def set_budget(self, allowed):
        """Tighten or remove the disruption budget of the service."""
        items = self.client.list(DISRUPTION_BUDGETS, "jobs").items
        for item in items:
            self.client.delete(DISRUPTION_BUDGETS, "jobs", item["metadata"]["name"])
        if allowed is not None:
            create_budget(self.world, "web", "web", maxUnavailable=allowed)
        self.stage.run(1)

    @rule(name=names)
    def evict_for_room(self, name):
        """Have a person's plan with evictions begun, where the gate lets it."""
        if self.stage.policy.mode is not Mode.AUTO:
            return
        try:
            open_by_hand(self.stage, name, evict=refs_on(self.world, name))
        except (AssertionError, ValueError, AutoscalerError):
            # The gate forbids it, or another holds the Lease.
            return

    @invariant()
    def nothing_forbidden_was_done(self):
        """Fail at the first write that should not have been."""
        self.stage.audit.check()

    def teardown(self):
        """Let everybody come to their senses; then everything must come to rest."""
        self.repair()
        self.stage.run(600)
        # Nothing more is begun, and what has no label yet is given up.
        self.edit_policy("closed")
        self.stage.run(300)
        self.stage.rest(DAYS, pace_s=120.0)
        self.stage.audit.check_end()

    def repair(self):
        """End all faults, and have two new replicas run."""
        for broken in self.breaks:
            broken.times = broken.struck
        self.pause(on=False)
        self.lose_metrics(on=False)
        self.edit_policy("plain")
        for name in NODE_NAMES:
            for fault in (self.wedge, self.lose_kubelet, self.lose_plugin, self.freeze_mount):
                fault(name, on=False)
            self.lose_manager(name, on=False)
            for gpu in range(2):
                self.refuse(name, gpu, on=False)
        for name in REPLICAS:
            # What was to befall a process ends with it.
            self.restart(name)


Machine.TestCase.settings = settings(
    max_examples=30,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    # A failure is told as it was found: looking for a shorter one takes minutes.
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
TestMachine = pytest.mark.timeout(300)(Machine.TestCase)
