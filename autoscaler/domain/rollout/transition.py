"""The state machine of a rollout: one node's change from its closing to its release.

``next_step`` is a pure function of the journal and one fresh look at the node. It is
level-triggered: nothing is remembered but the journal, every wait is computed from
it, and asked again in the same situation it gives the same answer. So a crash, a lost
lease or a slow node needs no path of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from autoscaler.domain.journal.rollout import Journal, Result, State
from autoscaler.domain.rollout.applying import apply, mend, roll_back
from autoscaler.domain.rollout.draining import close, drain
from autoscaler.domain.rollout.recutting import cut_back, recut
from autoscaler.domain.rollout.releasing import quarantine
from autoscaler.domain.rollout.situation import Situation
from autoscaler.domain.rollout.steps import (
    Finish,
    PatchNode,
    Rules,
    Seen,
    Step,
    Wait,
    WaitReason,
)


def give_up(s: Situation) -> Step:
    """Return the terminal write of a journal that says quarantined."""
    return quarantine(s, s.journal.reason or "the change and the way back failed")


STATES: Mapping[State, Callable[[Situation], Step]] = {
    State.CLOSED: close,
    State.DRAINING: drain,
    State.APPLYING: apply,
    State.REPAIRING: mend,
    State.ROLLING_BACK: roll_back,
    State.QUARANTINED: give_up,
}
# The agent goes on by itself after a crash, so there is nothing that a repair could do.
AGENT_STATES: Mapping[State, Callable[[Situation], Step]] = {
    **STATES,
    State.APPLYING: recut,
    State.REPAIRING: recut,
    State.ROLLING_BACK: cut_back,
}


def next_step(journal: Journal, seen: Seen, rules: Rules, now_s: float) -> Step:
    """Return what is to be done now for one rollout.

    Parameters
    ----------
    journal
        As read from the node with ``seen``.
    now_s
        Epoch seconds, not before the reads of ``seen`` ended.

    Returns
    -------
    Step
        One effect at most; ``Wait`` with a time when there is none.
    """
    if seen.node is None:
        return Finish(Result.GONE, "NodeDeleted", "the node does not exist any more")
    if seen.node.uid != journal.node_uid:
        return Finish(Result.GONE, "NodeReplaced", "another node has this name now")
    if journal.epoch > rules.epoch:
        until_s = now_s + rules.rollout.no_response_s
        return Wait(WaitReason.NOT_LEADER, f"{journal.holder} leads since", until_s)
    if (journal.epoch, journal.holder) != (rules.epoch, rules.holder):
        # The new stamp also makes every patch of the old leader stale.
        return PatchNode(replace(journal, epoch=rules.epoch, holder=rules.holder))
    situation = Situation(journal, seen.node, seen, rules, now_s)
    states = AGENT_STATES if situation.by_agent else STATES
    return states[journal.state](situation)
