"""What one cycle knows that all its open rollouts need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.cluster.marks import MIG_CONFIG, ROLLOUT
from autoscaler.domain.cluster.objects import Node, Observation
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.fleet.memory import NO_MEMORY, Memory
from autoscaler.domain.journal.journal_json import journal_from_text
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.reasons import Block


@dataclass(frozen=True, slots=True)
class Briefing:
    """The cycle's view, as of its observation.

    Parameters
    ----------
    observation
        One complete pass over the API server.
    policy
        The policy in force.
    paused
        Whether an operator paused the product.
    verdicts
        Why a rollout before its label should end, by node.
    memory
        What earlier cycles knew of the nodes.
    plans_follow
        Whether this cycle goes on to plan by itself.
    """

    observation: Observation
    policy: Policy
    paused: bool = False
    verdicts: Mapping[str, Block] = field(default_factory=dict)
    memory: Memory = NO_MEMORY
    plans_follow: bool = False

    @property
    def names_in_use(self) -> frozenset[str]:
        """Configuration names that any label or journal asks for."""
        names = {node.labels.get(MIG_CONFIG, "") for node in self.observation.nodes}
        for journal in open_journals(self.observation.nodes).values():
            names |= {layout.config_name or "" for layout in journal.needed}
        return frozenset(names)


def journal_on(node: Node) -> tuple[Journal | None, str]:
    """Return the journal a node carries, or why what it carries is not one for us.

    An annotation of another uid came with a backup of the object: it tells of a node
    that does not exist.
    """
    text = node.annotations.get(ROLLOUT)
    if text is None:
        return None, ""
    try:
        journal = journal_from_text(text)
    except ConfigError as error:
        return None, str(error)
    if journal.node_uid != node.uid:
        return None, "the journal is of another node of this name"
    return journal, ""


def open_journals(nodes: Iterable[Node]) -> dict[str, Journal]:
    """Return the open rollouts by node, in name order."""
    found: dict[str, Journal] = {}
    for node in sorted(nodes, key=lambda n: n.name):
        journal, _ = journal_on(node)
        if journal is not None:
            found[node.name] = journal
    return found
