"""The node agent turn by turn: what it shows, what it waits for, what it refuses."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.inventory import parse_inventory
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.errors import Unavailable
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.rollout.agent_report import Phase, Report, Way
from autoscaler.simulation.hardware import SimulatedGpu
from tests.agents import desk, layout_of, operand, order
from tests.builders import model
from tests.nvml_library import Code
from tests.rollouts import journal

SMALL = Geometry((GpuInstance(0, 1, "1g.5gb"), GpuInstance(1, 1, "1g.5gb")))
HALVES = Geometry((GpuInstance(0, 4, "3g.20gb"), GpuInstance(4, 4, "3g.20gb")))
HALF = Geometry((GpuInstance(4, 4, "3g.20gb"),))


def refusing(name, code):
    """Return a hook that lets one function of NVML return a code."""

    def refuse(called):
        if called == name:
            raise Code(code)

    return refuse


def holders(own):
    """Return who holds what, by the inventory on the node."""
    gpus = parse_inventory(own.inventory).gpus
    return {str(pod): str(place) for gpu in gpus for pod, place in gpu.holders}


# Without a rollout.


def test_a_new_agent_shows_its_boards_at_once():
    """With placements, holders and the mode of each."""
    own = desk(SMALL, None)
    own.given[own.gpus[0].instances[1].uuid] = PodRef("team", "a")
    own.run()
    shown = parse_inventory(own.inventory)
    assert [g.mig_enabled for g in shown.gpus] == [True, False]
    assert shown.gpus[0].geometry == SMALL
    assert holders(own) == {"team/a": "1g.5gb@1"}
    assert own.report is None


def test_an_inventory_is_written_only_when_it_changes_and_not_too_often():
    """Pods come and go; each write is one to the API server."""
    own = desk(SMALL)
    agent = own.run()
    own.turns(3, agent)
    assert len(own.written) == 1
    own.given[own.gpus[0].instances[0].uuid] = PodRef("team", "a")
    (turn,) = own.turns(1, agent)
    assert len(own.written) == 1
    assert turn.again_at_s - own.clock.now_s() <= 10.0
    own.run(agent)
    assert holders(own) == {"team/a": "1g.5gb@0"}
    assert len(own.written) == 2


def test_the_rest_of_a_rollout_that_is_over_is_removed():
    """The next one must not take it for an answer."""
    own = desk(SMALL)
    own.edit({"mig-autoscaler.io/agent": Report("r-0", Phase.DONE).to_text()})
    own.run()
    assert own.report is None


def test_an_orphan_of_a_crash_is_removed_after_a_while():
    """Another tool may be between its two calls."""
    own = desk(SMALL)
    own.gpus[0].create_gpu_instance("2g.10gb", 2)
    agent = own.start_agent()
    began_s = own.clock.now_s()
    assert own.turns(1, agent)[-1].again_at_s == began_s + 60.0
    assert len(own.gpus[0].gpu_instances) == 3
    own.run(agent)
    assert len(own.gpus[0].gpu_instances) == 2
    assert "2g.10gb" not in own.inventory


def test_an_orphan_that_someone_completes_stays():
    """It was nobody's only for a moment."""
    own = desk(SMALL)
    made = own.gpus[0].create_gpu_instance("2g.10gb", 2)
    agent = own.start_agent()
    own.turns(1, agent)
    own.gpus[0].create_compute_instance(made.id)
    own.clock.sleep(200.0)
    own.run(agent)
    assert own.geometries == ["1g.5gb@0 1g.5gb@1 2g.10gb@2"]


def test_what_appears_later_is_someone_elses():
    """Only the rest of our own crash is looked for, and that was there at the start."""
    own = desk(SMALL)
    agent = own.run()
    own.gpus[0].create_gpu_instance("2g.10gb", 2)
    own.clock.sleep(200.0)
    own.run(agent)
    assert len(own.gpus[0].gpu_instances) == 3


def test_an_orphan_in_use_is_left_alone():
    """Something we do not see is on it; it is not tried again."""
    own = desk(SMALL)
    own.gpus[0].create_gpu_instance("2g.10gb", 2)
    own.before = refusing("nvmlGpuInstanceDestroy", 19)
    own.run()
    assert own.library.calls.count("nvmlGpuInstanceDestroy") == 1


