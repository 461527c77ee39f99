"""What the port of the GPU driver promises, by each who fulfills it.

Both stand on the same simulated boards: one directly, the other as on a node, through
NVIDIA's binding and a stand-in of the shared library below it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from autoscaler.domain.cluster.board import Board
from autoscaler.domain.errors import InUse, NoRoom, NotFound, Refused
from autoscaler.domain.mig.geometry import GpuInstance
from autoscaler.domain.mig.profile import load_models
from autoscaler.ports import GpuDriver
from autoscaler.simulation.hardware import SimulatedGpu
from autoscaler.simulation.nvml import SimulatedNvml
from autoscaler.simulation.timing import Timing
from tests.builders import model
from tests.nvml_library import nvml_driver

SMALL = GpuInstance(6, 1, "1g.5gb")
THREE = GpuInstance(0, 4, "3g.20gb")
MODELS = [m for m in load_models() if all(p.gi_profile_id is not None for p in m.profiles)]


@dataclass(frozen=True)
class Bench:
    """Two boards, the second with MIG off, and a driver for them."""

    gpus: tuple[SimulatedGpu, ...]
    driver: GpuDriver

    @property
    def board(self) -> Board:
        """The first board as it is read."""
        return self.driver.read()[0]

    @property
    def uuid(self) -> str:
        """UUID of the first board."""
        return self.gpus[0].uuid


def simulated(gpus: tuple[SimulatedGpu, ...]) -> GpuDriver:
    return SimulatedNvml(gpus, Timing())


def real(gpus: tuple[SimulatedGpu, ...]) -> GpuDriver:
    return nvml_driver(gpus)[0]


@pytest.fixture(params=[simulated, real], ids=["simulated", "nvml"])
def make(request):
    return request.param


@pytest.fixture
def bench(make: Callable[[tuple[SimulatedGpu, ...]], GpuDriver]) -> Bench:
    gpus = (
        SimulatedGpu("n1", 0, model()),
        SimulatedGpu("n1", 1, model(), mig_enabled=False),
    )
    return Bench(gpus, make(gpus))


def test_boards_are_read_with_all_their_instances(bench):
    """In placement order, with the devices that pods get."""
    small, three = bench.gpus[0].create("1g.5gb", 6), bench.gpus[0].create("3g.20gb", 0)
    cut, whole = bench.driver.read()
    assert (cut.index, cut.uuid, cut.mig_enabled) == (0, bench.uuid, True)
    assert cut.product == "NVIDIA-A100-SXM4-40GB"
    assert [i.place for i in cut.instances] == [THREE, SMALL]
    assert [i.devices for i in cut.instances] == [(three.uuid,), (small.uuid,)]
    assert [i.id for i in cut.instances] == [three.id, small.id]
    assert (whole.index, whole.mig_enabled, whole.instances) == (1, False, ())
    assert bench.driver.version() == "580.95.05"


def test_an_instance_is_created_where_it_is_asked_for(bench):
    """With its compute instance, and kept when it is asked for again."""
    made = bench.driver.create(bench.uuid, SMALL)
    assert (made.place, made.is_bare) == (SMALL, False)
    assert bench.driver.create(bench.uuid, SMALL) == made
    assert bench.board.instances == (made,)


@pytest.mark.parametrize("start", [0, 2, 4, 6])
def test_more_memory_variants_are_told_apart(bench, start):
    """The name of a profile decides, not the slices it takes."""
    place = GpuInstance(start, 2, "1g.10gb")
    bench.driver.create(bench.uuid, place)
    assert [i.place for i in bench.board.instances] == [place]


def test_a_taken_place_is_no_room(bench):
    """Also when only a part of it is taken, and by whatever."""
    bench.driver.create(bench.uuid, THREE)
    with pytest.raises(NoRoom):
        bench.driver.create(bench.uuid, GpuInstance(2, 2, "2g.10gb"))
    bench.gpus[0].create_gpu_instance("1g.5gb", 5)
    with pytest.raises(NoRoom):
        bench.driver.create(bench.uuid, GpuInstance(4, 2, "2g.10gb"))
    assert [str(i.place) for i in bench.board.instances] == ["3g.20gb@0", "1g.5gb@5"]


def test_engines_that_run_out_are_no_room(bench):
    """There is one instance with media extensions on a board."""
    bench.driver.create(bench.uuid, GpuInstance(0, 1, "1g.5gb+me"))
    with pytest.raises(NoRoom):
        bench.driver.create(bench.uuid, GpuInstance(1, 1, "1g.5gb+me"))


@pytest.mark.parametrize(
    "place",
    [
        GpuInstance(1, 2, "2g.10gb"),
        GpuInstance(0, 1, "1g.6gb"),
        GpuInstance(0, 2, "1g.5gb"),
    ],
    ids=["illegal start", "unknown profile", "wrong size"],
)
def test_what_no_board_can_be_is_refused(bench, place):
    """Nothing is created instead."""
    with pytest.raises(Refused) as caught:
        bench.driver.create(bench.uuid, place)
    assert not isinstance(caught.value, NoRoom | InUse)
    assert bench.board.instances == ()


def test_a_destroyed_instance_is_gone(bench):
    """It cannot be destroyed again, not even when its id is used anew."""
    (made,) = [bench.driver.create(bench.uuid, SMALL)]
    bench.driver.destroy(bench.uuid, made)
    assert bench.board.instances == ()
    with pytest.raises(NotFound):
        bench.driver.destroy(bench.uuid, made)
    other = bench.driver.create(bench.uuid, GpuInstance(0, 1, "1g.5gb"))
    assert other.id == made.id
    with pytest.raises(NotFound):
        bench.driver.destroy(bench.uuid, made)
    assert bench.board.instances == (other,)


def test_an_instance_in_use_is_never_destroyed_by_force(bench):
    """Whoever is on it stays, and so does it."""
    made = bench.driver.create(bench.uuid, SMALL)
    bench.gpus[0].open_process(made.devices[0], "monitor")
    with pytest.raises(InUse):
        bench.driver.destroy(bench.uuid, made)
    assert bench.board.instances == (made,)
    bench.gpus[0].close_process(made.devices[0], "monitor")
    bench.driver.destroy(bench.uuid, made)
    assert bench.board.instances == ()


def test_an_instance_without_compute_instance_is_shown_completed_and_destroyed(bench):
    """It is what a crash between two calls leaves."""
    bench.gpus[0].create_gpu_instance("1g.5gb", 6)
    (bare,) = bench.board.instances
    assert (bare.place, bare.is_bare) == (SMALL, True)
    made = bench.driver.create(bench.uuid, SMALL)
    assert (made.id, made.is_bare) == (bare.id, False)
    bench.gpus[0].destroy_compute_instance(made.id)
    (bare,) = bench.board.instances
    bench.driver.destroy(bench.uuid, bare)
    assert bench.board.instances == ()


def test_a_board_that_is_not_there_is_not_found(bench):
    """It may have dropped off the bus."""
    with pytest.raises(NotFound):
        bench.driver.create("GPU-elsewhere", SMALL)


def test_a_board_with_mig_off_is_never_cut(bench):
    """Nobody turns its mode on for that."""
    with pytest.raises(Refused):
        bench.driver.create(bench.gpus[1].uuid, SMALL)
    assert not bench.gpus[1].mig_enabled


def test_a_refresh_can_be_asked_for_at_any_time(bench):
    """It changes no board."""
    before = bench.driver.read()
    bench.driver.refresh()
    assert bench.driver.read() == before


@pytest.mark.parametrize("own", MODELS, ids=[m.key for m in MODELS])
def test_every_profile_of_the_table_can_be_created_by_its_name(make, own):
    """On every board of which NVML's ids are known, at its last legal start."""
    for profile in own.profiles:
        gpu = SimulatedGpu("n1", 0, own)
        driver = make((gpu,))
        place = GpuInstance(profile.starts[-1], profile.memory_slices, profile.name)
        made = driver.create(gpu.uuid, place)
        assert driver.read()[0].instances == (made,)
        assert (made.place, str(gpu.geometry)) == (place, str(place))
