"""One fresh look of the node agent: boards, holders, and the node with its journal."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaler.agent.turn import AgentPorts
from autoscaler.domain.cluster.board import Board
from autoscaler.domain.cluster.inventory import render_inventory
from autoscaler.domain.cluster.marks import AGENT, INVENTORY
from autoscaler.domain.cluster.objects import Node, PodRef
from autoscaler.domain.errors import Refused
from autoscaler.domain.fleet.conditions import journal_of
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.rollout.agent_report import Order, Report, order_of, report_of
from autoscaler.ports import NodePatch


@dataclass(frozen=True, slots=True)
class Sight:
    """What the agent sees.

    Parameters
    ----------
    node
        Read last, so that what it asks for is younger than what the boards are.
    fault
        Why the driver has given its boards up; then the rest of it is not known.

    Attributes
    ----------
    inventory
        The inventory as it should be on the node.
    """

    version: str
    boards: tuple[Board, ...]
    holders: Mapping[str, PodRef]
    node: Node
    fault: str = ""
    inventory: str = field(init=False)

    def __post_init__(self) -> None:
        text = render_inventory(self.version, self.boards, self.holders)
        object.__setattr__(self, "inventory", text)

    @property
    def is_reported(self) -> bool:
        """Whether the node shows that inventory, as far as one can be had."""
        return bool(self.fault) or self.node.annotations.get(INVENTORY) == self.inventory

    @property
    def journal(self) -> Journal | None:
        """The open rollout, if it is one for the agent."""
        journal = journal_of(self.node)
        return journal if journal is not None and journal.driver is Driver.AGENT else None

    @property
    def order(self) -> Order | None:
        """What the rollout asks for; ValueError when its journal does not say where."""
        journal = self.journal
        return None if journal is None else order_of(journal)

    @property
    def uuids(self) -> tuple[str, ...]:
        """UUIDs of the boards by index."""
        return tuple(board.uuid for board in self.boards)

    def report_on(self, rollout: str) -> Report | None:
        """Return our last answer, if it was to this rollout."""
        report = report_of(self.node)
        return report if report is not None and report.rollout == rollout else None

    def patch(self, report: Report | None) -> NodePatch:
        """Return the write of an answer, with the inventory it rests on.

        It holds for this very version of the node: an answer to a journal that has gone
        on meanwhile would be believed of another question.
        """
        annotations: dict[str, str | None] = {}
        if not self.fault:
            annotations[INVENTORY] = self.inventory
        if report is not None or AGENT in self.node.annotations:
            annotations[AGENT] = None if report is None else report.to_text()
        return NodePatch(
            annotations=annotations,
            resource_version=self.node.resource_version,
            uid=self.node.uid,
        )


def look(name: str, ports: AgentPorts) -> Sight:
    """Read everything afresh; a port that does not answer ends the look."""
    try:
        version, boards = ports.driver.version(), ports.driver.read()
    except Refused as error:
        return Sight("", (), {}, ports.cluster.read_node(name), str(error))
    holders = ports.pods.holders()
    return Sight(version, boards, holders, ports.cluster.read_node(name))


def mismatch(sight: Sight, journal: Journal) -> str:
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
