"""Everything a cycle does to nodes, and what came of it.

In the modes that change nothing it only reads the journals it finds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from autoscaler.control.briefing import Briefing, open_journals
from autoscaler.control.history_json import with_records
from autoscaler.control.leadership import Leadership
from autoscaler.control.memory import CycleMemory
from autoscaler.control.outcome import View
from autoscaler.control.placeholders import Placeholders
from autoscaler.control.rollouts import Progress, Rollouts, node_patch, record_of
from autoscaler.control.setting import Setting
from autoscaler.control.starting import Basis, Starter
from autoscaler.control.status import Kept
from autoscaler.domain.cluster.marks import ROLLOUT
from autoscaler.domain.cluster.objects import Observation
from autoscaler.domain.cluster.placeholder import placeholder_of
from autoscaler.domain.demand.requests import demand_of
from autoscaler.domain.errors import AutoscalerError, Conflict
from autoscaler.domain.fleet.assessment import assess
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.plan.plan import NodeChange, Plan
from autoscaler.domain.policy.policy import Mode
from autoscaler.domain.reasons import Block, Reason
from autoscaler.domain.rollout.aftermath import infer_end
from autoscaler.domain.rollout.revalidation import verdict
from autoscaler.domain.rollout.upkeep import upkeep_of
from autoscaler.planning.gating.gate import Standing


@dataclass
class Acting:
    """The acts of one cycle; grows while the cycle goes on.

    Parameters
    ----------
    journals
        Rollouts that are open, by node.
    progress
        What became of each rollout.
    records
        Rollouts that ended.
    """

    setting: Setting
    kept: Kept
    memory: CycleMemory
    now_s: float
    journals: dict[str, Journal] = field(default_factory=dict)
    progress: list[Progress] = field(default_factory=list)
    records: list[RolloutRecord] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def leadership(self) -> Leadership | None:
        """The Lease under which nodes may be changed; ``None`` in other modes."""
        return self.setting.leadership if self.setting.policy.mode is Mode.AUTO else None

    @property
    def history(self) -> tuple[RolloutRecord, ...]:
        """All rollouts that are over, those of this cycle included."""
        known = self.memory.history
        return with_records(known, self.records) if self.records else known

    def advance(self, observation: Observation) -> Observation:
        """Move every open rollout by what is possible now; return the nodes after it."""
        self.journals = open_journals(observation.nodes)
        leadership = self.leadership
        if leadership is None or not self._outrank(leadership):
            return observation
        self._record_unseen_ends(observation)
        briefing = Briefing(
            observation=observation,
            policy=self.setting.policy,
            paused=self.kept.paused is not None,
            verdicts=self._verdicts(observation),
            memory=self.memory.nodes,
            plans_follow=not self.setting.by_hand,
        )
        rollouts = Rollouts(self.setting.outside, leadership, briefing)
        for name, journal in sorted(self.journals.items()):
            self._note(rollouts.advance(name, journal))
        return self._refreshed(observation)

    def end_waits(self, plan: Plan, view: View) -> None:
        """Open the nodes again that have waited for their pods and are not needed now."""
        leadership = self.leadership
        if leadership is None:
            return
        wanted = {change.node for change in plan.changes if not change.blocked_by}
        block = Block(Reason.NOT_WORTH_IT, "its pods have ended, and now it may stay as it is")
        vacant = {n.name for n in view.snapshot.nodes if n.journal is None} - wanted
        ended = {n: j for n, j in self.journals.items() if j.is_waiting and n in vacant}
        briefing = self._briefing_of(view, dict.fromkeys(ended, block))
        rollouts = Rollouts(self.setting.outside, leadership, briefing)
        for name, journal in sorted(ended.items()):
            self._note(rollouts.advance(name, journal))

    def start(self, plan: Plan, changes: Iterable[NodeChange], view: View) -> None:
        """Start rollouts, and take their first steps."""
        leadership, wanted = self.leadership, tuple(changes)
        if leadership is None or not wanted:
            return
        standing = Standing(self.history, view.paused, self.setting.by_hand)
        basis = Basis(self.setting.policy, standing, view.metrics, self.memory.nodes)
        try:
            opened = Starter(self.setting.outside, leadership, basis).start(plan, wanted)
        except AutoscalerError as error:
            self.errors.append(f"nothing started: {error}")
            return
        rollouts = Rollouts(self.setting.outside, leadership, self._briefing_of(view, {}))
        for first in opened:
            self._note(first)
            if first.journal is not None:
                self._note(rollouts.advance(first.name, first.journal))

    def place(self, plan: Plan | None, view: View) -> bool:
        """Make and remove placeholders; without a plan only those that are over go.

        Returns
        -------
        bool
            Whether it is to be tried again.
        """
        leadership = self.leadership
        if leadership is None:
            return False
        ours = Placeholders(
            self.setting.outside,
            leadership,
            self.setting.policy,
            tuple(map(placeholder_of, view.observation.placeholders)),
            self.errors,
        )
        ours.tidy(self.journals)
        if plan is not None:
            ours.follow(plan, view.snapshot, self.journals)
        return ours.is_unfinished

    def keep_up(self, view: View) -> None:
        """Clean up marks on nodes without a rollout."""
        leadership = self.leadership
        if leadership is None:
            return
        last = {record.node: record for record in self.history}
        for node in view.snapshot.nodes:
            upkeep = upkeep_of(
                node,
                last.get(node.name),
                first_backoff_s=self.setting.policy.rollout.backoff_s,
                now_s=self.now_s,
            )
            if upkeep is None or node.name in self.journals or not leadership.guard():
                continue
            patch = node_patch(upkeep.patch, upkeep.node)
            patch = replace(
                patch, annotations={k: v for k, v in patch.annotations.items() if k != ROLLOUT}
            )
            try:
                written = self.setting.outside.cluster.patch_node(node.name, patch)
            except AutoscalerError as error:
                self._complain(node.name, error)
                continue
            self.progress.append(Progress(node.name, node=written).noting(upkeep.patch.notice))

    def _briefing_of(self, view: View, verdicts: Mapping[str, Block]) -> Briefing:
        paused = view.paused is not None
        return Briefing(
            view.observation, self.setting.policy, paused, verdicts, self.memory.nodes
        )

    def _outrank(self, leadership: Leadership) -> bool:
        """Make our epoch higher than that of any journal that is not ours."""
        mine = (self.setting.outside.identity, leadership.epoch)
        others = [j.epoch for j in self.journals.values() if (j.holder, j.epoch) != mine]
        return leadership.raise_above(max(others, default=0))

    def _record_unseen_ends(self, observation: Observation) -> None:
        """Record rollouts whose journal went away while nobody looked."""
        nodes = {node.name: node for node in observation.nodes}
        known = {record.rollout for record in self.memory.history}
        for name, journal in {**self.kept.journals, **self.memory.journals}.items():
            here = self.journals.get(name)
            if journal.id in known or (here is not None and here.id == journal.id):
                continue
            finish = infer_end(journal, nodes.get(name))
            self.records.append(record_of(name, journal, finish, self.now_s))

    def _verdicts(self, observation: Observation) -> Mapping[str, Block]:
        """Ask again, for rollouts before their label, whether they should go on."""
        early = {n: j for n, j in self.journals.items() if j.state.is_before_label}
        if not early:
            return {}
        policy, known = self.setting.policy, self.memory.nodes
        # The window may have closed while the observation was under way.
        now_s = self.setting.outside.clock.now_s()
        snapshot = assess(observation, policy, None, now_s, known)
        demand = demand_of(snapshot, observation, policy, None, now_s)
        found: dict[str, Block] = {}
        for name, journal in early.items():
            block = self._refused(name) or verdict(
                journal, snapshot.node(name), demand=demand, policy=policy, now_s=now_s
            )
            if block is not None:
                found[name] = block
        return found

    def _refused(self, name: str) -> Block | None:
        """Return the end of a rollout whose write the API server refuses for good."""
        words = self.memory.refusals.get(name)
        return None if words is None else Block(Reason.REFUSED, words)

    def _note(self, progress: Progress) -> None:
        """Take in how far a rollout came."""
        self.progress.append(progress)
        if progress.error:
            self.errors.append(f"{progress.name}: {progress.error}")
        if progress.record is not None:
            self.records.append(progress.record)
        if progress.journal is not None:
            self.journals[progress.name] = progress.journal
        elif progress.record is not None:
            self.journals.pop(progress.name, None)

    def _refreshed(self, observation: Observation) -> Observation:
        """Return the observation with nodes as last read or written."""
        fresh = {p.name: p.node for p in self.progress if p.node is not None}
        gone = {p.name for p in self.progress if p.node is None and p.record is not None}
        nodes = (fresh.get(n.name, n) for n in observation.nodes if n.name not in gone)
        return replace(observation, nodes=tuple(nodes))

    def _complain(self, name: str, error: AutoscalerError) -> None:
        """Note a failure; somebody else's write at the same moment is none."""
        if not isinstance(error, Conflict):
            self.errors.append(f"{name}: {error}")