# Between the cordon and the order.


def test_a_closed_node_is_looked_at_anew():
    """The answer and the inventory come in one write."""
    own = desk(SMALL)
    agent = own.run()
    own.given[own.gpus[0].instances[0].uuid] = PodRef("team", "late")
    own.ask(order([SMALL], [HALVES], State.DRAINING))
    own.run(agent)
    assert (own.report.rollout, own.report.phase, own.report.way) == (
        "node-a-1",
        Phase.SEEN,
        None,
    )
    assert holders(own) == {"team/late": "1g.5gb@0"}
    assert own.written[-1].resource_version != ""


def test_pods_that_leave_a_closed_node_are_shown_at_once():
    """The loop waits for just that."""
    own = desk(SMALL)
    device = own.gpus[0].instances[0].uuid
    own.given[device] = PodRef("team", "a")
    own.ask(order([SMALL], [HALVES], State.DRAINING))
    agent = own.run()
    del own.given[device]
    own.turns(1, agent)
    assert holders(own) == {}


def test_boards_that_are_not_as_the_plan_saw_them_are_told():
    """Someone has cut them meanwhile, so the plan is worth nothing."""
    own = desk(HALF)
    own.ask(order([SMALL], [HALVES], State.DRAINING))
    own.run()
    assert own.report.phase is Phase.FAILED
    assert own.report.message == "GPU 0 holds 3g.20gb@4, the plan saw 1g.5gb@0 1g.5gb@1"


def test_a_rollout_of_mig_manager_is_none_of_its_business():
    """The policy may have changed in the middle of one."""
    own = desk(SMALL)
    own.ask(journal(State.APPLYING))
    own.run()
    assert (own.report, own.geometries) == (None, ["1g.5gb@0 1g.5gb@1"])


# Under an order.


def test_an_order_is_carried_out_and_the_plugin_started_anew():
    """Each operand goes once, and what the plugin then finds is the target."""
    own = desk(SMALL)
    own.pods = (operand(), operand("gpu-feature-discovery", uid="uid-gfd-0"))
    own.ask(order([SMALL], [HALVES]))
    own.run()
    assert own.geometries == ["3g.20gb@0 3g.20gb@4"]
    assert own.advertised == own.devices
    assert sorted(p.uid for p in own.evicted) == ["uid-gfd-0", "uid-plugin-0"]
    assert (own.report.phase, own.report.way) == (Phase.DONE, Way.FORWARD)


def test_phases_come_in_their_order():
    """Whoever reads them knows what has happened and what has not."""
    own = desk(SMALL)
    own.ask(order([SMALL], [HALVES]))
    own.run()
    texts = [p.annotations["mig-autoscaler.io/agent"] for p in own.written]
    phases = [text.partition('"phase":"')[2].partition('"')[0] for text in texts]
    assert phases == ["working", "restarting", "done"]


def test_d04_the_order_of_creation_does_not_matter():
    """A 3g, a 2g and two 1g go to their places, wherever the driver would have put them."""
    target = Geometry(
        (
            GpuInstance(4, 4, "3g.20gb"),
            GpuInstance(0, 2, "2g.10gb"),
            GpuInstance(2, 1, "1g.5gb"),
            GpuInstance(3, 1, "1g.5gb"),
        )
    )
    own = desk(Geometry())
    own.ask(order([Geometry()], [target]))
    own.run()
    assert own.geometries == ["2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4"]


def test_the_plugin_is_waited_for():
    """As long as the old one is there, or the new one is not ready, nothing is done."""
    own = desk(SMALL)
    stuck = operand(deletion_s=own.clock.now_s())
    own.pods = (stuck,)
    own.ask(order([SMALL], [HALVES]))
    agent = own.start_agent()
    own.turns(12, agent)
    assert (own.report.phase, own.evicted) == (Phase.RESTARTING, [])
    own.pods = (operand(uid="uid-plugin-1", ready=False),)
    own.turns(2, agent)
    assert own.report.phase is Phase.RESTARTING
    own.pods = (operand(uid="uid-plugin-1"),)
    own.run(agent)
    assert own.report.phase is Phase.DONE


