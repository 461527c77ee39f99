"""mig-parted: makes a configuration real on the GPUs of a node, in its own steps.

It compares multisets. A GPU that has what is wished stays untouched; any other loses
all its instances first and gets the wish in one order after another until one works.
There is no way back: a failure leaves what is left.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.configuration import Entries, Entry
from autoscaler.simulation.hardware import DriverError, DriverStatus, SimulatedGpu
from autoscaler.simulation.timing import Timing

# Boards that must be reset before a change of the MIG mode holds.
RESET_NEEDED = frozenset({"ampere"})

# Seconds to wait before the next step.
Steps = Generator[float, None, bool]


@dataclass(frozen=True, slots=True)
class Wish:
    """What one entry wants of one GPU."""

    gpu: SimulatedGpu
    entry: Entry

    @property
    def is_mode_right(self) -> bool:
        """Whether the MIG mode is as wished."""
        return self.gpu.mig_enabled == self.entry.mig_enabled

    @property
    def is_met(self) -> bool:
        """Whether mode and multiset are as wished."""
        return self.is_mode_right and self.gpu.counts == self.entry.mig_devices


def wishes_of(gpus: Sequence[SimulatedGpu], entries: Entries) -> list[Wish]:
    """Return what is wished of each GPU, in the order of the file."""
    return [Wish(gpu, entry) for entry in entries for gpu in gpus if _names(entry, gpu)]


def is_applied(gpus: Sequence[SimulatedGpu], entries: Entries) -> bool:
    """Say whether every GPU is named by an entry, and all entries are met."""
    wishes = wishes_of(gpus, entries)
    named = {wish.gpu.index for wish in wishes}
    return len(named) == len(gpus) and all(wish.is_met for wish in wishes)


def apply_mode(
    gpus: Sequence[SimulatedGpu], entries: Entries, timing: Timing
) -> Generator[float, None, None]:
    """Change the MIG mode where it differs; errors are dropped, as the manager does.

    One GPU with a wrong mode is enough for every GPU that is named to be cleared, and
    where a reset is needed all GPUs of the node are reset.
    """
    wishes = wishes_of(gpus, entries)
    if all(wish.is_mode_right for wish in wishes):
        return
    try:
        for wish in wishes:
            yield from _clear(wish.gpu, timing)
        yield timing.mode_change.draw(timing.seed, "mode", gpus[0].node)
        if any(wish.gpu.model.architecture in RESET_NEEDED for wish in wishes):
            _reset(gpus)
        for wish in wishes:
            wish.gpu.set_mig_mode(wish.entry.mig_enabled)
    except DriverError:
        return


def apply_instances(gpus: Sequence[SimulatedGpu], entries: Entries, timing: Timing) -> Steps:
    """Create what is wished where it differs; return whether all of it worked."""
    for wish in wishes_of(gpus, entries):
        if wish.is_met or not wish.entry.mig_enabled:
            continue
        done = yield from _recut(wish, timing)
        if not done:
            return False
    return True


def _recut(wish: Wish, timing: Timing) -> Steps:
    for order in orders(wish.entry.mig_devices):
        try:
            yield from _clear(wish.gpu, timing)
            for profile in order:
                yield timing.create.draw(timing.seed, "create", wish.gpu.uuid, profile)
                wish.gpu.create(profile)
        except DriverError:
            continue
        return True
    try:
        yield from _clear(wish.gpu, timing)
    except DriverError:
        # What is in use stays; the GPU is left half empty.
        return False
    return False


def orders(counts: Counts) -> Iterator[tuple[str, ...]]:
    """Yield the distinct orders of a multiset of profiles, larger names first."""
    if not counts:
        yield ()
    for name in reversed(list(counts)):
        for rest in orders(counts.minus({name: 1})):
            yield (name, *rest)


def _clear(gpu: SimulatedGpu, timing: Timing) -> Generator[float, None, None]:
    for instance in gpu.gpu_instances:
        gpu.destroy(instance.id)
        yield timing.destroy.draw(timing.seed, "destroy", instance.uuid)


def _reset(gpus: Sequence[SimulatedGpu]) -> None:
    # A client of any board makes the reset fail before it has touched one.
    for gpu in gpus:
        if any(gpu.is_in_use(device) for device in gpu.devices):
            raise DriverError(DriverStatus.IN_USE, f"{gpu.node}: reset all GPUs")
    for gpu in gpus:
        gpu.lose_instances()


def _names(entry: Entry, gpu: SimulatedGpu) -> bool:
    if entry.devices is not None and gpu.index not in entry.devices:
        return False
    boards = {text.partition(":")[0].lower() for text in entry.device_filter}
    return not boards or not boards.isdisjoint(f.lower() for f in gpu.model.device_filters)
