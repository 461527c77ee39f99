"""The node agent: shows what the GPUs of its node are, and cuts them as a rollout asks.

Level-triggered: each turn looks afresh and does one thing at most. Nothing is remembered
that matters, so a crash at any point needs no path of its own.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from autoscaler.agent.answers import Answers
from autoscaler.agent.carrying import Carrier
from autoscaler.agent.sight import Sight, look, mismatch
from autoscaler.agent.turn import AgentPorts, AgentSettings, Turn
from autoscaler.domain.cluster.board import Board, BoardInstance
from autoscaler.domain.cluster.marks import AGENT
from autoscaler.domain.errors import ActuationError, Conflict
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.rollout.agent_report import Phase, Report, report_of, way_of

Bare = Mapping[tuple[str, BoardInstance], Board]


class NodeAgent:
    """The agent of one node."""

    def __init__(self, ports: AgentPorts, settings: AgentSettings) -> None:
        self._ports = ports
        self._settings = settings
        self._answers = Answers(ports, settings)
        self._carrier = Carrier(ports, settings, self._answers)
        self._started_s: float | None = None
        self._orphans: frozenset[tuple[str, BoardInstance]] = frozenset()

    def step(self) -> Turn:
        """Take one turn."""
        try:
            return self._act(self._look())
        except Conflict as error:
            return Turn(f"someone else wrote first: {error}", self._answers.now_s())
        except ActuationError as error:
            return self._answers.again(str(error))

    def _look(self) -> Sight:
        sight = look(self._settings.node, self._ports)
        if self._started_s is None and not sight.fault:
            self._started_s = self._answers.now_s()
            self._orphans = frozenset(_bare(sight))
        return sight

    def _act(self, sight: Sight) -> Turn:
        journal = sight.journal
        if sight.fault:
            return self._report_fault(sight, journal)
        if journal is None:
            return self._idle(sight)
        try:
            order = sight.order
        except ValueError as error:
            return self._answers.fail(sight, journal, way_of(journal), str(error))
        if order is None:
            return self._acknowledge(sight, journal)
        return self._carrier.carry_out(sight, journal, order)

    def _report_fault(self, sight: Sight, journal: Journal | None) -> Turn:
        """Stop acting on boards that the driver has given up, and say so where it matters."""
        if journal is not None:
            self._carrier.give_up(sight, journal, way_of(journal), sight.fault)
        return self._answers.again(sight.fault)

    def _idle(self, sight: Sight) -> Turn:
        """Show the GPUs as they are, and take away what a crash has left."""
        if AGENT in sight.node.annotations:
            return self._end(sight)
        now_s = self._answers.now_s()
        due_s = self._answers.written_s + self._settings.report_s
        old_s = (self._started_s or 0.0) + self._settings.orphan_s
        orphans = {key: board for key, board in _bare(sight).items() if key in self._orphans}
        waits = [old_s] if orphans else []
        if not sight.is_reported and now_s >= due_s:
            self._answers.write(sight, None, "inventory")
            return Turn("inventory", min(waits, default=inf))
        if orphans and now_s >= old_s:
            return self._remove(orphans)
        if not sight.is_reported:
            waits.append(due_s)
        return Turn("nothing to do", min(waits, default=inf))

    def _end(self, sight: Sight) -> Turn:
        """Take the last answer away, once the device plugin knows what there is."""
        last = report_of(sight.node)
        if last is None or last.is_settled:
            return self._answers.write(sight, None, "the rollout is over")
        is_under_way = last.phase is Phase.RESTARTING
        return self._carrier.finish(sight, last if is_under_way else replace(last, message=""))

    def _remove(self, orphans: Bare) -> Turn:
        """Destroy one orphan; one that is refused is left alone until the next start."""
        key = min(orphans, key=lambda key: (orphans[key].index, key[1].place))
        uuid, instance = key
        self._orphans = self._orphans - {key}
        self._ports.driver.destroy(uuid, instance)
        did = f"removed {instance.place} of GPU {orphans[key].index}, which nobody could use"
        return Turn(did, self._answers.now_s())

    def _acknowledge(self, sight: Sight, journal: Journal) -> Turn:
        """Show who holds what after the cordon, and whether the plan still fits."""
        problem = mismatch(sight, journal)
        if problem:
            return self._answers.fail(sight, journal, None, problem)
        report = sight.report_on(journal.id)
        if report is not None and report.phase is Phase.SEEN:
            return self._answers.keep(sight, report, "waiting for the order")
        now_s = self._answers.now_s()
        report = Report(journal.id, Phase.SEEN, since_s=now_s, boards=sight.uuids)
        return self._answers.write(sight, report, "seen")


def _bare(sight: Sight) -> dict[tuple[str, BoardInstance], Board]:
    """Return instances without a compute instance, and their boards."""
    return {
        (board.uuid, instance): board
        for board in sight.boards
        for instance in board.instances
        if instance.is_bare
    }
