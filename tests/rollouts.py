"""Rollouts for tests: one node of two GPUs whose first GPU is to be cut anew."""

from dataclasses import dataclass, field, replace

from autoscaler.domain.cluster.objects import Node, Pod, PodDisruptionBudget, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.journal.rollout import Journal, Layout, State
from autoscaler.domain.mig.configuration import node_configuration
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.plan.plan import GpuChange, NodeChange
from autoscaler.domain.policy.policy import EvictionRules, MigManager, RolloutRules
from autoscaler.domain.reasons import Block
from autoscaler.domain.rollout.situation import OUR_MARKS
from autoscaler.domain.rollout.steps import (
    Evict,
    EvictManagerPod,
    Finish,
    HolderProof,
    PatchNode,
    Rules,
    Seen,
    Step,
    Wait,
    WriteConfiguration,
)
from autoscaler.domain.rollout.transition import next_step
from tests.builders import NOW_S, model, node

BEFORE = (Counts({"1g.5gb": 7}), Counts({"1g.5gb": 7}))
AFTER = (Counts({"3g.20gb": 2}), Counts({"1g.5gb": 7}))
TARGET_NAME = node_configuration(model(), AFTER)[0]
BEFORE_NAME = "all-1g.5gb"
UNPROVEN = HolderProof(gap="no fresh samples")
MANAGER = PodRef("gpu-operator", "nvidia-mig-manager-x1", "uid-manager")


def rules(epoch: int = 1, holder: str = "me", **eviction: bool) -> Rules:
    """Return the default rules, as the holder of a Lease."""
    allowed = EvictionRules(**eviction)
    return Rules(RolloutRules(), MigManager(), allowed, holder=holder, epoch=epoch)


def before(config_name: str | None = BEFORE_NAME) -> Layout:
    """Return what the node was cut into."""
    return Layout(config_name, BEFORE, supply_of(BEFORE))


def target() -> Layout:
    """Return what the node is to be cut into."""
    return Layout(TARGET_NAME, AFTER, supply_of(AFTER))


def change(**changes: object) -> NodeChange:
    """Return the planned change of the node."""
    own = NodeChange(
        node="node-a",
        uid="uid-node-a",
        pool="pool",
        observed="",
        config_name=TARGET_NAME,
        gpus=(GpuChange(0, BEFORE[0], AFTER[0]),),
        layout=AFTER,
        resources=supply_of(AFTER),
    )
    return replace(own, **changes)


def journal(state: State = State.CLOSED, **changes: object) -> Journal:
    """Return a journal that entered its state just now."""
    own = Journal(
        id="node-a-1",
        plan="plan-1",
        holder="me",
        epoch=1,
        state=state,
        state_since_s=NOW_S,
        deadline_s=NOW_S + 1800.0,
        before=before(),
        target=target(),
        node_uid="uid-node-a",
        gpus=(0,),
        rollback_name=BEFORE_NAME,
        started_at_s=NOW_S,
        marks=dict.fromkeys(OUR_MARKS),
    )
    if state is not State.CLOSED:
        own = replace(own, cordoned_at_s=NOW_S, config_written_at_s=NOW_S - 600.0)
    return replace(own, **changes)


def closed_node(layout: object = BEFORE, **changes: object) -> Node:
    """Return the node as the first patch left it, advertising a layout."""
    labels = {"nvidia.com/mig.config": BEFORE_NAME, **dict(changes.pop("labels", {}))}
    own = node(
        layout=[None if c is None else dict(c) for c in layout],
        labels=labels,
        unschedulable=True,
        annotations={**OUR_MARKS, **dict(changes.pop("annotations", {}))},
    )
    return replace(own, **changes)


def labelled_node(layout: object = BEFORE, state: str | None = None, **changes: object) -> Node:
    """Return the node after the label patch, with an answer of MIG manager or none."""
    own = closed_node(layout, **changes)
    labels = {"nvidia.com/mig.config": TARGET_NAME, **dict(changes.get("labels", {}))}
    labels = {**own.labels, **labels}
    labels.pop("nvidia.com/mig.config.state")
    if state is not None:
        labels["nvidia.com/mig.config.state"] = state
    return replace(own, labels=labels)


def seen(own: Node | None, **changes: object) -> Seen:
    """Return a fresh look at an otherwise quiet node."""
    fresh = Seen(
        node=own,
        read_at_s=NOW_S,
        configurations={TARGET_NAME: NOW_S - 600.0, BEFORE_NAME: NOW_S - 6000.0},
        proof=UNPROVEN,
        has_metrics=True,
        manager_pod=MANAGER,
    )
    return replace(fresh, **changes)


def step_at(own: Journal, look: Seen, after_s: float = 0.0, by: Rules | None = None) -> Step:
    """Return the next step some time after the journal's state began."""
    now_s = NOW_S + after_s
    return next_step(own, replace(look, read_at_s=now_s), by or rules(), now_s)


@dataclass
class Bench:
    """One node of a cluster on which steps are carried out, and who acts on it.

    The MIG manager here is the simplest there is: ``manager`` says what it makes of a
    label, and what kubelet then offers.
    """

    node: Node
    journal: Journal | None
    now_s: float = NOW_S
    pods: tuple[Pod, ...] = ()
    budgets: tuple[PodDisruptionBudget, ...] = ()
    configurations: dict[str, float | None] = field(default_factory=dict)
    manager_pod: PodRef | None = MANAGER
    steps: list[Step] = field(default_factory=list)
    finish: Finish | None = None
    proof: HolderProof = UNPROVEN
    paused: bool = False
    verdict: Block | None = None

    def look(self) -> Seen:
        """Read everything afresh."""
        return Seen(
            node=self.node,
            read_at_s=self.now_s,
            pods=self.pods,
            budgets=self.budgets,
            configurations=dict(self.configurations),
            proof=self.proof,
            paused=self.paused,
            verdict=self.verdict,
            has_metrics=True,
            manager_pod=self.manager_pod,
        )

    def take(self, by: Rules) -> Step:
        """Decide one step and carry it out."""
        assert self.journal is not None
        step = next_step(self.journal, self.look(), by, self.now_s)
        self.steps.append(step)
        match step:
            case PatchNode():
                self.patch(step)
            case WriteConfiguration():
                for layout in step.layouts:
                    self.configurations[layout.config_name or ""] = self.now_s
            case Evict():
                self.pods = tuple(p for p in self.pods if p.ref not in step.pods)
            case EvictManagerPod():
                self.manager_pod = replace(step.pod, uid=step.pod.uid + "-next")
            case Finish():
                self.finish, self.journal = step, None
        return step

    def patch(self, step: PatchNode) -> None:
        """Write one patch, all or nothing."""
        annotations = merged(self.node.annotations, step.annotations)
        self.node = replace(
            self.node,
            labels=merged(self.node.labels, step.labels),
            annotations=annotations,
            unschedulable=(
                self.node.unschedulable if step.unschedulable is None else step.unschedulable
            ),
        )
        self.journal = step.journal
        self.finish = step.finish

    def cycle(self, by: Rules, limit: int = 20) -> None:
        """Take steps until a wait, as one cycle of the loop does."""
        for _ in range(limit):
            if self.journal is None:
                return
            if isinstance(self.take(by), Wait | Evict | EvictManagerPod):
                return
        raise AssertionError(f"no wait within {limit} steps: {self.steps[-3:]}")


def merged(old: object, new: object) -> dict[str, str]:
    """Return keys after a merge patch."""
    together = {**dict(old), **dict(new)}
    return {key: value for key, value in together.items() if value is not None}
