"""The policy: everything an operator may set, with defaults and their reasons.

One model serves the file, the schema and the code. Python names carry units
(``cooldown_s``); the file says ``cooldown: 30m``. The text under each field is its
description in the schema. Reading files, positions of errors and hot reload are
the business of ``adapters.policy_file``.
"""

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    model_validator,
)

from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.demand_rules import (
    DemandRules,
    ForecastRules,
    PeakRules,
    PendingRules,
)
from autoscaler.domain.policy.planning_rules import PastRules, PlanningRules
from autoscaler.domain.policy.pool import Driver, Pool, Reserve
from autoscaler.domain.policy.preset_rules import Presets
from autoscaler.domain.policy.quantity import (
    ALL_DAYS,
    Day,
    Duration,
    NumberOrPercent,
    duration,
    parse_duration,
)
from autoscaler.domain.policy.schedule import (
    DailySpan,
    FloorSpan,
    Freeze,
    ProfileAmounts,
    ScheduledPeak,
)
from autoscaler.domain.policy.section import (
    Name,
    Problem,
    Section,
    Text,
    like,
    refuse,
)

__all__ = [
    "ALL_DAYS",
    "BasicAuth",
    "Budgets",
    "DailySpan",
    "Day",
    "DemandRules",
    "Disruption",
    "Driver",
    "Duration",
    "EvictionRules",
    "FloorSpan",
    "ForecastRules",
    "Freeze",
    "LoopRules",
    "Metadata",
    "MigManager",
    "Mode",
    "NumberOrPercent",
    "PastRules",
    "PeakRules",
    "PendingRules",
    "PlanningRules",
    "Policy",
    "Pool",
    "ProfileAmounts",
    "Prometheus",
    "PrometheusUrl",
    "Reserve",
    "RolloutRules",
    "ScheduledPeak",
    "Section",
    "Strategy",
    "parse_duration",
    "policy_hash",
    "same_names",
]


URL_PATTERN = r"^https?://[^\s/?#]+[^\s?#]*$"
Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Mode(StrEnum):
    """What the loop may do."""

    OFF = "off"
    RECOMMEND = "recommend"
    DRY_RUN = "dry-run"
    AUTO = "auto"


class BasicAuth(Section):
    """HTTP basic authentication."""

    username: Text
    """User name."""

    password_file: Text
    """File that holds the password; read on every call, because secrets rotate."""


PrometheusUrl = Annotated[
    str,
    like(URL_PATTERN, "an address like http://prometheus.monitoring:9090"),
    Field(json_schema_extra={"pattern": URL_PATTERN}),
]


class Prometheus(Section):
    """Where metrics come from."""

    url: PrometheusUrl
    """Address of the HTTP API, e.g. "http://prometheus.monitoring:9090"."""

    timeout_s: Duration = duration("10s", positive=True)
    """Time one query may take, all tries together. Default: 10s, a third of the loop's
    interval, so that a slow Prometheus costs metrics and not the cycle."""

    bearer_token_file: Text | None = None
    """File that holds a bearer token; read on every call, because tokens rotate.
    Default: no token."""

    basic_auth: BasicAuth | None = None
    """User name and password. Default: none."""

    ca_file: Text | None = None
    """File with the certificates to trust. Default: those of the system."""

    headers: dict[Text, str] = Field(default={})
    """Headers to send, e.g. X-Scope-OrgID for a tenant. Default: none."""

    queries: dict[Text, Text] = Field(default={})
    """Queries to use in place of the built-in ones, by name. Default: none, because the
    built-in ones read what NVIDIA's exporter and kube-state-metrics write."""

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if self.basic_auth is not None and self.bearer_token_file is not None:
            refuse([Problem(("basicAuth",), "cannot go with bearerTokenFile; keep one")])
        return self


