"""MIG profiles and GPU models: what each model can be cut into, as a table of facts.

Names are unique within a model only: a ``1g.10gb`` is one memory slice of eight on
an 80 GB board and two of eight on a 40 GB board. So a profile is always looked up on
its model. On a live node NVML knows better; the table serves planning and tests.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile_table import GpuRow, ProfileRow, read_table


class Media(StrEnum):
    """Which media engines an instance of a profile gets."""

    DEFAULT = "default"
    ONE = "one"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Profile:
    """A kind of GPU instance of one GPU model.

    Parameters
    ----------
    name
        NVIDIA's name, unique within the model, e.g. ``"1g.10gb+me"``.
    compute_slices, memory_slices
        What an instance takes, each at least 1; placements count memory slices.
    starts
        Memory slices at which an instance may start, ascending.
    max_instances
        Most instances of it on one GPU, at least 1.
    memory_mib
        Memory a workload can use; less than the name says. ``None`` unknown.
    media
        Its share of the media engines.
    gfx
        Whether it can draw graphics.
    more_memory
        Whether it has more memory slices than its compute slices come with.
    engines
        Media engines an instance takes, by kind; ``None`` unknown.
    gi_profile_id
        Id that NVML's placement and create calls take; ``None`` unknown.
    nvml_profile_index
        Index that NVML's profile query takes; ``None`` unknown.
    sm_count
        Streaming multiprocessors; ``None`` unknown.
    min_driver
        First driver branch that has it; empty when all have.

    Raises
    ------
    ValueError
        When a size or limit is below 1, or ``starts`` is empty or not ascending.
    """

    name: str
    compute_slices: int
    memory_slices: int
    starts: tuple[int, ...]
    max_instances: int
    memory_mib: int | None = None
    media: Media = Media.DEFAULT
    gfx: bool = False
    more_memory: bool = False
    engines: Counts | None = Counts()
    gi_profile_id: int | None = None
    nvml_profile_index: int | None = None
    sm_count: int | None = None
    min_driver: str = ""

    def __post_init__(self) -> None:
        if min(self.compute_slices, self.memory_slices, self.max_instances) < 1:
            raise ValueError(f"{self.name}: a size or limit is below 1")
        if not self.starts or self.starts != tuple(sorted(set(self.starts))):
            raise ValueError(f"{self.name}: starts are not ascending: {self.starts}")
        if self.starts[0] < 0:
            raise ValueError(f"{self.name}: a start is negative: {self.starts[0]}")

    @property
    def is_plain(self) -> bool:
        """Whether it is a standard profile: no media, graphics or memory variant."""
        return self.media is Media.DEFAULT and not self.gfx and not self.more_memory


@dataclass(frozen=True, slots=True)
class GpuModel:
    """A GPU model and its profiles.

    Parameters
    ----------
    key
        Name of the model in this table, e.g. ``"a100-40gb"``.
    chip, architecture
        Names; ``chip`` is empty when unknown.
    memory_gb
        Memory of the board, the number profile names are computed from.
    compute_slices, memory_slices
        Of a whole GPU; memory slices are the units of placements.
    products
        Product labels that GPU feature discovery gives its boards.
    device_filters
        PCI ids in the form of mig-parted's ``device-filter``.
    engine_totals
        Media engines of a whole GPU by kind; ``None`` unknown.
    profiles
        Smaller first, in the order of the table.
    confidence
        How well a group of fields is known: primary, derived, guess or unknown.
    all_balanced
        Instances of NVIDIA's ``all-balanced`` configuration; empty when it has none.

    Raises
    ------
    ValueError
        When a placement leaves the GPU or a name occurs twice.
    """

    key: str
    chip: str
    architecture: str
    memory_gb: int
    compute_slices: int
    memory_slices: int
    products: tuple[str, ...] = ()
    device_filters: tuple[str, ...] = ()
    engine_totals: Counts | None = None
    profiles: tuple[Profile, ...] = ()
    confidence: Mapping[str, str] = field(default_factory=dict)
    all_balanced: Counts = Counts()

    def __post_init__(self) -> None:
        if len({profile.name for profile in self.profiles}) < len(self.profiles):
            raise ValueError(f"{self.key}: a profile name occurs twice")
        for profile in self.profiles:
            if profile.starts[-1] + profile.memory_slices > self.memory_slices:
                raise ValueError(f"{self.key}: {profile.name} leaves the GPU")
            if profile.compute_slices > self.compute_slices:
                raise ValueError(f"{self.key}: {profile.name} is larger than the GPU")

    def __hash__(self) -> int:
        # Models are keys of caches: hashing every profile each time would cost more
        # than the cache saves.
        return hash(self.key)

    def profile(self, name: str) -> Profile | None:
        """Return the profile of that name, if the model has it."""
        return next((p for p in self.profiles if p.name == name), None)

    def require(self, names: Iterable[str]) -> tuple[Profile, ...]:
        """Return the profiles of these names, in table order.

        Raises
        ------
        ConfigError
            When the model has no profile of one of the names.
        """
        wanted = set(names)
        unknown = sorted(wanted - {p.name for p in self.profiles})
        if unknown:
            known = ", ".join(p.name for p in self.profiles)
            raise ConfigError(f"{unknown[0]} is no profile of {self.key}, which has {known}")
        return tuple(p for p in self.profiles if p.name in wanted)

    @property
    def plain_names(self) -> tuple[str, ...]:
        """Names of the standard profiles, in table order."""
        return tuple(p.name for p in self.profiles if p.is_plain)

    @property
    def whole_gpu(self) -> Profile:
        """The standard profile that takes the whole GPU (7g, 4g or 2g).

        Raises
        ------
        ConfigError
            When the table of the model has none.
        """
        for profile in self.profiles:
            if profile.is_plain and profile.compute_slices == self.compute_slices:
                return profile
        raise ConfigError(f"{self.key} has no profile of a whole GPU")


def parse_models(text: str, source: str) -> tuple[GpuModel, ...]:
    """Return the models of a profile table.

    Parameters
    ----------
    text
        The table as JSON.
    source
        Name of the table, for messages.

    Raises
    ------
    ConfigError
        When the table is no JSON, lacks a field, has an unknown one or one of the
        wrong type, or contradicts itself; the message names the table, GPU and field.
    """
    models = []
    for row in read_table(text, source):
        try:
            models.append(_model_of(row))
        except ValueError as error:
            raise ConfigError(f"{source}: {error}") from error
    keys = [model.key for model in models]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"{source}: GPU model {key} occurs twice")
    return tuple(models)


@cache
def load_models() -> tuple[GpuModel, ...]:
    """Return the models of the table that comes with the package, in its order."""
    name = "mig_profiles.json"
    path = resources.files("autoscaler.domain").joinpath("data", name)
    return parse_models(path.read_text(encoding="utf-8"), name)


def model_of(key: str) -> GpuModel | None:
    """Return the GPU model of a key."""
    return next((model for model in load_models() if model.key == key), None)


def require_model(key: str) -> GpuModel:
    """Return the GPU model of a key.

    Raises
    ------
    ConfigError
        When there is none.
    """
    model = model_of(key)
    if model is None:
        known = ", ".join(model.key for model in load_models())
        raise ConfigError(f"{key} is no GPU model; known are {known}")
    return model


# Under strategy single the label carries the profile, with + as a dot, or INVALID
# where the instances of the node do not allow that strategy.
_DECORATION = re.compile(r"(-MIG-(INVALID|\d+g\.[0-9a-z.+-]+?))?(-SHARED)?$")


@cache
def models_for_product(label: str) -> tuple[GpuModel, ...]:
    """Return the models that boards with this product label may be.

    Parameters
    ----------
    label
        Value of ``nvidia.com/gpu.product``, with or without ``-MIG-1g.5gb``,
        ``-MIG-INVALID`` and ``-SHARED`` behind it.

    Returns
    -------
    tuple
        Empty for an unknown board. Two for a GB200: its boards come with two name
        tables behind one label, and what a node advertises tells them apart.
    """
    product = _DECORATION.sub("", label)
    # Drivers of the first A100 generation leave out the maker's name.
    spellings = {product, f"NVIDIA-{product}"}
    return tuple(m for m in load_models() if spellings.intersection(m.products))


def _model_of(row: GpuRow) -> GpuModel:
    return GpuModel(
        key=row.key,
        chip=row.chip or "",
        architecture=row.architecture,
        memory_gb=row.memory_gb,
        compute_slices=row.compute_slices,
        memory_slices=row.memory_slices,
        products=row.products,
        device_filters=row.device_filters,
        engine_totals=None if row.engine_totals is None else Counts(row.engine_totals),
        profiles=tuple(_profile_of(profile) for profile in row.profiles),
        confidence=row.confidence,
        all_balanced=Counts(row.all_balanced),
    )


def _profile_of(row: ProfileRow) -> Profile:
    return Profile(
        name=row.name,
        compute_slices=row.compute_slices,
        memory_slices=row.memory_slices,
        starts=row.starts,
        max_instances=row.max_instances,
        memory_mib=row.memory_mib,
        media=Media(row.media),
        gfx=row.gfx,
        more_memory=row.more_memory,
        engines=None if row.engines is None else Counts(row.engines),
        gi_profile_id=row.gi_profile_id,
        nvml_profile_index=row.nvml_profile_index,
        sm_count=row.sm_count,
        min_driver=row.min_driver,
    )
