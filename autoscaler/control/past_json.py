"""The past as it is kept in the status ConfigMap.

What cannot be read is as if it were not there: it is found anew within the day.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from autoscaler.planning.past.demand_history import Service
from autoscaler.planning.past.value_history import PoolPast

# The ConfigMap holds 1 MiB; status and history take the smaller part of it.
MOST_CHARACTERS = 400_000

Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Number = Annotated[int, Field(ge=0)]


class PoolDocument(BaseModel):
    """One pool's past; ``reach`` holds chances and for how many instances each holds."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True)

    pool: str
    made_at: AwareDatetime
    inputs: str = ""
    gpus: str = ""
    sources: tuple[str, ...] = ()
    known_seconds: Amount = 0.0
    services: dict[str, tuple[Amount, Amount]] = {}
    home: dict[str, Number] = {}
    reach: dict[str, tuple[tuple[Chance, Number], ...]] = {}
    reason: str = ""
    notices: tuple[str, ...] = ()


def past_to_text(pasts: Iterable[PoolPast]) -> str:
    """Return the past of all pools, in order; too long ones without their reach."""
    own = sorted(pasts, key=lambda past: past.pool)
    text = _text([_document(past) for past in own])
    if len(text) <= MOST_CHARACTERS:
        return text
    note = "what was wanted at once is left out: it has no room in the ConfigMap"
    short = [_document(past).model_copy(update={"reach": {}}) for past in own]
    return _text([d.model_copy(update={"notices": (*d.notices, note)}) for d in short])


def past_from_text(text: str) -> dict[str, PoolPast]:
    """Return the past by pool; what cannot be read is left out."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    pasts: dict[str, PoolPast] = {}
    for item in found if isinstance(found, list) else ():
        try:
            document = PoolDocument.model_validate(item)
        except ValidationError:
            continue
        pasts[document.pool] = _past(document)
    return pasts


def _text(documents: list[PoolDocument]) -> str:
    content = [document.model_dump(mode="json", by_alias=True) for document in documents]
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _document(past: PoolPast) -> PoolDocument:
    return PoolDocument(
        pool=past.pool,
        made_at=datetime.fromtimestamp(past.made_at_s, UTC),
        inputs=past.inputs,
        gpus=past.gpus,
        sources=past.sources,
        known_seconds=past.known_s,
        services={name: (own.number, own.total_s) for name, own in past.services.items()},
        home=dict(past.home),
        reach={
            name: tuple((chance, len(list(same))) for chance, same in groupby(own))
            for name, own in past.reach.items()
        },
        reason=past.reason,
        notices=past.notices,
    )


def _past(document: PoolDocument) -> PoolPast:
    return PoolPast(
        pool=document.pool,
        made_at_s=document.made_at.timestamp(),
        inputs=document.inputs,
        gpus=document.gpus,
        sources=document.sources,
        known_s=document.known_seconds,
        services={name: Service(*own) for name, own in document.services.items()},
        home=document.home,
        reach={
            name: tuple(chance for chance, number in own for _ in range(min(number, 100_000)))
            for name, own in document.reach.items()
        },
        reason=document.reason,
        notices=document.notices,
    )