class Budgets(Section):
    """How much may be out of service."""

    nodes: NumberOrPercent = 1
    """Nodes that may be out of service at once: a number, or a percentage of the nodes of
    all pools, rounded down (10% of 5 is 0). Open rollouts, cordoned and NotReady nodes
    count. Zero means that nothing starts. Default: 1, the least that does anything."""

    per_hour: Annotated[int, Field(ge=0)] = 4
    """Rollouts that may start in any 60 minutes. Zero means that nothing starts.
    Default: 4, so that a wrong policy meets a person before it has met the fleet."""


class EvictionRules(Section):
    """Whether pods may be evicted, and which."""

    enabled: bool = False
    """Whether pods may be evicted for a change. Default: false, because an eviction
    is a loss to someone; changes then wait until pods have finished."""

    jobs: bool = False
    """Whether pods of Jobs may be evicted too. Default: false, because a Job that is
    evicted starts again from nothing."""

    unowned: bool = False
    """Whether pods without an owner may be evicted too. Default: false, because nothing
    creates them again."""


class DrainingRules(Section):
    """Whether GPUs count whose pods will end by themselves soon."""

    enabled: bool = True
    """Whether a node may be closed to wait for such pods, where MIG manager can only
    change a GPU as a whole. Default: true, because it evicts nobody; nothing is known of
    when pods end without a history of service times, their deadlines aside."""

    min_chance: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Chance that all of them have ended by rollout.drainDeadline from which it is tried.
    Default: 0.5, because a node that is closed in vain is closed again after a while."""

    placeholders: bool = True
    """Whether placeholder pods of ours may take whole GPUs as soon as they are free, on
    nodes with several GPUs, where the home mix entitles nobody to them again. They need the
    PriorityClass mig-autoscaler-placeholder. Default: true: the node stays open."""


class Disruption(Section):
    """When and how much may be disrupted."""

    windows: tuple[DailySpan, ...] | None = None
    """Maintenance windows: changes start only inside one, and only if they are expected
    to be over before it closes. Default: absent, any time; an empty list means never."""

    outside_windows: Literal["none", "idle"] = "none"
    """What may start outside of windows. idle: changes that evict nobody, of GPUs that no
    pod holds. Default: none, because idle still cordons the node and stops its device
    plugin for a minute or more."""

    freezes: tuple[Freeze, ...] = ()
    """Days on which nothing starts, windows or not. Default: none."""

    budgets: Budgets = Budgets()
    """How much may be out of service."""

    cooldown_s: Duration = duration("30m")
    """Shortest time between the end of one rollout of a node and the start of its next.
    Default: 30m, so that demand that swings does not swing a node with it."""

    eviction: EvictionRules = EvictionRules()
    """Whether pods may be evicted, and which."""

    draining: DrainingRules = DrainingRules()
    """Whether GPUs count whose pods will end by themselves soon."""


class LoopRules(Section):
    """Pace of the loop."""

    interval_s: Duration = duration("30s", positive=True)
    """Time between two cycles. Default: 30s, about one scrape of metrics."""


class RolloutRules(Section):
    """Waits and deadlines of one node's change."""

    drain_deadline_s: Duration = duration("20m", positive=True)
    """Time for pods to leave before the rollout is given up. Default: 20m, with or
    without eviction."""

    surplus_deadline_s: Duration = duration("6h", positive=True)
    """Time for which a node of one GPU may be kept from new pods until the pod that has
    the GPU as a whole ends, where others would make more of it. Agent driver only, and
    off with disruption.draining. Default: 6h, because meanwhile nobody loses anything:
    the GPU is in use, and what becomes of it is decided when it is free."""

    placeholder_image: Text = "registry.k8s.io/pause:3.10"
    """Image of placeholder pods, which do nothing. Default: one that most nodes have."""

    bind_grace_s: Duration = duration("10s")
    """Time after the cordon before a read that shows no pod is believed. Default: 10s,
    because a binding under way still arrives after a cordon."""

    settle_s: Duration = duration("30s")
    """Time for which the node must advertise its target before it is released. Default:
    30s, because the device plugin may start twice."""

    no_response_s: Duration = duration("5m", positive=True)
    """Time without any sign of the MIG manager before it counts as wedged. Default: 5m,
    twice what it takes to stop all GPU clients."""

    backoff_s: Duration = duration("10m")
    """First wait after a rollout that failed or was given up; it doubles each time.
    Default: 10m, because what stopped it seldom goes away sooner."""

    warm_up_s: Duration = duration("10m")
    """Age from which a node that joined or became ready may be changed. Default: 10m,
    because operators are still at work on it before."""


