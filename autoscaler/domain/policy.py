"""The policy: everything an operator may set, with defaults and their reasons.

One model serves the file, the schema and the code. Python names carry units
(``cooldown_s``); the file says ``cooldown: 30m``. Reading files, positions of
errors and hot reload are the business of ``adapters.policy_file``.
"""

import re
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def parse_duration(value: object) -> float:
    """Return seconds of a duration such as ``90s``, ``1h30m`` or ``14d``.

    Raises
    ------
    ValueError
        When it is not a text of numbers with units s, m, h, d or w.
    """
    if isinstance(value, float):
        return value
    if not isinstance(value, str) or not re.fullmatch(r"(\d+(\.\d+)?[smhdw])+", value):
        raise ValueError(f"not a duration like 30s, 1h30m or 14d: {value!r}")
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhdw])", value)
    return sum(float(number) * UNITS_S[unit] for number, unit in parts)


DURATION_SCHEMA: dict[str, Any] = {"type": "string", "pattern": r"^(\d+(\.\d+)?[smhdw])+$"}
Duration = Annotated[
    float,
    BeforeValidator(parse_duration, json_schema_input_type=str),
    Field(ge=0, allow_inf_nan=False),
]


class Mode(StrEnum):
    """What the loop may do."""

    OFF = "off"
    RECOMMEND = "recommend"
    DRY_RUN = "dry-run"
    AUTO = "auto"


class Driver(StrEnum):
    """How a pool's GPUs are changed."""

    MIG_MANAGER = "mig-manager"
    AGENT = "agent"


class Strategy(StrEnum):
    """MIG strategy of the device plugin."""

    NONE = "none"
    SINGLE = "single"
    MIXED = "mixed"


class Section(BaseModel):
    """Base of all sections: strict, frozen, no unknown keys."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_default=True,
        populate_by_name=True,
    )


Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
ALL_DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ClockTime = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$|^24:00$")]
ProfileAmounts = dict[str, Annotated[int, Field(ge=0)]]


def check_amount(value: int | str) -> int | str:
    """Return a whole number >= 0 or a percentage like ``10%``; else ValueError."""
    if isinstance(value, str) and not re.fullmatch(r"(\d{1,2}|100)%", value):
        raise ValueError(f"neither a whole number nor a percentage like 10%: {value!r}")
    if isinstance(value, int) and value < 0:
        raise ValueError(f"negative: {value}")
    return value


NumberOrPercent = Annotated[int | str, AfterValidator(check_amount)]


class DailySpan(Section):
    """A span of local time on some weekdays; past midnight it belongs to its start day."""

    days: tuple[Day, ...] = ALL_DAYS
    start: ClockTime
    end: ClockTime
    time_zone: str = "UTC"


class FloorSpan(DailySpan):
    """A floor that holds at some times only."""

    profiles: ProfileAmounts


class Reserve(Section):
    """Nodes kept whole."""

    full_gpu_nodes: NumberOrPercent = 0


class Pool(Section):
    """A set of nodes that is planned together."""

    name: str
    node_selector: dict[str, str] = {}
    driver: Driver = Driver.MIG_MANAGER
    strategy: Strategy = Strategy.MIXED
    profiles: tuple[str, ...] | None = None
    reserve: Reserve = Reserve()
    floors: ProfileAmounts | tuple[FloorSpan, ...] = {}
    ceilings: ProfileAmounts = {}


class BasicAuth(Section):
    """HTTP basic authentication."""

    username: str
    password_file: str


class Prometheus(Section):
    """Where metrics come from."""

    url: str
    timeout_s: Duration = Field(default=10.0, alias="timeout")
    bearer_token_file: str | None = None
    basic_auth: BasicAuth | None = None
    ca_file: str | None = None
    headers: dict[str, str] = {}
    queries: dict[str, str] = {}


class PendingRules(Section):
    """Which pending pods count."""

    min_age_s: Duration = Field(default=0.0, alias="minAge")


class ScheduledPeak(DailySpan):
    """Demand that is known to come."""

    name: str
    profiles: ProfileAmounts


class ForecastRules(Section):
    """Demand expected from history."""

    history_s: Duration = Field(default=14 * 86400.0, alias="history")
    horizon_s: Duration = Field(default=4 * 3600.0, alias="horizon")


class DemandRules(Section):
    """What counts as demand."""

    pending: PendingRules = PendingRules()
    scheduled: tuple[ScheduledPeak, ...] = ()
    forecast: ForecastRules | None = None


class Freeze(Section):
    """Days on which nothing starts; both ends included."""

    from_: date = Field(alias="from")
    to: date
    time_zone: str = "UTC"


class Budgets(Section):
    """How much may be out of service."""

    nodes: NumberOrPercent = 1
    per_hour: Annotated[int, Field(ge=0)] = 4


class EvictionRules(Section):
    """Whether pods may be evicted, and which."""

    enabled: bool = False
    jobs: bool = False
    unowned: bool = False


class Disruption(Section):
    """When and how much may be disrupted."""

    windows: tuple[DailySpan, ...] | None = None
    outside_windows: Literal["none", "idle"] = "none"
    freezes: tuple[Freeze, ...] = ()
    budgets: Budgets = Budgets()
    cooldown_s: Duration = Field(default=1800.0, alias="cooldown")
    eviction: EvictionRules = EvictionRules()


class LoopRules(Section):
    """Pace of the loop."""

    interval_s: Duration = Field(default=30.0, alias="interval")


class PlanningRules(Section):
    """Constants of the objective."""

    horizon_s: Duration = Field(default=12000.0, alias="horizon")
    min_gain: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.5
    persistence_s: Duration = Field(default=60.0, alias="persistence")


class RolloutRules(Section):
    """Waits and deadlines of one node's change."""

    drain_deadline_s: Duration = Field(default=1200.0, alias="drainDeadline")
    bind_grace_s: Duration = Field(default=10.0, alias="bindGrace")
    settle_s: Duration = Field(default=30.0, alias="settle")
    no_response_s: Duration = Field(default=300.0, alias="noResponse")
    backoff_s: Duration = Field(default=600.0, alias="backoff")
    warm_up_s: Duration = Field(default=600.0, alias="warmUp")


class MigManager(Section):
    """Where MIG manager reads configurations, and its pace."""

    namespace: str = "gpu-operator"
    config_map: str = "mig-autoscaler-config"
    config_sync_s: Duration = Field(default=120.0, alias="configSync")
    deadline_s: Duration = Field(default=1800.0, alias="deadline")


class Metadata(Section):
    """Name of the policy."""

    name: str


class Policy(Section):
    """A whole policy file."""

    api_version: Literal["mig-autoscaler.io/v1alpha1"]
    kind: Literal["MigPolicy"]
    metadata: Metadata
    mode: Mode = Mode.DRY_RUN
    prometheus: Prometheus | None = None
    pools: tuple[Pool, ...]
    demand: DemandRules = DemandRules()
    disruption: Disruption = Disruption()
    planning: PlanningRules = PlanningRules()
    rollout: RolloutRules = RolloutRules()
    mig_manager: MigManager = MigManager()
    loop: LoopRules = LoopRules()
    priorities: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = {}
