"""The next act on the boards: order, what is left alone, and what cannot be done."""

from autoscaler.agent.work import Blocked, Create, Destroy, Impossible, next_work
from autoscaler.domain.cluster.board import Board, BoardInstance
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.rollout.agent_report import Order, Way

ONE, TWO = GpuInstance(0, 1, "1g.5gb"), GpuInstance(2, 2, "2g.10gb")
THREE, HALF = GpuInstance(0, 4, "3g.20gb"), GpuInstance(4, 4, "3g.20gb")


def board(*places, index=0, mig_enabled=True, bare=()):
    """Return a board; the device of an instance is named after its place."""
    instances = tuple(
        BoardInstance(n, place, () if place in bare else (f"MIG-{index}-{place.start}",))
        for n, place in enumerate(sorted(places))
    )
    return Board(index, f"GPU-{index}", "NVIDIA-A100-SXM4-40GB", mig_enabled, instances)


def order(*targets, num_gpus=None):
    """Return what the first boards shall be; those given as None do not change."""
    wanted = {i: Geometry(t) for i, t in enumerate(targets) if t is not None}
    return Order("r-1", Way.FORWARD, wanted, num_gpus or len(targets))


def acts(own, *boards, holders=None):
    """Return the next act as text."""
    return str(next_work(own, boards, holders or {}))


def test_what_is_to_go_goes_before_anything_comes():
    """A create needs its memory slices free."""
    assert acts(order((THREE,)), board(ONE, TWO)) == "destroy 1g.5gb@0 of GPU 0"
    assert acts(order((THREE,)), board(TWO)) == "destroy 2g.10gb@2 of GPU 0"
    assert acts(order((THREE,)), board()) == "create 3g.20gb@0 on GPU 0"
    assert next_work(order((THREE,)), (board(THREE),), {}) is None


def test_one_board_is_ended_before_the_next_is_begun():
    """Whoever dies then leaves one board half way."""
    own = order((THREE,), (THREE,))
    assert acts(own, board(ONE), board(ONE, index=1)) == "destroy 1g.5gb@0 of GPU 0"
    assert acts(own, board(), board(ONE, index=1)) == "create 3g.20gb@0 on GPU 0"
    assert acts(own, board(THREE), board(ONE, index=1)) == "destroy 1g.5gb@0 of GPU 1"


def test_kept_instances_are_never_touched():
    """What is there and wanted is neither destroyed nor created."""
    own = order((HALF, TWO))
    assert acts(own, board(HALF, ONE)) == "destroy 1g.5gb@0 of GPU 0"
    assert acts(own, board(HALF)) == "create 2g.10gb@2 on GPU 0"


def test_a_holder_anywhere_stops_everything():
    """Also on a board whose turn is later, and also without a process."""
    holders = {"MIG-1-0": PodRef("team", "b"), "MIG-1-4": PodRef("team", "c")}
    found = next_work(
        order((THREE,), (HALF,)), (board(ONE), board(ONE, HALF, index=1)), holders
    )
    assert found == Blocked("team/b holds 1g.5gb@0 of GPU 1")


def test_a_holder_of_any_part_of_a_split_instance_counts():
    """It would lose its compute instance with the rest."""
    instance = BoardInstance(1, THREE, ("MIG-a", "MIG-b"))
    own = Board(0, "GPU-0", "NVIDIA-A100-SXM4-40GB", True, (instance,))
    found = next_work(order((ONE,)), (own,), {"MIG-b": PodRef("team", "x")})
    assert found == Blocked("team/x holds 3g.20gb@0 of GPU 0")


def test_an_instance_without_compute_instance_is_completed_where_it_is_wanted():
    """Elsewhere it goes first."""
    own = order((ONE, TWO))
    assert acts(own, board(ONE, TWO, bare={TWO})) == "create 2g.10gb@2 on GPU 0"
    assert acts(own, board(ONE, HALF, bare={HALF})) == "destroy 3g.20gb@4 of GPU 0"


def test_boards_that_are_not_ordered_are_not_looked_at():
    """Whatever holds them, and whatever their mode is."""
    other = board(index=1, mig_enabled=False)
    assert acts(order((ONE,), None), board(), other) == "create 1g.5gb@0 on GPU 0"


def test_other_boards_than_those_of_the_plan_are_refused():
    """One has gone, or someone has turned its mode off."""
    assert next_work(order((ONE,), None), (board(),), {}) == Impossible(
        "the node has 1 GPUs, the plan saw 2"
    )
    assert next_work(order((ONE,)), (board(mig_enabled=False),), {}) == Impossible(
        "MIG mode is off on GPU 0"
    )


def test_acts_carry_the_board_and_the_place():
    """The driver is asked for just that."""
    destroyed = next_work(order((THREE,)), (board(ONE),), {})
    assert isinstance(destroyed, Destroy)
    assert (destroyed.board.uuid, destroyed.instance.place) == ("GPU-0", ONE)
    created = next_work(order((THREE,)), (board(),), {})
    assert isinstance(created, Create)
    assert (created.board.uuid, created.place) == ("GPU-0", THREE)
