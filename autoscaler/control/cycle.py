"""One cycle: observe, advance open rollouts, plan, gate, start rollouts, report.

Nothing sleeps or blocks in here, and nothing is carried over that matters: a wait is a
state that the next cycle looks at again. An incomplete observation ends the cycle,
because what is not seen is not known to be absent.
"""

from dataclasses import dataclass, replace

from autoscaler.control.acting import Acting
from autoscaler.control.history_json import with_effects, with_records
from autoscaler.control.leadership import Standing as Lead
from autoscaler.control.memory import CycleMemory
from autoscaler.control.outcome import CycleOutcome, Decision, View
from autoscaler.control.outside import observe_metrics
from autoscaler.control.past import Look, fingerprint_of
from autoscaler.control.past_json import past_from_text
from autoscaler.control.proposal import Sight, Survey, decide, survey
from autoscaler.control.reporting import Report
from autoscaler.control.service_time import ServiceTime, ended, stays_of
from autoscaler.control.setting import LEASES, Setting
from autoscaler.control.starting import persisted
from autoscaler.control.status import kept_in
from autoscaler.control.timers import failures_due_s, next_due_s
from autoscaler.domain.cluster.objects import Observation
from autoscaler.domain.demand.fingerprint import digest
from autoscaler.domain.errors import AutoscalerError
from autoscaler.domain.fleet.assessment import remember
from autoscaler.domain.plan.plan import NodeChange, Plan
from autoscaler.domain.policy.policy import Mode, policy_hash
from autoscaler.planning.gating.gate import Standing
from autoscaler.planning.gating.persistence import first_seen
from autoscaler.planning.planner import PlannerSettings


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a cycle decided, and the sentence for it."""

    decision: Decision
    message: str
    error: str = ""


def run_cycle(setting: Setting, memory: CycleMemory, now_s: float) -> CycleOutcome:
    """Run one cycle and return what it saw, decided and did.

    Parameters
    ----------
    memory
        Of the cycle before; ``memory.FRESH`` at first.
    now_s
        Epoch seconds.
    """
    return Cycle(setting, memory, now_s).run()


class Cycle:
    """One cycle under way."""

    def __init__(self, setting: Setting, memory: CycleMemory, now_s: float) -> None:
        self._setting = setting
        self._policy = setting.policy
        self._memory = memory
        self._started_s = self._now_s = now_s
        self._lead = Lead(is_leader=False, message="this mode takes no lease")

    def run(self) -> CycleOutcome:
        """Go through the phases as far as this cycle gets."""
        if self._setting.leadership is not None:
            self._lead = self._setting.leadership.ensure()
            if not self._lead.is_leader:
                return self._stand_by(self._lead.message)
            if self._lead.is_new:
                self._memory = self._memory.of_a_newcomer()
        try:
            observation = self._setting.outside.cluster.observe()
        except AutoscalerError as error:
            message = f"no plan: {error}"
            return self._end(Verdict(Decision.INCOMPLETE, message, str(error)))
        return self._go_on(observation)

    def _stand_by(self, message: str) -> CycleOutcome:
        """End a cycle without the Lease."""
        self._memory = self._memory.of_a_newcomer()
        return self._end(Verdict(Decision.NOT_LEADER, message))

    def _go_on(self, observation: Observation) -> CycleOutcome:
        """Go through the phases after a complete observation."""
        leadership = self._setting.leadership
        if leadership is not None and not leadership.guard():
            # Reading took so long that somebody else leads: what was read first may be
            # of before that, and what was read last of after it.
            self._lead = Lead(is_leader=False, message="the lease was lost while observing")
            return self._stand_by(self._lead.message)
        # Taking the Lease takes time too; ages and timers count from the same moment.
        self._now_s = observation.observed_at_s
        own = self._setting.outside.namespace
        kept = kept_in(observation, own, self._memory.written)
        history = with_records(kept.history, self._memory.history)
        self._memory = replace(self._memory, history=history)
        self._recall(kept.past)
        acting = Acting(self._setting, kept, self._memory, self._now_s)
        view = self._look(acting.advance(observation), kept.paused)
        self._memory = replace(self._memory, history=acting.history)
        verdict = self._decide(view, acting)
        if verdict.decision is not Decision.PLANNED:
            acting.place(None, view)
        acting.keep_up(view)
        service_times = self._learn(view, acting)
        outcome = replace(
            self._end(verdict),
            view=view,
            plan=self._memory.plan,
            progress=tuple(acting.progress),
            journals=dict(sorted(acting.journals.items())),
            records=tuple(acting.records),
            service_times=service_times,
            errors=tuple(filter(None, (*acting.errors, verdict.error))),
            due_s=min(
                (self._memory.due_s, *(p.wait.until_s for p in acting.progress if p.wait))
            ),
        )
        if self._policy.mode not in LEASES:
            return outcome
        return Report(self._setting.outside, self._policy, kept).write(outcome)

    def _recall(self, kept: str) -> None:
        """Take in what an earlier cycle, perhaps of another replica, found in the past."""
        if kept != self._memory.past_read:
            past = self._memory.past.newer_of(past_from_text(kept))
            self._memory = replace(self._memory, past=past, past_read=kept)

    def _look(self, observation: Observation, paused: str | None) -> View:
        """Observe metrics and put everything together; a gap only narrows the view."""
        metrics, gap = observe_metrics(self._setting.outside)
        sight = Sight(observation, metrics, self._memory.nodes)
        seen = survey(sight, self._policy, self._now_s)
        return View(observation, seen.snapshot, seen.demand, metrics, gap, paused)

    def _decide(self, view: View, acting: Acting) -> Verdict:
        """Plan, unless nothing is new, and start what may start."""
        if self._policy.mode is Mode.OFF:
            return Verdict(Decision.OBSERVED, "observed; mode off plans nothing")
        paused = "" if view.paused is None else f"paused {view.paused}"
        # A rollout may begin and be undone between two looks that are alike, but the
        # node rests after it: that it has ended is news.
        ended = (record.rollout for record in self._memory.history)
        inputs = (policy_hash(self._policy), paused, *ended)
        values = self._memory.past.values(self._policy, self._now_s)
        inputs = (*inputs, fingerprint_of(values))
        fingerprint = digest(view.snapshot, view.demand, *inputs)
        if fingerprint == self._memory.digest and self._now_s < self._memory.due_s:
            return Verdict(Decision.UNCHANGED, "nothing is new")
        history, guard = self._memory.history, self._setting.outside.guard
        settings = PlannerSettings(values, history, guard=guard, settle=self._setting.settle)
        try:
            gated = decide(
                Survey(view.snapshot, view.demand, acting.journals),
                self._policy,
                self._now_s,
                settings=settings,
                standing=Standing(history=history, paused=view.paused),
            )
        except AutoscalerError as error:
            return Verdict(Decision.PLAN_FAILED, f"no plan: {error}", str(error))
        self._memorize(view, gated, fingerprint)
        ready = self._ready(gated)
        acting.start(gated, ready, view)
        acting.end_waits(gated, view)
        is_unfinished = acting.place(gated, view)
        if is_unfinished or any(change.node not in acting.journals for change in ready):
            # What failed for reasons of the moment is decided on again.
            self._memory = replace(self._memory, digest="")
        return Verdict(Decision.PLANNED, summary(gated))

    def _memorize(self, view: View, plan: Plan, fingerprint: str) -> None:
        """Remember a plan, since when its proposals are there, and when to look again."""
        proposals = first_seen(plan, self._memory.proposals, self._now_s)
        due_s = next_due_s(
            view, self._policy, plan=plan, proposals=proposals, history=self._memory.history
        )
        self._memory = replace(
            self._memory, digest=fingerprint, due_s=due_s, plan=plan, proposals=proposals
        )

    def _ready(self, plan: Plan) -> tuple[NodeChange, ...]:
        """Return the changes that may start now."""
        if not self._setting.is_patient:
            return tuple(change for change in plan.changes if not change.blocked_by)
        return persisted(plan, self._memory.proposals, self._policy, self._now_s)

    def _learn(self, view: View, acting: Acting) -> tuple[ServiceTime, ...]:
        """Remember what the next cycle needs; return the service times seen to end."""
        self._look_back(view)
        waiting = frozenset(str(pod) for g in view.demand.groups for pod in g.pods)
        stays = stays_of(view.snapshot.nodes)
        service_times = ended(self._memory.stays, stays, self._now_s)
        nodes = remember(view.snapshot, self._memory.nodes)
        words = {p.name: p.error for p in acting.progress if p.error}
        refusals = {
            name: said
            for name, said in {**self._memory.refusals, **words}.items()
            if name in acting.journals
        }
        due_s = min((self._memory.due_s, *failures_due_s(nodes)))
        self._memory = replace(
            self._memory,
            nodes=nodes,
            due_s=max(due_s, self._now_s),
            journals=dict(acting.journals),
            refusals=refusals,
            history=with_effects(acting.history, waiting, self._now_s),
            stays=stays,
        )
        return service_times

    def _look_back(self, view: View) -> None:
        """Look at the past of a pool, when it is time; the next cycle plans with it."""
        source = self._setting.outside.history
        if source is not None and self._policy.mode is not Mode.OFF:
            look = Look(source, self._policy, view.snapshot, self._now_s)
            self._memory = replace(self._memory, past=look.refreshed(self._memory.past))

    def _end(self, verdict: Verdict) -> CycleOutcome:
        """Return the outcome of a cycle that ends here."""
        return CycleOutcome(
            decision=verdict.decision,
            message=verdict.message,
            started_s=self._started_s,
            ended_s=self._setting.outside.clock.now_s(),
            standing=self._lead,
            memory=self._memory,
            errors=(verdict.error,) if verdict.error else (),
        )


def summary(plan: Plan) -> str:
    """Say in one sentence what a plan proposes."""
    if not plan.changes:
        return "the present layout is the best there is for this demand"
    free = sum(1 for change in plan.changes if not change.blocked_by)
    serves = sum(len(change.serves) for change in plan.changes)
    return (
        f"{len(plan.changes)} nodes to change for {serves} waiting pods,"
        f" {free} of them may start now"
    )
