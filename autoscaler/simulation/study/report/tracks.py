"""Which instance was where on every GPU over time, and who held it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autoscaler.domain.mig.geometry import GpuInstance
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.outcome import JobTimes, Outcome
from autoscaler.simulation.study.splits import Case


@dataclass(frozen=True, slots=True)
class Block:
    """An instance of a GPU for a time.

    Parameters
    ----------
    instance
        Where on the GPU it is.
    times
        Of the job that held it; ``None`` where only the instance is meant.
    """

    gpu: str
    start_s: float
    end_s: float
    instance: GpuInstance
    times: JobTimes | None = None

    @property
    def span_s(self) -> float:
        """How long it lasted."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class Thinned:
    """The blocks that are drawn, by time; the shortest are left out first.

    Parameters
    ----------
    left_out
        How many are not there.
    shortest_s
        Length of the shortest that is.
    """

    blocks: tuple[Block, ...]
    left_out: int
    shortest_s: float


def gpus_of(outcome: Outcome) -> tuple[str, ...]:
    """Return the GPUs whose layout is known, numbers in their own order."""
    return tuple(sorted({cut.where for cut in outcome.cuts if cut.geometry}, key=_natural))


def instance_blocks(outcome: Outcome, case: Case) -> list[Block]:
    """Return when each instance was there, within the days of the case."""
    end_s = case.present.span_s
    since: dict[str, dict[GpuInstance, float]] = {}
    blocks = []
    for cut in outcome.cuts:
        if cut.geometry is None or cut.at_s >= end_s:
            continue
        own = since.setdefault(cut.where, {})
        for instance in [i for i in own if i not in cut.geometry.instances]:
            blocks.append(Block(cut.where, own.pop(instance), cut.at_s, instance))
        for instance in cut.geometry.instances:
            own.setdefault(instance, cut.at_s)
    blocks += [
        Block(gpu, start_s, end_s, instance)
        for gpu, own in since.items()
        for instance, start_s in own.items()
    ]
    return sorted(blocks, key=_order)


def job_blocks(outcome: Outcome, case: Case) -> list[Block]:
    """Return when each job held which instance, within the days of the case."""
    end_s = case.present.span_s
    blocks = []
    for times in outcome.jobs:
        instance = _instance(case.model, times.place[1])
        if instance is None or times.start_s is None or times.start_s >= end_s:
            continue
        until_s = end_s if times.end_s is None else min(times.end_s, end_s)
        blocks.append(Block(times.place[0], times.start_s, until_s, instance, times))
    return sorted(blocks, key=_order)


def longest(blocks: Sequence[Block], most: int) -> Thinned:
    """Return no more than so many blocks, the longest; those of equal length by time."""
    kept = sorted(blocks, key=lambda block: (-block.span_s, _order(block)))[:most]
    shortest_s = min((block.span_s for block in kept), default=0.0)
    return Thinned(tuple(sorted(kept, key=_order)), len(blocks) - len(kept), shortest_s)


def gpu_text(name: str) -> str:
    """Return the name of a GPU as people read it: fleets without nodes only number them."""
    return f"GPU {name}" if name.isdecimal() else name.removesuffix(" GPU 0")


def on(blocks: Iterable[Block], gpus: Sequence[str]) -> list[Block]:
    """Return the blocks of some GPUs."""
    chosen = set(gpus)
    return [block for block in blocks if block.gpu in chosen]


def _instance(model: GpuModel, text: str) -> GpuInstance | None:
    name, _, start = text.partition("@")
    profile = model.profile(name)
    if profile is None or not start.isdecimal():
        return None
    return GpuInstance(int(start), profile.memory_slices, name)


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    parts = re.findall(r"\d+|\D+", name)
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)


def _order(block: Block) -> tuple[float, tuple[tuple[int, str], ...], int]:
    return block.start_s, _natural(block.gpu), block.instance.start
