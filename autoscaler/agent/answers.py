"""Writes the agent's answers: each in one patch with the inventory it rests on."""

from dataclasses import replace

from autoscaler.agent.sight import Sight
from autoscaler.agent.turn import AgentPorts, AgentSettings, Turn
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.rollout.agent_report import Phase, Report, Way


class Answers:
    """The agent's annotations of its node.

    Attributes
    ----------
    written_s
        When something was last written, epoch seconds; long ago at first.
    """

    def __init__(self, ports: AgentPorts, settings: AgentSettings) -> None:
        self._ports = ports
        self._settings = settings
        self.written_s = float("-inf")

    def write(self, sight: Sight, report: Report | None, did: str) -> Turn:
        """Write an answer, or none, and the inventory."""
        self._ports.cluster.patch_node(self._settings.node, sight.patch(report))
        self.written_s = self.now_s()
        return Turn(did, self.now_s())

    def keep(self, sight: Sight, report: Report, did: str) -> Turn:
        """Leave an answer as it is; write only an inventory that has changed."""
        return Turn(did) if sight.is_reported else self.write(sight, report, did)

    def advance(
        self,
        sight: Sight,
        last: Report,
        phase: Phase,
        message: str = "",
        *,
        replaced: tuple[str, ...] = (),
    ) -> Turn:
        """Write the next phase of an answer."""
        report = replace(
            last, phase=phase, since_s=self.now_s(), message=message, replaced=replaced
        )
        return self.write(sight, report, message or str(phase))

    def block(self, sight: Sight, last: Report, message: str) -> Turn:
        """Say what is in the way, since when, and look again soon."""
        if last.phase is not Phase.BLOCKED:
            self.advance(sight, last, Phase.BLOCKED, message)
        elif last.message != message:
            self.write(sight, replace(last, message=message), message)
        return self.again(message)

    def fail(self, sight: Sight, journal: Journal, way: Way | None, message: str) -> Turn:
        """Say that it cannot be done."""
        last = sight.report_on(journal.id)
        if last is not None and last.phase is Phase.FAILED and last.way is way:
            return self.keep(sight, last, message)
        boards = last.boards if last is not None else sight.uuids
        report = Report(journal.id, Phase.FAILED, way, self.now_s(), message, boards)
        return self.write(sight, report, message)

    def again(self, did: str) -> Turn:
        """Return a turn after which it looks again soon."""
        return Turn(did, self.now_s() + self._settings.retry_s)

    def now_s(self) -> float:
        """Epoch seconds."""
        return self._ports.clock.now_s()