def test_boards_that_change_after_the_end_need_the_plugin_again():
    """What it has found when it started is not there any more."""
    own = desk(SMALL)
    own.ask(order([SMALL], [HALVES]))
    agent = own.run()
    own.gpus[0].destroy(own.gpus[0].instances[0].id)
    own.run(agent)
    assert own.geometries == ["3g.20gb@0 3g.20gb@4"]
    assert (own.report.phase, len(own.evicted)) == (Phase.DONE, 2)
    assert own.advertised == own.devices


def test_an_instance_in_use_by_another_client_blocks_and_is_never_forced():
    """What it is, and since when, is told; it goes on when the client has gone."""
    own = desk(SMALL)
    device = own.gpus[0].instances[1].uuid
    own.gpus[0].open_process(device, "monitor")
    own.ask(order([SMALL], [HALVES]))
    agent = own.start_agent()
    own.turns(6, agent)
    first = own.report
    own.turns(6, agent)
    assert (own.report.phase, own.report.since_s) == (Phase.BLOCKED, first.since_s)
    assert "destroy 1g.5gb@1 of GPU 0" in own.report.message
    assert "IN_USE (19)" in own.report.message
    assert own.gpus[0].devices == {device}
    own.gpus[0].close_process(device, "monitor")
    own.run(agent)
    assert own.report.phase is Phase.DONE


@pytest.mark.parametrize(
    ("function", "code", "name"),
    [
        ("nvmlDeviceCreateGpuInstanceWithPlacement", 23, "INSUFFICIENT_RESOURCES"),
        ("nvmlDeviceCreateGpuInstanceWithPlacement", 4, "NO_PERMISSION"),
        ("nvmlGpuInstanceCreateComputeInstance", 999, "UNKNOWN"),
        ("nvmlComputeInstanceDestroy", 15, "GPU_IS_LOST"),
    ],
)
def test_what_the_driver_refuses_for_good_fails(function, code, name):
    """Once, without another try: the loop decides what comes next."""
    own = desk(SMALL)
    own.before = refusing(function, code)
    own.ask(order([SMALL], [HALVES]))
    agent = own.run()
    assert own.report.phase is Phase.FAILED
    assert f"{name} ({code})" in own.report.message
    own.run(agent)
    assert own.library.calls.count(function) == 1


def test_a_driver_that_is_busy_is_asked_again():
    """A time-out is no answer."""
    own = desk(SMALL)
    own.before = refusing("nvmlComputeInstanceDestroy", 10)
    own.ask(order([SMALL], [HALVES]))
    agent = own.start_agent()
    own.turns(4, agent)
    assert own.report.phase is Phase.WORKING
    own.before = lambda name: None
    own.run(agent)
    assert own.report.phase is Phase.DONE


def test_a_lost_board_fails_the_rollout_and_keeps_the_last_inventory():
    """What cannot be read is not shown as gone."""
    own = desk(SMALL)
    agent = own.run()
    shown = own.inventory
    own.ask(order([SMALL], [HALVES]))
    own.before = refusing("nvmlDeviceGetUUID", 15)
    own.turns(3, agent)
    assert own.report.phase is Phase.FAILED
    assert "GPU_IS_LOST (15)" in own.report.message
    assert own.inventory == shown


def test_a_silent_kubelet_stops_everything():
    """Who holds what is not known, so nothing is destroyed and nothing shown."""
    own = desk(SMALL)
    own.ask(order([SMALL], [HALVES]))

    def silent(name):
        if name == "holders":
            raise Unavailable("kubelet does not answer")

    own.before = silent
    turn = own.turns(3)[-1]
    assert (turn.did, own.written) == ("kubelet does not answer", [])
    assert own.geometries == ["1g.5gb@0 1g.5gb@1"]


