"""Workloads that are drawn: one kind or several on top of each other."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.dates import MONDAY_S
from autoscaler.simulation.study.sources.diurnal import Diurnal
from autoscaler.simulation.study.sources.inference import InferenceFleet
from autoscaler.simulation.study.sources.pipelines import Pipelines
from autoscaler.simulation.study.sources.source import hash_of
from autoscaler.simulation.study.trace_file import Trace, in_order

Drawn = Annotated[Diurnal | Pipelines | InferenceFleet, Field(discriminator="kind")]
# Four weeks: enough of each weekday to learn from, and days to be judged on.
DAYS = 28
KINDS: Mapping[str, Diurnal | Pipelines | InferenceFleet] = {
    "diurnal": Diurnal(),
    "ci": Pipelines(),
    "inference": InferenceFleet(),
}


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Jobs of drawn workloads on some days.

    Parameters
    ----------
    parts
        Workloads; all their jobs come to one fleet.
    """

    parts: tuple[Diurnal | Pipelines | InferenceFleet, ...] = field(hash=False)
    days: int = DAYS
    seed: int = 0

    @property
    def name(self) -> str:
        """Kinds of its workloads."""
        return "+".join(part.kind for part in self.parts)

    @property
    def column(self) -> str:
        """What decides the profile."""
        return "drawn"

    def seeded(self, seed: int) -> "Synthetic":
        """Return the same workloads drawn by a seed."""
        return replace(self, seed=seed)

    def read(self, model: GpuModel) -> Trace:
        """Return the jobs."""
        # Each workload has a stream of its own: one more beside it changes nothing of it.
        streams = np.random.SeedSequence(self.seed).spawn(len(self.parts))
        rows = [
            row
            for part, stream in zip(self.parts, streams, strict=True)
            for row in part.rows(np.random.default_rng(stream), self.days)
        ]
        if not rows:
            raise ConfigError(f"{self.name}: no job came in {self.days} days")
        notice = f"{self.name}: jobs are drawn, not recorded"
        return Trace(
            self.name,
            in_order(rows),
            is_drawn=True,
            notices=(notice,),
            days=self.days,
            # The rhythm of weeks is drawn from a Monday on.
            zero_s=MONDAY_S,
        )

    def fingerprint(self) -> str:
        """Return a hash of all parameters."""
        parts = [part.model_dump_json() for part in self.parts]
        return hash_of(parts, self.days, self.seed)


def synthetic_named(text: str) -> Synthetic:
    """Return workloads given as ``diurnal`` or ``diurnal+ci``, as they are by default."""
    names = text.split("+")
    unknown = next((name for name in names if name not in KINDS), None)
    if unknown is not None:
        known = ", ".join(KINDS)
        raise ConfigError(f"{unknown!r} is no workload that can be drawn; known are {known}")
    return Synthetic(tuple(KINDS[name] for name in names))
