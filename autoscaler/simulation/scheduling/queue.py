"""Pods that wait for a node, and why."""

from dataclasses import dataclass, field

from autoscaler.simulation.controllers.informer import Key
from autoscaler.simulation.scheduling.filters import lacking_resource
from autoscaler.simulation.scheduling.shape import Shape

MAX_DOUBLINGS = 20
MAX_BACKOFF_S = 10.0
# What any change of a node may give back.
ANYTHING = "*"


@dataclass(slots=True)
class Waiting:
    """One pod in the queue.

    Parameters
    ----------
    serial
        Order of arrival.
    retry_s
        Not before this is it tried again.
    written_s
        When its message was last written.
    lacks
        Of what something must be given back to make a new attempt worthwhile.
    nominated
        Node on which preemption makes room for it.
    """

    key: Key
    shape: Shape
    serial: int
    attempts: int = 0
    retry_s: float = 0.0
    written_s: float | None = None
    lacks: frozenset[str] = frozenset({ANYTHING})
    nominated: str = ""

    @property
    def rank(self) -> tuple[int, int]:
        """Order in the queue: priority, then arrival."""
        return -self.shape.priority, self.serial

    def refuse(self, lacks: frozenset[str], now_s: float, first_pause_s: float) -> None:
        """Note a failed attempt; the pause before the next one doubles."""
        # Doubling is capped before it is computed: pods wait for thousands of attempts.
        doubled = 2.0 ** min(self.attempts, MAX_DOUBLINGS)
        self.attempts += 1
        self.retry_s = now_s + min(MAX_BACKOFF_S, first_pause_s * doubled)
        self.lacks = lacks


@dataclass(slots=True)
class Refusals:
    """How many nodes refused a pod for which reason.

    Parameters
    ----------
    helpless
        How many of them would refuse it whatever pods were removed.
    text, lacks
        Filled by ``conclude``.
    """

    number: dict[str, int] = field(default_factory=dict)
    helpless: int = 0
    text: str = ""
    lacks: frozenset[str] = frozenset()

    def add(self, reasons: tuple[str, ...], *, is_helpless: bool) -> None:
        """Take in why one node refused."""
        for reason in reasons:
            self.number[reason] = self.number.get(reason, 0) + 1
        self.helpless += is_helpless

    def conclude(self, num_nodes: int) -> "Refusals":
        """Work out the text and what was lacking, once for all pods alike."""
        self.text = self._message(num_nodes)
        lacks = {lacking_resource(reason) or ANYTHING for reason in self.number}
        self.lacks = frozenset(lacks or {ANYTHING})
        return self

    def _message(self, num_nodes: int) -> str:
        """Return the text of the condition, as the scheduler writes it."""
        if not num_nodes:
            return "no nodes available to schedule pods"
        parts = ", ".join(sorted(f"{n} {reason}" for reason, n in self.number.items()))
        hopeful = num_nodes - self.helpless
        tries = []
        if hopeful:
            tries.append(f"{hopeful} No preemption victims found for incoming pod")
        if self.helpless:
            tries.append(f"{self.helpless} Preemption is not helpful for scheduling")
        head = f"0/{num_nodes} nodes are available"
        return f"{head}: {parts}. preemption: {head}: {', '.join(tries)}."