class MigManager(Section):
    """Where MIG manager reads configurations, and its pace."""

    namespace: Name = "gpu-operator"
    """Namespace of the GPU operator. Default: the one its chart creates."""

    config_map: Name = "mig-autoscaler-config"
    """ConfigMap of configurations that this project owns and the ClusterPolicy names.
    Default: a name of our own, because the operator overwrites its own ConfigMap."""

    config_sync_s: Duration = duration("120s")
    """Time kubelet may take to show a changed ConfigMap to MIG manager. Default: 120s,
    its sync period of a minute plus the life of its cache."""

    deadline_s: Duration = duration("30m", positive=True)
    """Time for a change to be applied before it is repaired. Default: 30m, enough for a
    reboot that MIG manager asks for."""


class Metadata(Section):
    """Name of the policy."""

    name: Name
    """Name that plans and reports carry."""


class Policy(Section):
    """A policy file of the MIG autoscaler."""

    api_version: Literal["mig-autoscaler.io/v1alpha1"]
    """Version of this form."""

    kind: Literal["MigPolicy"]
    """Kind of file."""

    metadata: Metadata
    """Name of the policy."""

    mode: Mode = Mode.DRY_RUN
    """What the loop may do. off: observe and export metrics. recommend: plan, and write
    status and Events, never a node or a pod. dry-run: plan, without one write. auto: carry
    plans out. Default: dry-run, so that a first try changes nothing."""

    prometheus: Prometheus | None = None
    """Where metrics come from. Default: none; then plans rest on the API server alone,
    nothing is evicted, and only GPUs that are provably idle change."""

    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    """Sets of nodes that are planned together; a node belongs to one of them at most."""

    presets: Presets = Field(default={})
    """Layouts by name: profile counts of one GPU for each GPU model. They hold where a pool
    says so. Default: none."""

    demand: DemandRules = DemandRules()
    """What counts as demand."""

    disruption: Disruption = Disruption()
    """When and how much may be disrupted."""

    planning: PlanningRules = PlanningRules()
    """Constants of the objective."""

    rollout: RolloutRules = RolloutRules()
    """Waits and deadlines of one node's change."""

    mig_manager: MigManager = MigManager()
    """Where MIG manager reads configurations, and its pace."""

    loop: LoopRules = LoopRules()
    """Pace of the loop."""

    priorities: dict[Text, Weight] = Field(default={})
    """Weight of pending pods by name of their PriorityClass; a pod of another class
    weighs 1. Default: none, because who goes first is for people to say."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        refuse(same_names({number: pool.name for number, pool in enumerate(self.pools)}))
        return self


def same_names(names: Mapping[str | int, object]) -> list[Problem]:
    """Return the pools whose name another before them has, by position."""
    first: dict[object, str | int] = {}
    return [
        Problem(("pools", number, "name"), f"{name} is also the name of pools[{earlier}]")
        for number, name in names.items()
        if (earlier := first.setdefault(name, number)) != number
    ]


def policy_hash(policy: Policy) -> str:
    """Return 12 hex digits over all that a policy says, defaults included.

    Comments, the order of keys and how a value is written (``90s`` or ``1m30s``) do
    not matter.
    """
    return _hash_of(_Itself(policy))


class _Itself:
    """A policy by identity: it never changes, and its contents cannot be hashed quickly."""

    __slots__ = ("policy",)

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.policy is other.policy

    def __hash__(self) -> int:
        return id(self.policy)


# Every cycle asks three times of one policy; what is kept here cannot have its identity
# taken by another.
@lru_cache(maxsize=8)
def _hash_of(itself: _Itself) -> str:
    content = itself.policy.model_dump(mode="json", by_alias=True)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
