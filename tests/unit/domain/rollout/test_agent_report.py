"""The agent's answer survives its annotation, and the journal is the question."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.domain.cluster.marks import AGENT
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.rollout.agent_report import Phase, Report, Way, order_of, report_of
from tests.agents import layout_of, order
from tests.builders import node
from tests.rollouts import journal

ONE, HALF = GpuInstance(0, 1, "1g.5gb"), GpuInstance(4, 4, "3g.20gb")
BEFORE, TARGET = (Geometry((ONE,)), None), (Geometry((HALF,)), None)

text = st.text(max_size=8)
texts = st.lists(text, max_size=3).map(tuple)
reports = st.builds(
    Report,
    rollout=text,
    phase=st.sampled_from(Phase),
    way=st.none() | st.sampled_from(Way),
    since_s=st.floats(0, 2e9, allow_nan=False),
    message=text,
    boards=texts,
    replaced=texts,
)


@given(reports)
def test_an_answer_comes_back_as_it_was(own):
    """Every field, whatever it holds."""
    assert report_of(node(annotations={AGENT: own.to_text()})) == own


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "{}",
        '{"rollout":"r","phase":"sleeping","since":1}',
        '{"phase":"done"}',
    ],
)
def test_what_cannot_be_read_is_no_answer(text):
    """Then the loop waits for one."""
    assert report_of(node(annotations={AGENT: text})) is None
    assert report_of(node()) is None


@pytest.mark.parametrize(
    ("state", "way"),
    [
        (State.CLOSED, None),
        (State.DRAINING, None),
        (State.APPLYING, Way.FORWARD),
        (State.ROLLING_BACK, Way.BACK),
        (State.QUARANTINED, None),
    ],
)
def test_the_state_of_the_journal_is_the_order(state, way):
    """Forward to the target or back to what was before, for the GPUs that change."""
    found = order_of(order(BEFORE, TARGET, state))
    if way is None:
        assert found is None
        return
    wanted = TARGET if way is Way.FORWARD else BEFORE
    assert (found.rollout, found.way, found.num_gpus) == ("node-a-1", way, 2)
    assert found.geometries == {0: wanted[0]}


def test_a_rollout_of_mig_manager_orders_nothing():
    """Its label is the order."""
    assert order_of(journal(State.APPLYING)) is None


@pytest.mark.parametrize("gpus", [(1,), (2,)], ids=["MIG off", "no such GPU"])
def test_a_journal_that_does_not_say_where_is_refused(gpus):
    """Nothing about it can be guessed."""
    own = order(BEFORE, TARGET, gpus=gpus)
    with pytest.raises(ValueError, match="does not say where the instances of GPU"):
        order_of(own)
    bare = replace(own, gpus=(0,), target=replace(layout_of(TARGET), places=()))
    with pytest.raises(ValueError, match="GPU 0"):
        order_of(bare)
