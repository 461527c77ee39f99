"""The node agent: shows what the GPUs of its node are, and cuts them as a rollout asks.

Level-triggered, one act a turn, nothing remembered that matters: what is asked for is the
journal on the node, how far it is shows on the boards, and what cannot be seen there is
written to the node before it happens. So a crash at any point needs no path of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from autoscaler.agent.operands import operands_among
from autoscaler.agent.sight import Sight, look
from autoscaler.agent.work import Blocked, Create, Destroy, Impossible, next_work
from autoscaler.domain.agent_report import Order, Phase, Report, Way
from autoscaler.domain.board import Board, BoardInstance
from autoscaler.domain.errors import (
    ActuationError,
    Conflict,
    Diverged,
    InUse,
    NotFound,
    Refused,
)
from autoscaler.domain.marks import AGENT
from autoscaler.domain.rollout import Journal
from autoscaler.ports import Clock, ClusterApi, GpuDriver, PodResources

Bare = Mapping[tuple[str, BoardInstance], Board]


@dataclass(frozen=True, slots=True)
class AgentPorts:
    """What the agent reaches beyond itself."""

    cluster: ClusterApi
    driver: GpuDriver
    pods: PodResources
    clock: Clock


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The agent of one node.

    Parameters
    ----------
    node
        Name of its node.
    retry_s
        Pause after something that may be otherwise by itself soon.
    report_s
        Shortest time between two inventories while nobody waits for one: pods come and
        go, and each inventory is a write to the API server.
    orphan_s
        Age from which an instance that was found without compute instance at the start
        is taken for the rest of a crash: another tool may be between its two calls.
    """

    node: str
    retry_s: float = 5.0
    report_s: float = 10.0
    orphan_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Turn:
    """What the agent did, and when it wants the next turn.

    Parameters
    ----------
    again_at_s
        Epoch seconds; infinity when only a change of the node or its pods matters.
    """

    did: str
    again_at_s: float = inf


