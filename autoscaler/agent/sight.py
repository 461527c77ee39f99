"""One fresh look of the node agent: boards, holders, and the node with its journal."""

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaler.domain.agent_report import Order, Report, order_of, report_of
from autoscaler.domain.board import Board
from autoscaler.domain.conditions import journal_of
from autoscaler.domain.inventory import render_inventory
from autoscaler.domain.marks import AGENT, INVENTORY
from autoscaler.domain.objects import Node, PodRef
from autoscaler.domain.policy import Driver
from autoscaler.domain.rollout import Journal
from autoscaler.ports import ClusterApi, GpuDriver, NodePatch, PodResources


@dataclass(frozen=True, slots=True)
class Sight:
    """What the agent sees.

    Parameters
    ----------
    node
        Read last, so that what it asks for is younger than what the boards are.
    """

    version: str
    boards: tuple[Board, ...]
    holders: Mapping[str, PodRef]
    node: Node

    @property
    def inventory(self) -> str:
        """The inventory as it should be on the node."""
        return render_inventory(self.version, self.boards, self.holders)

    @property
    def is_reported(self) -> bool:
        """Whether the node shows that inventory."""
        return self.node.annotations.get(INVENTORY) == self.inventory

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
        annotations: dict[str, str | None] = {INVENTORY: self.inventory}
        if report is not None or AGENT in self.node.annotations:
            annotations[AGENT] = None if report is None else report.to_text()
        return NodePatch(
            annotations=annotations,
            resource_version=self.node.resource_version,
            uid=self.node.uid,
        )


def look(name: str, cluster: ClusterApi, driver: GpuDriver, pods: PodResources) -> Sight:
    """Read everything afresh; what a port raises ends the look."""
    boards, holders = driver.read(), pods.holders()
    return Sight(driver.version(), boards, holders, cluster.read_node(name))
