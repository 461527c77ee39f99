"""Kept cases: what their files must hold, so that nothing that reads them meets less."""

import json
from math import isfinite
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from autoscaler.simulation.study.figures import Json

# A figure of more digits is none, and too much for some that reckon with it.
MOST_DIGITS = 15
Number = float | None


class _Form(BaseModel):
    """What is looked at of a part; there may be more."""

    model_config = ConfigDict(strict=True, extra="ignore", alias_generator=to_camel)


class KeptRatio(_Form):
    """One policy against another."""

    ratio: Annotated[float, Field(ge=0)] | None
    low: Number
    high: Number
    verdict: str


class KeptRun(_Form):
    """Figures of one policy."""

    policy: str
    unfinished: int
    mean_completion: Number
    mean_wait: Number
    wait: dict[str, Number]
    p95_wait: Annotated[dict[str, Number], Field(alias="p95Wait")]
    utilisation: Number
    fragmentation: Number
    unmet_slice_hours: Number
    changes: int
    evictions: int
    plan_gap_max: Number
    versus_static_past: KeptRatio | None = None
    peak_versus: dict[str, KeptRatio] = {}


class KeptCase(_Form):
    """A case, and what came of it under each policy."""

    case: str
    model: str
    gpus: Annotated[int, Field(ge=1)]
    notices: list[str] = []
    runs: Annotated[list[KeptRun], Field(min_length=1)]


def read_case(path: Path) -> Json | None:
    """Return a kept case; ``None`` when there is none, or none that is whole."""
    found = read_mapping(path)
    try:
        KeptCase.model_validate(found)
    except ValidationError:
        return None
    return found


def read_mapping(path: Path) -> Json | None:
    """Return the JSON object that a file holds, whole or not; ``None`` when it is none."""
    try:
        found = json.loads(
            path.read_text(encoding="utf-8"),
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_finite,
        )
    # What is nested beyond all measure was not written by us either.
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{text}: has too many digits")
    return int(text)


def _finite(text: str) -> float:
    if not isfinite(value := float(text)):
        raise ValueError(f"{text}: is not finite")
    return value
