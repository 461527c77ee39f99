"""While the node agent cuts: verify, else have it undone, else quarantine.

No label asks for anything here: the agent reads the journal. It never forces anything,
so what it cannot do it says, and that is the reason to go back.
"""

from dataclasses import replace

from autoscaler.domain.fleet.advertised import advertised
from autoscaler.domain.journal.rollout import Result, State
from autoscaler.domain.reasons import Reason
from autoscaler.domain.rollout.agent_report import Phase, Way, way_of
from autoscaler.domain.rollout.agent_sight import answer_to, may_open, shows
from autoscaler.domain.rollout.applying import recordon, settle
from autoscaler.domain.rollout.releasing import quarantine, release
from autoscaler.domain.rollout.situation import AGENT_DEADLINE_S, Situation
from autoscaler.domain.rollout.steps import Notice, PatchNode, Step, WaitReason


def recut(s: Situation) -> Step:
    """Return the next step of a node whose agent was asked for the target."""
    step = recordon(s) or settle(s, s.journal.target, Result.DONE)
    if step is not None:
        return step
    if s.is_aborted:
        return go_back(s, "an operator asked for its end")
    if is_silent(s) and shows(s.node, s.journal.before, s.journal.gpus):
        message = "the node agent has not begun; nothing was changed"
        return release(s, Result.NO_RESPONSE, Reason.NO_AGENT, message)
    trouble = trouble_of(s)
    return go_back(s, trouble) if trouble else cutting(s)


def cut_back(s: Situation) -> Step:
    """Return the next step of a node whose agent was asked for what it had before."""
    step = recordon(s) or settle(s, s.journal.before, Result.ROLLED_BACK)
    if step is not None:
        return step
    trouble = trouble_of(s)
    if not trouble:
        return cutting(s)
    if not may_open(s.node) and not s.is_late and not is_silent(s):
        # The device plugin has just started anew, and kubelet says so some seconds later.
        return cutting(s)
    return quarantine(s, f"{s.journal.reason}; the way back failed too: {trouble}")


def way(s: Situation) -> Way:
    """Return the way that the agent was asked to go."""
    return way_of(s.journal) or Way.FORWARD


def is_silent(s: Situation) -> bool:
    """Say whether the agent has left the question without an answer for too long."""
    late_s = s.journal.state_since_s + s.rules.rollout.no_response_s
    return s.now_s >= late_s and answer_to(s.node, s.journal, way(s)) is None


def trouble_of(s: Situation) -> str:
    """Return what is wrong with the change, empty while it may still succeed."""
    answer = answer_to(s.node, s.journal, way(s))
    if answer is None:
        return "the node agent does not answer" if is_silent(s) or s.is_late else ""
    if answer.phase is Phase.FAILED:
        return answer.message
    blocked_until_s = answer.since_s + s.rules.rollout.no_response_s
    if answer.phase is Phase.BLOCKED and s.now_s >= blocked_until_s:
        return f"the node agent cannot go on: {answer.message}"
    if s.is_late:
        detail = f": {answer.message}" if answer.message else ""
        return f"not done at the deadline, the node agent is {answer.phase}{detail}"
    return ""


def cutting(s: Situation) -> Step:
    """Return the wait for the agent, the device plugin and kubelet."""
    answer = answer_to(s.node, s.journal, way(s))
    state = "has not answered yet" if answer is None else f"is {answer.phase}"
    detail = f" ({answer.message})" if answer is not None and answer.message else ""
    offers = advertised(s.node.allocatable)
    message = f"the node agent {state}{detail}, the node offers {offers}"
    since_s = s.journal.state_since_s if answer is None else answer.since_s
    until_s = since_s + s.rules.rollout.no_response_s
    waits = answer is None or answer.phase is Phase.BLOCKED
    until_s = min(until_s, s.journal.deadline_s) if waits else s.journal.deadline_s
    return s.wait(WaitReason.RECONFIGURATION, message, until_s)


def go_back(s: Situation, trouble: str) -> PatchNode:
    """Return the patch that asks the agent for what was before."""
    journal = s.enter(State.ROLLING_BACK, AGENT_DEADLINE_S)
    notice = Notice("MigRolloutRollback", trouble, warning=True)
    return PatchNode(replace(journal, reason=trouble), notice=notice)
