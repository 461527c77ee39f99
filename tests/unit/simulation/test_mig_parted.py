"""mig-parted: what is untouched, what is lost, and what a failure leaves."""

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.configuration import Entry
from autoscaler.simulation.hardware import SimulatedGpu
from autoscaler.simulation.mig_parted import apply_instances, apply_mode, is_applied, orders
from autoscaler.simulation.timing import Timing
from tests.builders import model
from tests.worlds import HALVES, MIXED, SEVENS

TIMING = Timing()


def make_gpu(index: int, counts=None, key: str = "a100-40gb") -> SimulatedGpu:
    gpu = SimulatedGpu("n1", index, model(key), mig_enabled=counts is not None)
    for profile, number in sorted((counts or {}).items()):
        for _ in range(number):
            gpu.create(profile)
    return gpu


def entry(devices, counts, *, mig: bool = True) -> Entry:
    return Entry(devices=devices, mig_enabled=mig, mig_devices=Counts(counts))


def run(steps) -> tuple[bool, float]:
    """Run to the end; return the result and the seconds it took."""
    total_s = 0.0
    while True:
        try:
            total_s += next(steps)
        except StopIteration as end:
            return bool(end.value), total_s


def test_equal_multiset_is_untouched():
    """The instances of a GPU that has what is wished stay the very same."""
    kept, cut = make_gpu(0, HALVES), make_gpu(1, HALVES)
    before = kept.instances
    wish = (entry((0,), HALVES), entry((1,), SEVENS))
    done, seconds = run(apply_instances([kept, cut], wish, TIMING))
    assert done
    assert kept.instances == before
    assert cut.counts == Counts(SEVENS)
    assert seconds > 7


def test_orders_are_tried_until_one_works():
    """Large first blocks the last 1g, so a later order is the one that works."""
    gpu = make_gpu(0, {})
    done, _ = run(apply_instances([gpu], (entry(None, MIXED),), TIMING))
    assert done
    assert str(gpu.geometry) == "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4"


def test_instance_in_use_fails_and_leaves_the_gpu_half_empty():
    """What was visited before is gone, what is in use stays, nothing is created."""
    gpu = make_gpu(0, {"1g.5gb": 3})
    gpu.open_process(gpu.instances[1].uuid, "pod")
    done, _ = run(apply_instances([gpu], (entry(None, HALVES),), TIMING))
    assert not done
    assert str(gpu.geometry) == "1g.5gb@1 1g.5gb@2"


def test_failed_creation_leaves_the_gpu_empty():
    """There is no way back to the old instances."""
    gpu, later = make_gpu(0, HALVES), make_gpu(1, HALVES)
    gpu.refuses_creation = True
    wish = (entry((0, 1), SEVENS),)
    done, _ = run(apply_instances([gpu, later], wish, TIMING))
    assert not done
    assert gpu.instances == ()
    assert later.counts == Counts(HALVES)


def test_unlisted_gpu_is_never_applied():
    """A GPU that no entry names makes the comparison false for ever."""
    gpus = [make_gpu(0, HALVES), make_gpu(1, HALVES)]
    assert is_applied(gpus, (entry(None, HALVES),))
    assert not is_applied(gpus, (entry((0,), HALVES),))
    assert not is_applied(gpus, (entry(None, SEVENS),))


def test_one_wrong_mode_clears_every_gpu():
    """Also the GPU whose mode is right loses its instances."""
    on, off = make_gpu(0, HALVES), make_gpu(1, None)
    wish = (entry(None, HALVES),)
    run(apply_mode([on, off], wish, TIMING))
    assert on.instances == ()
    assert off.mig_enabled
    done, _ = run(apply_instances([on, off], wish, TIMING))
    assert done
    assert on.counts == off.counts == Counts(HALVES)


def test_error_of_the_mode_change_is_dropped():
    """A process keeps the mode as it is, and the run goes on to its failure."""
    on, off = make_gpu(0, HALVES), make_gpu(1, None)
    on.open_process(on.instances[1].uuid, "pod")
    wish = (entry(None, SEVENS),)
    run(apply_mode([on, off], wish, TIMING))
    assert not off.mig_enabled
    assert str(on.geometry) == "3g.20gb@4"
    done, _ = run(apply_instances([on, off], wish, TIMING))
    assert not done


def test_device_filter_restricts_an_entry():
    """An entry for other boards is not about this GPU."""
    gpu = make_gpu(0, HALVES)
    other = Entry(
        None, mig_enabled=True, mig_devices=Counts(SEVENS), device_filter=("0x233010DE",)
    )
    run(apply_instances([gpu], (other,), TIMING))
    assert gpu.counts == Counts(HALVES)


def test_orders_are_distinct():
    """Twelve orders of two pairs, each once."""
    found = list(orders(Counts(MIXED)))
    assert len(found) == len(set(found)) == 12
    assert list(orders(Counts())) == [()]
