"""Small studies for tests: jobs, fleets and works on one kind of GPU."""

from collections.abc import Sequence
from typing import Any

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.placement import place
from autoscaler.simulation.study.jobs import StudyJob
from autoscaler.simulation.study.light import LightFleet
from autoscaler.simulation.study.splits import Work, numbered
from tests.builders import model

MODEL = model()
ONE, TWO, THREE, FOUR, WHOLE = "1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"
SIZES = (ONE, TWO, THREE, FOUR, WHOLE)


def jobs(*rows: tuple[float, float, str], **changes: Any) -> tuple[StudyJob, ...]:
    """Return jobs given as arrival, run time and profile."""
    return numbered(StudyJob(at_s, 0, run_s, name, **changes) for at_s, run_s, name in rows)


def work(*rows: tuple[float, float, str], span_s: float = 86_400.0) -> Work:
    return Work(jobs(*rows), span_s)


def layouts(*gpus: dict[str, int]) -> tuple[Geometry, ...]:
    found: Sequence[Geometry | None] = [place(MODEL, Counts(counts)) for counts in gpus]
    return tuple(geometry for geometry in found if geometry is not None)


def fleet(*gpus: dict[str, int], gpus_per_node: int = 1) -> LightFleet:
    return LightFleet(MODEL, layouts(*gpus), gpus_per_node)
