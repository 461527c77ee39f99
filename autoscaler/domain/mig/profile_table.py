"""The profile table as it is written: rows of JSON, checked field by field.

What the rows mean, and whether they fit together, is the business of ``profile``.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autoscaler.domain.errors import ConfigError

Confidence = Literal["primary", "derived", "guess", "unknown"]
Slices = Annotated[int, Field(ge=1)]
Amounts = dict[str, Annotated[int, Field(ge=0)]]
DeviceFilter = Annotated[str, Field(pattern=r"^0x[0-9A-F]{8}$")]


class ProfileRow(BaseModel):
    """One profile of the table."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    name: str
    gi_profile_id: int | None
    nvml_profile_index: int | None
    compute_slices: Slices
    memory_slices: Slices
    starts: tuple[Annotated[int, Field(ge=0)], ...]
    max_instances: Slices
    memory_mib: int | None
    sm_count: int | None
    media: Literal["default", "one", "all", "none"]
    gfx: bool
    more_memory: bool
    engines: Amounts | None
    min_driver: str


class GpuRow(BaseModel):
    """One GPU model of the table."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    key: str
    chip: str | None
    architecture: str
    compute_capability: str
    memory_gb: Slices
    compute_slices: Slices
    memory_slices: Slices
    engine_totals: Amounts | None
    all_balanced: Amounts | None
    mode_change_needs_gpu_reset: bool
    mode_survives_reboot: bool
    products: tuple[str, ...]
    device_filters: tuple[DeviceFilter, ...]
    confidence: dict[str, Confidence]
    sources: tuple[str, ...]
    profiles: tuple[ProfileRow, ...]


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    schema_version: Literal[1]
    gpus: tuple[GpuRow, ...]


def read_table(text: str, source: str) -> tuple[GpuRow, ...]:
    """Return the rows of a table in JSON.

    Raises
    ------
    ConfigError
        When the text is no such table; the message names ``source`` and the field.
    """
    try:
        return _Table.model_validate_json(text).gpus
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        where = f"{source}: {place}" if place else source
        raise ConfigError(f"{where}: {first['msg']}") from error
