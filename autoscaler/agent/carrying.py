"""Carries an order out, one act a turn.

How far it is shows on the boards. What does not show there is written to the node before
it happens: that there will be a change, and which of the operator's pods have seen only
what was before it. So whoever comes after a crash goes on from any point.
"""

from dataclasses import replace

from autoscaler.agent.answers import Answers
from autoscaler.agent.operands import Operands, operands_among
from autoscaler.agent.sight import Sight, mismatch
from autoscaler.agent.turn import AgentPorts, AgentSettings, Turn
from autoscaler.agent.work import Blocked, Create, Destroy, Impossible, next_work
from autoscaler.domain.errors import Diverged, InUse, NotFound, Refused
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.rollout.agent_report import Order, Phase, Report, Way


class Carrier:
    """Turns of an agent under an order."""

    def __init__(self, ports: AgentPorts, settings: AgentSettings, answers: Answers) -> None:
        self._ports = ports
        self._settings = settings
        self._answers = answers

    def carry_out(self, sight: Sight, journal: Journal, order: Order) -> Turn:
        """Do the next thing that an order needs."""
        last = sight.report_on(journal.id)
        ended = self._ended(sight, last, order.way)
        if ended is not None:
            return ended
        problem = _strange_boards(sight, last)
        if problem:
            return self.give_up(sight, journal, order.way, problem)
        if last is None or last.way is not order.way:
            return self._begin(sight, journal, order.way)
        work = next_work(order, sight.boards, sight.holders)
        match work:
            case None:
                return self.finish(sight, last)
            case Impossible():
                return self.give_up(sight, journal, order.way, work.message)
            case Blocked():
                return self._answers.block(sight, last, work.message)
            case Destroy() | Create():
                return self._do(sight, journal, last, work)

    def give_up(self, sight: Sight, journal: Journal, way: Way | None, message: str) -> Turn:
        """Say that it cannot be done; on the way back, first have the plugin see the rest.

        Nobody comes after the way back, and the node may be opened with what is left.
        """
        last = sight.report_on(journal.id)
        if way is not Way.BACK or last is None or last.way is None:
            return self._answers.fail(sight, journal, way, message)
        ended = self._ended(sight, last, way)
        return ended or self._restart(sight, replace(last, way=way), message)

    def _ended(self, sight: Sight, last: Report | None, way: Way) -> Turn | None:
        """Go on with what has failed already; ``None`` while it has not."""
        if last is None or last.way is not way or not last.message:
            return None
        if last.phase is Phase.FAILED:
            return self._answers.keep(sight, last, last.message)
        return self.finish(sight, last) if last.phase is Phase.RESTARTING else None

    def _begin(self, sight: Sight, journal: Journal, way: Way) -> Turn:
        """Say that it starts before it starts."""
        last = sight.report_on(journal.id)
        is_untouched = last is None or last.way is None
        problem = mismatch(sight, journal) if is_untouched and way is Way.FORWARD else ""
        if problem:
            return self._answers.fail(sight, journal, way, problem)
        boards = last.boards if last is not None else sight.uuids
        now_s = self._answers.now_s()
        report = Report(journal.id, Phase.WORKING, way, since_s=now_s, boards=boards)
        return self._answers.write(sight, report, f"begin to go {way}")

    def _do(self, sight: Sight, journal: Journal, last: Report, work: Destroy | Create) -> Turn:
        """Destroy or create one instance, never by force."""
        answers = self._answers
        if last.phase not in {Phase.WORKING, Phase.BLOCKED}:
            # Someone has changed the boards since, so the device plugin must start again.
            return answers.advance(sight, last, Phase.WORKING)
        try:
            self._act(work)
        except InUse as error:
            return answers.block(sight, last, f"{work}: {error}")
        except NotFound:
            return Turn(f"{work}: it is gone already", answers.now_s())
        except (Refused, Diverged) as error:
            return self.give_up(sight, journal, last.way, f"{work}: {error}")
        if last.phase is Phase.BLOCKED:
            return answers.advance(sight, last, Phase.WORKING)
        return Turn(str(work), answers.now_s())

    def _act(self, work: Destroy | Create) -> None:
        driver, uuid = self._ports.driver, work.board.uuid
        if isinstance(work, Destroy):
            driver.destroy(uuid, work.instance)
            return
        made = driver.create(uuid, work.place)
        if made.place != work.place or made.is_bare:
            raise Diverged(f"the driver made {made.place}")

    def finish(self, sight: Sight, last: Report) -> Turn:
        """Have those replaced who read the instances only when they start."""
        if last.phase is Phase.DONE:
            return self._answers.keep(sight, last, "done")
        if last.phase is not Phase.RESTARTING:
            return self._restart(sight, last)
        operands = self._operands()
        for pod in operands.old(last.replaced):
            if pod.deletion_s is None:
                self._ports.cluster.evict(pod.ref)
        if operands.has_new_plugin(last.replaced):
            phase = Phase.FAILED if last.message else Phase.DONE
            return self._answers.advance(sight, last, phase, last.message)
        return self._answers.again("waiting for the device plugin")

    def _restart(self, sight: Sight, last: Report, failure: str = "") -> Turn:
        """Say who is to be replaced before the first of them goes.

        Their successors must not go too, whoever comes after a crash.
        """
        if not sight.fault:
            self._ports.driver.refresh()
        return self._answers.advance(
            sight, last, Phase.RESTARTING, failure, replaced=self._operands().uids
        )

    def _operands(self) -> Operands:
        return operands_among(self._ports.cluster.pods_on(self._settings.node))


def _strange_boards(sight: Sight, last: Report | None) -> str:
    if last is None or last.boards in {(), sight.uuids}:
        return ""
    return "the boards are not those that the rollout began with"
