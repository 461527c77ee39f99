"""Applies a saved plan: exactly it, or a refusal that says what has changed since.

A person does in the foreground what the loop would do: same Lease, same gate, same
rollouts. Only persistence is left out, because the person has looked at the plan.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from autoscaler.control.acting import Acting
from autoscaler.control.history_json import with_records
from autoscaler.control.leadership import Standing as Lead
from autoscaler.control.memory import FRESH
from autoscaler.control.outcome import CycleOutcome, Decision, View
from autoscaler.control.outside import observe_metrics
from autoscaler.control.reporting import Report
from autoscaler.control.rollouts import Progress
from autoscaler.control.setting import Setting
from autoscaler.control.starting import changed_since, without_troubled_pools
from autoscaler.control.status import Kept, kept_in
from autoscaler.domain.demand.requests import demand_of
from autoscaler.domain.errors import AutoscalerError, Conflict
from autoscaler.domain.fleet.assessment import assess, remember
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.plan.plan import NodeChange, Plan
from autoscaler.domain.policy.policy import Mode, policy_hash
from autoscaler.domain.reasons import Reason
from autoscaler.planning.gating.gate import Standing, gate

# Between two looks while rollouts are under way.
PACE_S = 10.0
# Looks that may fail in a row: ten minutes.
PATIENCE = 60
# Blocks that end by themselves while the plan's other rollouts go on.
PASSING = frozenset({Reason.NODE_BUDGET, Reason.HOURLY_BUDGET})


@dataclass(frozen=True, slots=True)
class Applied:
    """How an apply ended.

    Parameters
    ----------
    refusals
        Why something was not started, one sentence each.
    records
        Rollouts that ended, in order.
    """

    refusals: tuple[str, ...] = ()
    records: tuple[RolloutRecord, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether every change was carried out and verified."""
        return not self.refusals and all(r.result is Result.DONE for r in self.records)


@dataclass
class Scene:
    """One look: what was seen, and the acts on it."""

    view: View
    kept: Kept
    acting: Acting
    plan: Plan


