"""What a cycle writes into the status ConfigMap, and what it need not write out again."""

from dataclasses import replace

from autoscaler.control.history_json import history_to_text
from autoscaler.control.memory import CycleMemory
from autoscaler.control.past import Past
from autoscaler.control.reporting import written_of
from autoscaler.control.status import HISTORY, NAME, read_status
from autoscaler.domain.cluster.objects import ConfigMap
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Result
from autoscaler.planning.past.value_history import PoolPast
from tests.builders import NOW_S
from tests.outcomes import outcome

DONE = RolloutRecord("n1", NOW_S - 60.0, NOW_S, Result.DONE, rollout="r1")
ABORTED = replace(DONE, rollout="r2", result=Result.ABORTED)
POOL = PoolPast("all", NOW_S)


def after(*records, past=POOL, before=None):
    """Return what a cycle writes that knows these rollouts."""
    memory = CycleMemory(history=records, past=Past({"all": past}))
    if before is not None:
        memory = replace(memory, written=before)
    return written_of({"mode": "auto"}, outcome(memory=memory))


def stored(text):
    """Return the ConfigMap with this text of its history."""
    return ConfigMap("mig-autoscaler", NAME, data={HISTORY: text})


def test_texts_that_say_the_same_are_kept():
    """Most cycles have nothing new to say, and the history is long."""
    before = after(DONE)
    again = after(DONE, before=before)
    assert again == before
    assert again.history is before.history
    assert again.past is before.past


def test_what_is_new_is_written_out():
    """Also when all else stays as it was."""
    before = after(DONE)
    assert after(DONE, ABORTED, before=before).history == history_to_text((DONE, ABORTED))
    assert after(before=before).history == "[]"
    assert '"home":{"x":2}' in after(past=replace(POOL, home={"x": 2}), before=before).past


def test_our_own_history_is_not_read_again():
    """It is what we wrote, with the very same records."""
    written = after(DONE)
    kept = read_status(stored(written.history), written)
    assert kept.history is written.records


def test_the_history_of_others_is_read():
    """Another replica, or a person, wrote it since."""
    written = after(DONE)
    assert read_status(stored(history_to_text([ABORTED])), written).history == (ABORTED,)
    assert read_status(stored(""), written).history == ()