def test_other_boards_under_the_same_indexes_are_not_touched():
    """One has dropped off the bus, and the next one has its number now."""
    own = desk(SMALL, SMALL)
    own.ask(order([SMALL, SMALL], [HALVES, SMALL], State.DRAINING))
    agent = own.run()
    other = SimulatedGpu("node-b", 0, model())
    other.create("1g.5gb", 0), other.create("1g.5gb", 1)
    own.library.gpus[0] = other
    own.ask(order([SMALL, SMALL], [HALVES, SMALL]))
    own.run(agent)
    assert own.report.phase is Phase.FAILED
    assert "not those that the rollout began with" in own.report.message
    assert str(other.geometry) == "1g.5gb@0 1g.5gb@1"


def test_a_journal_without_places_fails():
    """It cannot be guessed what shall be kept."""
    own = desk(SMALL)
    asked = order([SMALL], [HALVES])
    own.ask(replace(asked, target=replace(layout_of([HALVES]), places=())))
    own.run()
    assert own.report.phase is Phase.FAILED
    assert "does not say where the instances of GPU 0 shall be" in own.report.message


def test_an_answer_to_a_journal_that_has_gone_on_is_not_written():
    """The node has another version then, and it looks again."""
    own = desk(SMALL)
    own.ask(order([SMALL], [HALVES], State.DRAINING))
    agent = own.start_agent()

    def overtaken(name):
        if name == "patch_node" and not own.written:
            own.before = lambda name: None
            own.ask(order([SMALL], [HALVES]))

    own.before = overtaken
    (turn,) = own.turns(1, agent)
    assert turn.did.startswith("someone else wrote first")
    assert own.report is None
    own.run(agent)
    assert own.report.phase is Phase.DONE


# What is left behind.


def test_a_way_back_that_fails_ends_with_a_new_plugin():
    """The node may be opened with what is left, so that must be what is offered."""
    own = desk(SMALL)
    forward = order([SMALL], [HALVES])
    own.ask(forward)
    own.before = refusing("nvmlDeviceCreateGpuInstanceWithPlacement", 23)
    agent = own.run()
    assert (own.report.phase, own.report.way, own.evicted) == (Phase.FAILED, Way.FORWARD, [])
    assert not own.report.is_settled
    own.ask(replace(forward, state=State.ROLLING_BACK))
    own.run(agent)
    assert (own.report.phase, own.report.way) == (Phase.FAILED, Way.BACK)
    assert "INSUFFICIENT_RESOURCES" in own.report.message
    assert (own.report.is_settled, len(own.evicted)) == (True, 1)
    assert own.advertised == own.devices == frozenset()


def test_a_lost_board_on_the_way_back_ends_with_a_new_plugin_too():
    """That needs no board."""
    own = desk(SMALL)
    forward = order([SMALL], [HALVES])
    own.ask(forward)
    agent = own.run()
    own.ask(replace(forward, state=State.ROLLING_BACK))
    own.before = refusing("nvmlDeviceGetUUID", 15)
    own.turns(6, agent)
    assert (own.report.phase, own.report.way) == (Phase.FAILED, Way.BACK)
    assert "GPU_IS_LOST" in own.report.message
    assert len(own.evicted) == 2


def test_a_rollout_that_ended_without_us_is_ended_by_a_new_plugin():
    """The loop gave up while we were dead half way, and the plugin offers what is gone."""
    own = desk(SMALL)
    own.ask(order([SMALL], [HALVES]))
    own.turns(3)
    assert own.advertised != own.devices
    own.ask(None)
    own.run()
    assert own.advertised == own.devices
    assert (own.report, len(own.evicted)) == (None, 1)


@pytest.mark.parametrize(
    ("phase", "way", "settled"),
    [
        (Phase.SEEN, None, True),
        (Phase.FAILED, None, True),
        (Phase.WORKING, Way.FORWARD, False),
        (Phase.BLOCKED, Way.FORWARD, False),
        (Phase.RESTARTING, Way.BACK, False),
        (Phase.FAILED, Way.FORWARD, False),
        (Phase.FAILED, Way.BACK, True),
        (Phase.DONE, Way.FORWARD, True),
    ],
)
def test_what_was_begun_is_settled_by_a_new_plugin_only(phase, way, settled):
    """Or when nothing was begun."""
    assert Report("r", phase, way).is_settled is settled
