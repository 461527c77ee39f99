"""Carries an order out, one act a turn.

How far it is shows on the boards. What does not show there is written to the node before
it happens: that there will be a change, and which of the operator's pods have seen only
what was before it. So whoever comes after a crash goes on from any point.
"""

from autoscaler.agent.answers import Answers
from autoscaler.agent.operands import operands_among
from autoscaler.agent.sight import Sight, mismatch
from autoscaler.agent.turn import AgentPorts, AgentSettings, Turn
from autoscaler.agent.work import Blocked, Create, Destroy, Impossible, next_work
from autoscaler.domain.agent_report import Order, Phase, Report, Way
from autoscaler.domain.errors import Diverged, InUse, NotFound, Refused
from autoscaler.domain.rollout import Journal


class Carrier:
    """Turns of an agent under an order."""

    def __init__(self, ports: AgentPorts, settings: AgentSettings, answers: Answers) -> None:
        self._ports = ports
        self._settings = settings
        self._answers = answers

    def carry_out(self, sight: Sight, journal: Journal, order: Order) -> Turn:
        """Do the next thing that an order needs."""
        answers, last = self._answers, sight.report_on(journal.id)
        if last is not None and last.boards not in {(), sight.uuids}:
            problem = "the boards are not those that the rollout began with"
            return answers.fail(sight, journal, order.way, problem)
        if last is None or last.way is not order.way:
            return self._begin(sight, journal, order.way)
        if last.phase is Phase.FAILED:
            return answers.keep(sight, last, last.message)
        work = next_work(order, sight.boards, sight.holders)
        match work:
            case None:
                return self._finish(sight, last)
            case Impossible():
                return answers.fail(sight, journal, order.way, work.message)
            case Blocked():
                return answers.block(sight, last, work.message)
            case Destroy() | Create():
                return self._do(sight, last, work)

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

    def _do(self, sight: Sight, last: Report, work: Destroy | Create) -> Turn:
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
            return answers.advance(sight, last, Phase.FAILED, f"{work}: {error}")
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

    def _finish(self, sight: Sight, last: Report) -> Turn:
        """Have those replaced who read the instances only when they start."""
        if last.phase is Phase.DONE:
            return self._answers.keep(sight, last, "done")
        cluster = self._ports.cluster
        operands = operands_among(cluster.pods_on(self._settings.node))
        if last.phase is not Phase.RESTARTING:
            self._ports.driver.refresh()
            # Named before the first of them goes: their successors must not go too.
            return self._answers.advance(sight, last, Phase.RESTARTING, replaced=operands.uids)
        for pod in operands.old(last.replaced):
            if pod.deletion_s is None:
                cluster.evict(pod.ref)
        if operands.has_new_plugin(last.replaced):
            return self._answers.advance(sight, last, Phase.DONE)
        return self._answers.again("waiting for the device plugin")
