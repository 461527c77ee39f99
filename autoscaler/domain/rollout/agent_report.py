"""What the node agent is asked for by a rollout, and what it answers.

The question is the journal, the answer an annotation of the node that is written in one
patch with the inventory. So an answer to a rollout also proves that the inventory beside
it was read after the node was closed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from autoscaler.domain.cluster.marks import AGENT
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.journal.quarantine import UNREADABLE
from autoscaler.domain.journal.rollout import Journal, State
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.policy.pool import Driver


class Way(StrEnum):
    """Which of the two layouts of a journal is asked for."""

    FORWARD = "forward"
    BACK = "back"


class Phase(StrEnum):
    """How far the agent is."""

    SEEN = "seen"
    WORKING = "working"
    BLOCKED = "blocked"
    FAILED = "failed"
    RESTARTING = "restarting"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Order:
    """What the GPUs of a node shall be.

    Parameters
    ----------
    rollout
        Id of the rollout.
    way
        Forward to its target or back to what was before.
    geometries
        By index, for the GPUs that change; others are never touched.
    num_gpus
        How many GPUs the node has, by the plan.
    """

    rollout: str
    way: Way
    geometries: Mapping[int, Geometry]
    num_gpus: int


@dataclass(frozen=True, slots=True)
class Report:
    """The agent's answer.

    Parameters
    ----------
    rollout
        Id of the rollout that it answers.
    phase
        How far it is with it.
    way
        The way it goes; ``None`` before it was asked to go any.
    since_s
        When this phase began, epoch seconds.
    message
        What blocks it or failed; empty while all goes well.
    boards
        UUIDs of the boards by index, as first seen under this rollout: an index alone
        may be another board after one has dropped off the bus.
    replaced
        Uids of the operator's pods that must be replaced to see the new instances.
    """

    rollout: str
    phase: Phase
    way: Way | None = None
    since_s: float = 0.0
    message: str = ""
    boards: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Whether what the device plugin knows is what there is.

        Nothing was done, or the plugin has started anew after it. A failure on the way
        forward is followed by the way back, and only that is ended so.
        """
        if self.way is None or self.phase is Phase.DONE:
            return True
        return self.phase is Phase.FAILED and self.way is Way.BACK

    def to_text(self) -> str:
        """Return the value of the annotation."""
        fields = {
            "rollout": self.rollout,
            "phase": self.phase.value,
            "way": None if self.way is None else self.way.value,
            "since": self.since_s,
            "message": self.message,
            "boards": list(self.boards),
            "replaced": list(self.replaced),
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def report_of(node: Node) -> Report | None:
    """Return the agent's answer on a node; what cannot be read is none."""
    text = node.annotations.get(AGENT)
    if text is None:
        return None
    try:
        fields = json.loads(text)
        way = fields.get("way")
        return Report(
            rollout=str(fields["rollout"]),
            phase=Phase(fields["phase"]),
            way=None if way is None else Way(way),
            since_s=float(fields["since"]),
            message=str(fields.get("message", "")),
            boards=tuple(str(uuid) for uuid in fields.get("boards", ())),
            replaced=tuple(str(uid) for uid in fields.get("replaced", ())),
        )
    except UNREADABLE:
        return None


def way_of(journal: Journal) -> Way | None:
    """Return the way that a rollout asks the agent to go, ``None`` for none yet."""
    if journal.state is State.APPLYING:
        return Way.FORWARD
    return Way.BACK if journal.state is State.ROLLING_BACK else None


def order_of(journal: Journal) -> Order | None:
    """Return what a rollout asks of the node agent, ``None`` for nothing.

    Raises
    ------
    ValueError
        When the journal does not say where the instances of a GPU shall be.
    """
    way = way_of(journal)
    if way is None or journal.driver is not Driver.AGENT:
        return None
    places = (journal.target if way is Way.FORWARD else journal.before).places
    geometries: dict[int, Geometry] = {}
    for index in journal.gpus:
        geometry = places[index] if 0 <= index < len(places) else None
        if geometry is None:
            raise ValueError(f"it does not say where the instances of GPU {index} shall be")
        geometries[index] = geometry
    return Order(journal.id, way, geometries, len(places))
