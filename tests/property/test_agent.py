"""Whatever is asked of the node agent, and wherever it dies, pods keep what they hold."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.cluster.inventory import parse_inventory
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import layouts
from autoscaler.domain.rollout.agent_report import Phase
from tests.agents import Desk, Killed, desk, order
from tests.builders import model

LAYOUTS = layouts(model(), model().plain_names)
geometries = st.sampled_from(LAYOUTS)
# One instance goes, one comes, one stays in use.
BEFORE, TARGET = (
    next(g for g in LAYOUTS if str(g) == "1g.5gb@0 3g.20gb@4"),
    next(g for g in LAYOUTS if str(g) == "2g.10gb@0 3g.20gb@4"),
)


def give(own: Desk, kept: Geometry) -> dict[str, str]:
    """Let a pod hold, and work on, each kept instance of the first board; return them."""
    for place in kept.instances:
        instance = next(i for i in own.gpus[0].instances if i.placement == place)
        own.given[instance.uuid] = PodRef("team", f"pod-{place.start}")
        own.gpus[0].open_process(instance.uuid, "pod")
    return {str(i.placement): i.uuid for i in own.gpus[0].instances if i.uuid in own.given}


def common(first: Geometry, second: Geometry) -> Geometry:
    """Return the instances that both hold."""
    return Geometry(tuple(i for i in first.instances if i in second.instances))


def check_end(own: Desk, target: Geometry, held: dict[str, str]) -> None:
    """The board is as asked, pods hold what they held, and the plugin knows all of it."""
    (gpu,) = own.gpus
    assert gpu.geometry == target
    assert {str(i.placement): i.uuid for i in gpu.instances if i.uuid in own.given} == held
    assert own.report.phase is Phase.DONE
    assert own.advertised == own.devices
    (shown,) = parse_inventory(own.inventory).gpus
    assert shown.geometry == target
    assert len(shown.holders) == len(held)


def killing(own: Desk, at_call: int) -> None:
    """Have the process die before its n-th call from now."""
    left = [at_call]

    def count(name: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed(name)

    own.before = count


def run_with_deaths(own: Desk, deaths: list[int]) -> int:
    """Run the agent to its rest; it dies as told. Return how many deaths there were."""
    died = 0
    for at_call in deaths:
        killing(own, at_call)
        try:
            own.run()
        except Killed:
            died += 1
            check_held(own)
        own.before = lambda name: None
    own.run()
    return died


def check_held(own: Desk) -> None:
    """At every moment each held device is there and in use."""
    for device in own.given:
        assert any(device in gpu.devices and gpu.is_in_use(device) for gpu in own.gpus)


@settings(max_examples=40, deadline=None)
@given(geometries, geometries, st.lists(st.integers(1, 900), max_size=4))
def test_any_layout_becomes_any_other_around_pods(before, target, deaths):
    """With deaths before any call of the API or of NVML."""
    own = desk(before)
    held = give(own, common(before, target))
    own.ask(order([before], [target], gpus=(0,)))
    run_with_deaths(own, deaths)
    check_end(own, target, held)


def test_a_death_before_every_single_call_leads_to_the_same_end():
    """One change with all kinds of acts, cut short everywhere."""
    own = desk(BEFORE)
    give(own, common(BEFORE, TARGET))
    own.ask(order([BEFORE], [TARGET]))
    calls = []
    own.before = calls.append
    own.run()
    assert len(calls) > 200
    for at_call in range(1, len(calls) + 1):
        own = desk(BEFORE)
        held = give(own, common(BEFORE, TARGET))
        own.ask(order([BEFORE], [TARGET]))
        assert run_with_deaths(own, [at_call]) == 1
        check_end(own, TARGET, held)


@settings(max_examples=40, deadline=None)
@given(geometries, geometries, st.integers(1, 900), st.lists(st.integers(1, 900), max_size=2))
def test_the_way_back_leads_back_from_anywhere(before, target, at_call, deaths):
    """The leader gives up at any moment, and the agent may die on the way back too."""
    own = desk(before)
    held = give(own, common(before, target))
    forward = order([before], [target], gpus=(0,))
    own.ask(forward)
    killing(own, at_call)
    try:
        own.run()
    except Killed:
        check_held(own)
    own.before = lambda name: None
    own.ask(replace(forward, state=State.ROLLING_BACK))
    run_with_deaths(own, deaths)
    check_end(own, before, held)


@settings(max_examples=40, deadline=None)
@given(geometries, geometries, st.data())
def test_an_instance_with_a_holder_is_never_destroyed(before, target, data):
    """Nothing at all is done as long as one of them is to go."""
    doomed = [i for i in before.instances if i not in target.instances]
    own = desk(before)
    if not doomed:
        return
    place = data.draw(st.sampled_from(doomed))
    instance = next(i for i in own.gpus[0].instances if i.placement == place)
    # A pod without a process: NVML would let its instance go.
    own.given[instance.uuid] = PodRef("team", "idle")
    own.ask(order([before], [target]))
    own.turns(8)
    assert own.gpus[0].geometry == before
    assert (own.report.phase, own.evicted) == (Phase.BLOCKED, [])
    assert f"team/idle holds {place}" in own.report.message


@settings(max_examples=20, deadline=None)
@given(geometries, geometries, geometries)
def test_boards_that_do_not_change_are_not_touched(before, target, other):
    """Not even when they are not as the journal says."""
    own = desk(before, other)
    devices = own.gpus[1].devices
    own.ask(order([before, Geometry()], [target, Geometry()], gpus=(0,)))
    own.run()
    assert own.gpus[0].geometry == target
    assert own.gpus[1].devices == devices


@settings(max_examples=40, deadline=None)
@given(geometries, geometries, st.data())
def test_what_a_crash_of_another_tool_left_is_completed_or_removed(before, target, data):
    """A GPU instance without compute instance is in nobody's way."""
    taken = data.draw(st.sampled_from([g for g in LAYOUTS if g.instances]))
    own = desk(Geometry())
    for place in taken.instances:
        own.gpus[0].create_gpu_instance(place.profile, place.start)
    own.ask(order([Geometry()], [target], gpus=(0,)))
    own.run()
    check_end(own, target, {})
    assert len(own.gpus[0].gpu_instances) == len(target.instances)
