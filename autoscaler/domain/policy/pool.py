"""Pools: sets of nodes that are planned together, and what is wished of each."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.preset_rules import PresetUse
from autoscaler.domain.policy.quantity import NumberOrPercent
from autoscaler.domain.policy.schedule import FloorSpan, ProfileAmounts
from autoscaler.domain.policy.section import Name, Path, Problem, Section, Text, like, refuse

LABEL_KEY_PATTERN = (
    r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)
LABEL_VALUE_PATTERN = r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"

LabelKey = Annotated[str, like(LABEL_KEY_PATTERN, "a label key")]
LabelValue = Annotated[
    str,
    like(LABEL_VALUE_PATTERN, "a label value"),
    Field(json_schema_extra={"pattern": LABEL_VALUE_PATTERN}),
]


class Driver(StrEnum):
    """How a pool's GPUs are changed."""

    MIG_MANAGER = "mig-manager"
    AGENT = "agent"


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} is named twice")
    return values


def _form_of_amounts(value: object) -> str | None:
    if isinstance(value, dict):
        return "amounts"
    return "spans" if isinstance(value, (list, tuple)) else None


Limits = Annotated[
    Annotated[ProfileAmounts, Tag("amounts")] | Annotated[tuple[FloorSpan, ...], Tag("spans")],
    Discriminator(
        _form_of_amounts,
        custom_error_type="floors_type",
        custom_error_message=(
            "must be a mapping from profile to number,"
            " or a list of {days, start, end, timeZone, profiles}"
        ),
    ),
]


class Reserve(Section):
    """Nodes kept whole."""

    full_gpu_nodes: NumberOrPercent = 0
    """Nodes of the pool that offer only whole GPUs and are never cut, whatever demand
    says: a number, or a percentage of the pool's nodes, rounded down. Default: 0, because
    most fleets that want whole GPUs keep them in a pool of their own."""


class Pool(Section):
    """A set of nodes that is planned together."""

    name: Name
    """Name of the pool, unique in the file; a label of metrics."""

    node_selector: dict[LabelKey, LabelValue] = Field(default={})
    """Labels that a node of the pool carries, all of them. Default: none, which takes
    every node with NVIDIA GPUs."""

    driver: Driver = Driver.MIG_MANAGER
    """How GPUs are changed: mig-manager sets the label that NVIDIA's MIG manager obeys and
    re-cuts GPUs that no pod holds; agent uses this project's own node agent, which also
    re-cuts the free part of a GPU in use. MIG manager must not run on nodes of the agent.
    Default: mig-manager, because it needs no privileged pod of ours."""

    strategy: Strategy = Strategy.MIXED
    """MIG strategy that the device plugin of these nodes runs with. mixed: each profile
    has a resource name of its own. single: all instances of a node are alike and are
    nvidia.com/gpu; a pod selects the product label to have one of a profile, and a node is
    changed as a whole, when nobody holds any of it. none: nodes offer whole GPUs and
    nothing is cut. Default: mixed, because only then does a resource name say which
    profile it is."""

    profiles: (
        Annotated[tuple[Text, ...], AfterValidator(_unique), Field(min_length=1)] | None
    ) = None
    """Profiles that may be created here. Default: all of the GPU model, because a
    profile that nobody asks for is never created."""

    reserve: Reserve = Reserve()
    """Nodes kept whole."""

    floors: Limits = Field(default={})
    """Instances of each profile that the pool always keeps at least, free or held; or a
    list of spans of time with floors of their own. Default: none, because a floor is
    capacity that other demand cannot have."""

    ceilings: Limits = Field(default={})
    """Instances of each profile that the pool has at most, running ones aside, which are
    never destroyed for it; or a list of spans of time with ceilings of their own. Default:
    none, because demand limits itself."""

    presets: tuple[PresetUse, ...] = ()
    """Named layouts that nodes of the pool shall have, by time, label or waiting pods; of
    several for a node the first one counts. Default: none, because the optimizer finds
    what serves demand best."""

    def all_floors(self) -> list[tuple[Path, ProfileAmounts]]:
        """Return the amounts of each floor at whatever time, with the keys that lead there."""
        return _amounts_of("floors", self.floors)

    def all_ceilings(self) -> list[tuple[Path, ProfileAmounts]]:
        """Return the amounts of each ceiling at whatever time, with its keys."""
        return _amounts_of("ceilings", self.ceilings)

    @model_validator(mode="after")
    def _check_amounts(self) -> Self:
        refuse(self._contradictions())
        return self

    def _contradictions(self) -> list[Problem]:
        problems = []
        # Two spans may never hold at the same time, so they cannot contradict each other.
        is_timed = not isinstance(self.floors, dict) and not isinstance(self.ceilings, dict)
        least: dict[str, int] = {}
        for _, amounts in [] if is_timed else self.all_ceilings():
            for profile, number in amounts.items():
                least[profile] = min(number, least.get(profile, number))
        for path, amounts in self.all_floors():
            for profile, number in amounts.items():
                at = (*path, profile)
                most = least.get(profile)
                if most is not None and number > most:
                    problems.append(Problem(at, f"{number} is above the ceiling of {most}"))
                if self.profiles is not None and profile not in self.profiles:
                    allowed = f"the pool's profiles ({', '.join(self.profiles)})"
                    problems.append(Problem(at, f"{profile} is not one of {allowed}"))
        return problems


def _amounts_of(key: str, limits: Limits) -> list[tuple[Path, ProfileAmounts]]:
    if isinstance(limits, dict):
        return [((key,), limits)]
    return [((key, i, "profiles"), span.profiles) for i, span in enumerate(limits)]