class NodeAgent:
    """The agent of one node."""

    def __init__(self, ports: AgentPorts, settings: AgentSettings) -> None:
        self._ports = ports
        self._settings = settings
        self._reported_s = -inf
        self._started_s: float | None = None
        self._orphans: frozenset[tuple[str, BoardInstance]] = frozenset()

    def step(self) -> Turn:
        """Take one turn: look, and do one thing at most."""
        try:
            sight = self._look()
            return self._act(sight)
        except Conflict as error:
            return Turn(f"someone else wrote first: {error}", self._now_s())
        except ActuationError as error:
            return Turn(str(error), self._now_s() + self._settings.retry_s)

    def _look(self) -> Sight:
        ports = self._ports
        sight = look(self._settings.node, ports.cluster, ports.driver, ports.pods)
        if self._started_s is None:
            self._started_s = self._now_s()
            self._orphans = frozenset(_bare(sight))
        return sight

    def _act(self, sight: Sight) -> Turn:
        journal = sight.journal
        if journal is None:
            return self._idle(sight)
        try:
            order = sight.order
        except ValueError as error:
            return self._fail(sight, journal, None, str(error))
        if order is None:
            return self._acknowledge(sight, journal)
        return self._carry_out(sight, journal, order)

    # Without a rollout.

    def _idle(self, sight: Sight) -> Turn:
        """Show the GPUs as they are, and take away what a crash has left."""
        if AGENT in sight.node.annotations:
            return self._write(sight, None, "the rollout is over")
        now_s = self._now_s()
        due_s = self._reported_s + self._settings.report_s
        if not sight.is_reported and now_s >= due_s:
            return self._write(sight, None, "inventory")
        orphans = {key: board for key, board in _bare(sight).items() if key in self._orphans}
        old_s = (self._started_s or now_s) + self._settings.orphan_s
        if orphans and now_s >= old_s:
            return self._remove(orphans)
        waits = ([] if sight.is_reported else [due_s]) + ([old_s] if orphans else [])
        return Turn("nothing to do", min(waits, default=inf))

    def _remove(self, orphans: Bare) -> Turn:
        """Destroy the first orphan; who is refused once is left alone until the next start."""
        (uuid, instance), board = min(
            orphans.items(), key=lambda item: (item[1].index, item[0][1].place)
        )
        self._orphans = self._orphans - {(uuid, instance)}
        self._ports.driver.destroy(uuid, instance)
        return Turn(f"removed {instance.place} of GPU {board.index}, nobody's", self._now_s())

    # Before anything is asked for.

    def _acknowledge(self, sight: Sight, journal: Journal) -> Turn:
        """Show who holds what after the cordon, and whether the plan still fits."""
        problem = _mismatch(sight, journal)
        report = sight.report_on(journal.id)
        if problem:
            return self._fail(sight, journal, None, problem)
        if report is not None and report.phase is Phase.SEEN and sight.is_reported:
            return Turn("waiting for the order")
        if report is None or report.phase is not Phase.SEEN:
            report = Report(journal.id, Phase.SEEN, since_s=self._now_s(), boards=sight.uuids)
        return self._write(sight, report, "seen")

    # Under an order.

    def _carry_out(self, sight: Sight, journal: Journal, order: Order) -> Turn:
        last = sight.report_on(journal.id)
        problem = _strange_boards(sight, last)
        if problem:
            return self._fail(sight, journal, order.way, problem)
        if last is None or last.way is not order.way:
            return self._begin(sight, journal, order, last)
        if last.phase is Phase.FAILED:
            return (
                Turn(last.message) if sight.is_reported else self._write(sight, last, "failed")
            )
        work = next_work(order, sight.boards, sight.holders)
        match work:
            case None:
                return self._finish(sight, last)
            case Impossible():
                return self._fail(sight, journal, order.way, work.message)
            case Blocked():
                return self._block(sight, last, work.message)
            case Destroy() | Create():
                return self._do(sight, last, work)

    def _begin(self, sight: Sight, journal: Journal, order: Order, last: Report | None) -> Turn:
        """Say that we start before we start: whoever comes after a crash must know."""
        is_untouched = last is None or last.way is None
        problem = _mismatch(sight, journal) if is_untouched and order.way is Way.FORWARD else ""
        if problem:
            return self._fail(sight, journal, order.way, problem)
        boards = last.boards if last is not None else sight.uuids
        report = Report(
            journal.id, Phase.WORKING, order.way, since_s=self._now_s(), boards=boards
        )
        return self._write(sight, report, f"begin to go {order.way}")

    def _do(self, sight: Sight, last: Report, work: Destroy | Create) -> Turn:
        """Destroy or create one instance, never by force."""
        if last.phase not in {Phase.WORKING, Phase.BLOCKED}:
            # The boards changed after we were done: the device plugin must start again.
            return self._advance(sight, last, Phase.WORKING)
        driver = self._ports.driver
        try:
            if isinstance(work, Destroy):
                driver.destroy(work.board.uuid, work.instance)
            else:
                made = driver.create(work.board.uuid, work.place)
                if made.place != work.place or made.is_bare:
                    raise Diverged(f"asked to {work}, the driver made {made.place}")
        except InUse as error:
            return self._block(sight, last, f"{work}: {error}")
        except NotFound:
            return Turn(f"{work}: it is gone already", self._now_s())
        except (Refused, Diverged) as error:
            return self._advance(sight, last, Phase.FAILED, f"{work}: {error}")
        if last.phase is Phase.BLOCKED:
            return self._advance(sight, last, Phase.WORKING)
        return Turn(str(work), self._now_s())

    def _finish(self, sight: Sight, last: Report) -> Turn:
        """Have those replaced who read the instances only when they start."""
        if last.phase is Phase.DONE:
            return Turn("done") if sight.is_reported else self._write(sight, last, "inventory")
        operands = operands_among(self._ports.cluster.pods_on(self._settings.node))
        if last.phase is not Phase.RESTARTING:
            self._ports.driver.refresh()
            # Named before the first of them goes: their successors must not go too.
            return self._advance(sight, last, Phase.RESTARTING, replaced=operands.uids)
        for pod in operands.old(last.replaced):
            if pod.deletion_s is None:
                self._ports.cluster.evict(pod.ref)
        if operands.has_new_plugin(last.replaced):
            return self._advance(sight, last, Phase.DONE)
        retry_s = self._now_s() + self._settings.retry_s
        return Turn("waiting for the device plugin", retry_s)

    def _block(self, sight: Sight, last: Report, message: str) -> Turn:
        """Say what is in the way, and look again soon."""
        if last.phase is not Phase.BLOCKED or last.message != message:
            since_s = last.since_s if last.phase is Phase.BLOCKED else self._now_s()
            report = replace(
                last, phase=Phase.BLOCKED, since_s=since_s, message=message, replaced=()
            )
            self._write(sight, report, message)
        return Turn(message, self._now_s() + self._settings.retry_s)

    def _fail(self, sight: Sight, journal: Journal, way: Way | None, message: str) -> Turn:
        """Say that it cannot be done."""
        last = sight.report_on(journal.id)
        is_said = last is not None and (last.phase, last.way) == (Phase.FAILED, way)
        if last is not None and is_said and sight.is_reported:
            return Turn(last.message)
        boards = last.boards if last is not None else sight.uuids
        report = Report(journal.id, Phase.FAILED, way, self._now_s(), message, boards)
        return self._write(sight, last if is_said else report, message)

    def _advance(
        self,
        sight: Sight,
        last: Report,
        phase: Phase,
        message: str = "",
        *,
        replaced: tuple[str, ...] | None = None,
    ) -> Turn:
        """Write the next phase of an answer."""
        keeps = phase is Phase.DONE
        own = last.replaced if keeps else ()
        report = replace(
            last,
            phase=phase,
            since_s=self._now_s(),
            message=message,
            replaced=own if replaced is None else replaced,
        )
        return self._write(sight, report, message or str(phase))

    def _write(self, sight: Sight, report: Report | None, did: str) -> Turn:
        self._ports.cluster.patch_node(self._settings.node, sight.patch(report))
        self._reported_s = self._now_s()
        return Turn(did, self._now_s())

    def _now_s(self) -> float:
        return self._ports.clock.now_s()


def _bare(sight: Sight) -> dict[tuple[str, BoardInstance], Board]:
    """Return instances without a compute instance, and their boards."""
    return {
        (board.uuid, instance): board
        for board in sight.boards
        for instance in board.instances
        if instance.is_bare
    }


def _mismatch(sight: Sight, journal: Journal) -> str:
    """Return how the boards differ from what the plan was made for, empty if they do not."""
    places = journal.before.places
    if len(places) != len(sight.boards):
        return f"the node has {len(sight.boards)} GPUs, the plan saw {len(places)}"
    for index in journal.gpus:
        board, seen = sight.boards[index], places[index]
        present = board.geometry if board.mig_enabled else None
        if present != seen:
            now = "no instances, MIG mode is off" if present is None else str(present)
            return f"GPU {index} holds {now}, the plan saw {seen}"
    return ""


def _strange_boards(sight: Sight, last: Report | None) -> str:
    if last is None or not last.boards or last.boards == sight.uuids:
        return ""
    return "the boards are not those that the rollout began with"
