"""One fresh look at a node for its rollout: the reads that its state needs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from autoscaler.control.briefing import Briefing
from autoscaler.control.driver_agent import uses_agent
from autoscaler.control.driver_mig_manager import MigManagerDriver, names_for
from autoscaler.control.outside import Outside
from autoscaler.domain.cluster.objects import Node, Pod, PodRef
from autoscaler.domain.errors import AutoscalerError, NotFound
from autoscaler.domain.fleet.assessment import assess
from autoscaler.domain.fleet.evictions import uses_gpu
from autoscaler.domain.journal.rollout import Journal, State
from autoscaler.domain.rollout.holding import holders_proof, proof_from_s
from autoscaler.domain.rollout.steps import HolderProof, Seen

MANAGER_APP = "nvidia-mig-manager"


class Onlooker:
    """Looks at nodes with rollouts, for one cycle."""

    def __init__(self, outside: Outside, driver: MigManagerDriver, briefing: Briefing) -> None:
        self._outside = outside
        self._driver = driver
        self._briefing = briefing

    def look(self, name: str, journal: Journal, may_evict_from_s: float) -> Seen:
        """Read everything afresh; Unavailable or Refused when a read fails.

        Metrics are the exception: missing ones only narrow what may be done.
        """
        read_at_s = self._outside.clock.now_s()
        node = self.node(name)
        if node is None or node.uid != journal.node_uid:
            return Seen(node=node, read_at_s=read_at_s)
        pods = self._pods(name, journal)
        names, problem = self._configurations(journal)
        seen = Seen(
            node=node,
            read_at_s=read_at_s,
            pods=pods,
            budgets=self._briefing.observation.budgets,
            configurations=names,
            configuration_problem=problem,
            paused=self._briefing.paused,
            may_evict_from_s=may_evict_from_s,
            verdict=self._briefing.verdicts.get(name),
            has_metrics=self._outside.metrics is not None,
            plans_follow=self._briefing.plans_follow,
            manager_pod=manager_of(pods, self._briefing.policy.mig_manager.namespace),
        )
        return self._with_proof(seen, journal)

    def _configurations(self, journal: Journal) -> tuple[Mapping[str, float | None], str]:
        """Return the known configurations; the agent needs none."""
        return ({}, "") if uses_agent(journal) else names_for(self._driver.read(), journal)

    def node(self, name: str) -> Node | None:
        """Return the node as it is now, ``None`` when it does not exist."""
        try:
            return self._outside.cluster.read_node(name)
        except NotFound:
            return None

    def _pods(self, name: str, journal: Journal) -> tuple[Pod, ...]:
        """Return the pods where they matter: before the label, and for the repair."""
        if journal.state.is_before_label or journal.state is State.REPAIRING:
            return self._outside.cluster.pods_on(name)
        return ()

    def _with_proof(self, seen: Seen, journal: Journal) -> Seen:
        """Add where device holders sit, in the one state that needs it."""
        since_s = journal.cordoned_at_s
        if seen.node is None or journal.state is not State.DRAINING or since_s is None:
            return seen
        if uses_agent(journal):
            # Its inventory is on the node itself.
            return seen
        namespace = self._briefing.policy.mig_manager.namespace
        holders = tuple(p for p in seen.pods if uses_gpu(p, namespace))
        if not holders:
            return replace(seen, proof=HolderProof())
        if self._outside.metrics is None:
            return replace(seen, proof=HolderProof(gap="no Prometheus is configured"))
        try:
            view = self._outside.metrics.holders_since(seen.node.name, proof_from_s(since_s))
        except AutoscalerError as error:
            return replace(seen, proof=HolderProof(gap=str(error)), has_metrics=False)
        observation = replace(
            self._briefing.observation,
            nodes=(seen.node,),
            pods=seen.pods,
            observed_at_s=seen.read_at_s,
        )
        briefing = self._briefing
        snapshot = assess(observation, briefing.policy, view, seen.read_at_s, briefing.memory)
        fleet_node = snapshot.node(seen.node.name)
        if fleet_node is None:
            return replace(seen, proof=HolderProof(gap="the node is in no pool any more"))
        proof = holders_proof(fleet_node, holders, view=view, since_s=proof_from_s(since_s))
        return replace(seen, proof=proof)


def manager_of(pods: Iterable[Pod], namespace: str) -> PodRef | None:
    """Return MIG manager's pod among those of a node."""
    for pod in sorted(pods, key=lambda p: p.ref):
        named = pod.labels.get("app") == MANAGER_APP or pod.name.startswith(MANAGER_APP)
        if pod.namespace == namespace and named and not pod.is_finished:
            return pod.ref
    return None