@dataclass
class Apply:
    """One saved plan under way.

    Parameters
    ----------
    setting
        With the Lease of mode ``auto``, whatever mode the policy has.
    tell
        Is told of each step, for the people who wait.
    """

    setting: Setting
    plan: Plan
    tell: Callable[[Progress], None] = lambda _: None
    records: list[RolloutRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._hash = policy_hash(self.setting.policy)
        self._lead = Lead(is_leader=False)
        self._memory = FRESH
        if self.setting.policy.mode is not Mode.OFF:
            # Whoever applies acts, also where the loop itself only recommends.
            acts = self.setting.policy.model_copy(update={"mode": Mode.AUTO})
            self.setting = replace(self.setting, policy=acts, by_hand=True)

    def run(self) -> Applied:
        """Check, start, and see all rollouts to their end."""
        refusal = self._lead_refusal()
        if refusal:
            return Applied((refusal,))
        try:
            scene = self._look()
            refusals = self._refusals(scene)
            return Applied(refusals) if refusals else self._carry_out(scene)
        except AutoscalerError as error:
            return Applied((str(error),), tuple(self.records))
        finally:
            if self.setting.leadership is not None:
                self.setting.leadership.release()

    def _lead_refusal(self) -> str:
        """Return why we may not act at all, empty when we may."""
        if self.setting.policy.mode is Mode.OFF:
            return "the policy's mode is off"
        if self.plan.policy_hash != self._hash:
            name = self.setting.policy.metadata.name
            return f"the plan was made for another policy than {name} is now"
        if self.setting.leadership is None:
            return "no lease is configured"
        self._lead = self.setting.leadership.ensure()
        holder = self._lead.holder or self._lead.message
        return "" if self._lead.is_leader else f"the lease is held by {holder}"

    def _look(self) -> Scene:
        """Observe, advance what is open, and gate the plan anew."""
        outside, policy = self.setting.outside, self.setting.policy
        now_s = outside.clock.now_s()
        observation = outside.cluster.observe()
        if self.setting.leadership is None or not self.setting.leadership.guard():
            raise Conflict("the lease was lost while observing; whoever holds it goes on")
        kept = kept_in(observation, outside.namespace)
        history = with_records(kept.history, self._memory.history)
        self._memory = replace(self._memory, history=history)
        acting = Acting(self.setting, kept, self._memory, now_s)
        observation = acting.advance(observation)
        metrics, gap = observe_metrics(outside)
        snapshot = assess(observation, policy, metrics, now_s, self._memory.nodes)
        demand = demand_of(snapshot, observation, policy, metrics, now_s)
        view = View(observation, snapshot, demand, metrics, gap, kept.paused)
        standing = Standing(acting.history, kept.paused, by_hand=True)
        gated = gate(self.plan, snapshot, policy, now_s, standing)
        return Scene(view, kept, acting, without_troubled_pools(gated, acting.journals))

    def _refusals(self, scene: Scene) -> tuple[str, ...]:
        """Return what is not as the plan saw it, and what forbids it for longer."""
        to_start = self._to_start(scene)
        changed = [
            changed_since(change, scene.view.snapshot.node(change.node)) for change in to_start
        ]
        if any(changed):
            return tuple(filter(None, changed))
        barred = tuple(blocks_text(change) for change in to_start if is_barred(change))
        if barred or self._open_ones(scene) or not all(c.blocked_by for c in to_start):
            return barred
        return tuple(blocks_text(change) for change in to_start)

    def _to_start(self, scene: Scene) -> tuple[NodeChange, ...]:
        """Return the changes without those an earlier, broken off apply has begun."""
        begun = {name for name, j in scene.acting.journals.items() if j.plan == self.plan.id}
        return tuple(change for change in scene.plan.changes if change.node not in begun)

    def _carry_out(self, scene: Scene) -> Applied:
        """Start change after change as budgets allow, until nothing is left or open."""
        waiting = {change.node: change for change in self._to_start(scene)}
        refusals: list[str] = []
        while True:
            refusals += self._drop(scene, waiting)
            free = [c for c in scene.plan.changes if c.node in waiting and not c.blocked_by]
            scene.acting.start(scene.plan, free, scene.view)
            scene.acting.place(None, scene.view)
            for change in free:
                refusals += self._started(scene, waiting.pop(change.node))
            self._report(scene)
            if not waiting and not self._open_ones(scene):
                return Applied(tuple(refusals), tuple(self.records))
            scene = self._look_again()

    def _look_again(self) -> Scene:
        """Look after a while; what fails is tried again, for rollouts are under way.

        Raises
        ------
        AutoscalerError
            When it failed too often in a row, or the Lease is lost.
        """
        for _ in range(PATIENCE):
            self.setting.outside.clock.sleep(PACE_S)
            if self.setting.leadership is None or not self.setting.leadership.guard():
                raise Conflict("the lease is lost; whoever holds it goes on")
            try:
                return self._look()
            except AutoscalerError:
                continue
        return self._look()

    def _drop(self, scene: Scene, waiting: dict[str, NodeChange]) -> list[str]:
        """Give up changes that may not start any more, and say why."""
        failed = [r for r in self.records if r.result is not Result.DONE]
        dropped: list[str] = []
        for change in scene.plan.changes:
            if change.node not in waiting:
                continue
            if failed:
                why = f"{change.node}: not started, because {failed[0].node} {failed[0].result}"
            elif is_barred(change):
                why = blocks_text(change)
            else:
                why = changed_since(change, scene.view.snapshot.node(change.node))
            if why:
                dropped.append(why)
                del waiting[change.node]
        return dropped

    def _started(self, scene: Scene, change: NodeChange) -> list[str]:
        """Return why a change that was free did not start, if it did not."""
        mine = [p for p in scene.acting.progress if p.name == change.node]
        if change.node in scene.acting.journals or any(p.record for p in mine):
            return []
        said = next((p.error for p in mine if p.error), "a second look forbade it")
        return [f"{change.node}: not started: {said}"]

    def _open_ones(self, scene: Scene) -> bool:
        """Say whether a rollout of this plan is still open."""
        return any(j.plan == self.plan.id for j in scene.acting.journals.values())

    def _report(self, scene: Scene) -> None:
        """Tell the people who wait, and keep status and history."""
        acting = scene.acting
        for progress in acting.progress:
            self.tell(progress)
        self.records += [r for r in acting.records if r.plan == self.plan.id]
        self._memory = replace(
            self._memory,
            history=acting.history,
            journals=dict(acting.journals),
            nodes=remember(scene.view.snapshot, self._memory.nodes),
        )
        outcome = CycleOutcome(
            decision=Decision.OBSERVED,
            message="applying a plan by hand",
            started_s=acting.now_s,
            ended_s=self.setting.outside.clock.now_s(),
            standing=self._lead,
            memory=self._memory,
            view=scene.view,
            plan=scene.plan,
            progress=tuple(acting.progress),
            journals=dict(sorted(acting.journals.items())),
            records=tuple(acting.records),
            errors=tuple(acting.errors),
        )
        report = Report(self.setting.outside, self.setting.policy, scene.kept)
        self._memory = report.write(outcome).memory


def is_barred(change: NodeChange) -> bool:
    """Say whether something blocks a change that does not pass by itself."""
    return any(block.reason not in PASSING for block in change.blocked_by)


def blocks_text(change: NodeChange) -> str:
    """Say what blocks a change."""
    return f"{change.node}: {'; '.join(messages(change))}"


def messages(change: NodeChange) -> Iterable[str]:
    """Return the sentences of a change's blocks."""
    return (f"{block.reason}: {block.message}" for block in change.blocked_by)
