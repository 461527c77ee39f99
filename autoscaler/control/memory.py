"""What one replica remembers from cycle to cycle.

Nothing here is needed to go on after a crash: rollouts live on their nodes, history in
the status ConfigMap. It saves work and keeps us from repeating ourselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaler.control.events import Key
from autoscaler.control.past import NO_PAST, Past
from autoscaler.control.service_time import Stay
from autoscaler.domain.fleet.memory import NO_MEMORY, Memory
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.plan.plan import Plan
from autoscaler.planning.gating.persistence import Sightings
from autoscaler.planning.past.value_history import PoolPast


@dataclass(frozen=True, slots=True)
class Written:
    """What was last written into the status ConfigMap, as text and as values.

    Most cycles find their own text again and have nothing else to say of history and
    past: then neither is read or written out anew, which takes longer than the rest.

    Parameters
    ----------
    status
        The status, its times left out.
    history, records
        The text of past rollouts, and the rollouts.
    past, pools
        The text of what the past says, and what it says by pool.
    at_s
        When it was written, epoch seconds.
    """

    status: str = ""
    history: str = ""
    records: tuple[RolloutRecord, ...] = ()
    past: str = ""
    pools: Mapping[str, PoolPast] = field(default_factory=dict)
    at_s: float = 0.0

    @property
    def texts(self) -> tuple[str, str, str]:
        """All that people can read."""
        return self.status, self.history, self.past


NOTHING_WRITTEN = Written()


@dataclass(frozen=True, slots=True)
class CycleMemory:
    """The memory after a cycle.

    Parameters
    ----------
    nodes
        What earlier cycles knew of nodes.
    digest
        Of the inputs that the last plan was made from; empty for none.
    due_s
        When time alone may change the plan, epoch seconds.
    plan
        The last plan, gated.
    proposals
        Since when each proposal has been there.
    journals
        Open rollouts as last seen, by node.
    refusals
        Writes that the API server refused for good, by node: not tried again.
    history
        Rollouts that are over.
    said
        Events already sent, and when.
    stays
        Pods that hold devices, by uid.
    written
        The status last written.
    past, past_read
        What is known of the past, and the text of it that was read last.
    """

    nodes: Memory = NO_MEMORY
    digest: str = ""
    due_s: float = 0.0
    plan: Plan | None = None
    proposals: Sightings = field(default_factory=dict)
    journals: Mapping[str, Journal] = field(default_factory=dict)
    refusals: Mapping[str, str] = field(default_factory=dict)
    history: tuple[RolloutRecord, ...] = ()
    said: Mapping[Key, float] = field(default_factory=dict)
    stays: Mapping[str, Stay] = field(default_factory=dict)
    written: Written = NOTHING_WRITTEN
    past: Past = NO_PAST
    past_read: str = ""

    def of_a_newcomer(self) -> "CycleMemory":
        """Return what still counts after a time in which somebody else led, or may have.

        What is known of nodes, what was said, and the past; since when a proposal has
        been there is not known any more.
        """
        return CycleMemory(nodes=self.nodes, said=self.said, history=self.history)


FRESH = CycleMemory()
