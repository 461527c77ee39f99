"""The form of a plan in JSON: what tools and people may rely on, described key by key.

``plan_json`` turns plans into this form and back; the schema is generated from it.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.plan.plan import Scenario, StoppedBy
from autoscaler.domain.policy.policy import Mode
from autoscaler.domain.policy.section import Problem, Section, Text, refuse
from autoscaler.domain.reasons import Reason

API_VERSION = "mig-autoscaler.io/v1alpha1"
KIND = "MigPlan"
TOLERANCE = 1e-6
MOMENT_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z"

Number = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=0)]
Amounts = dict[Text, Whole]


def read_moment(text: str) -> float:
    """Return epoch seconds of a time in UTC, ``2026-03-02T12:00:00Z``; else ValueError."""
    if re.fullmatch(MOMENT_PATTERN, text):
        try:
            return datetime.fromisoformat(text).timestamp()
        except ValueError:
            pass
    raise ValueError(f"{text!r} is not a time in UTC like '2026-03-02T12:00:00Z'")


def write_moment(at_s: float) -> str:
    """Return epoch seconds as a time in UTC, to the microsecond."""
    return datetime.fromtimestamp(at_s, UTC).isoformat().replace("+00:00", "Z")


def _check_moment(text: str) -> str:
    read_moment(text)
    return text


Moment = Annotated[
    str,
    AfterValidator(_check_moment),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class PlacementDocument(Section):
    """A GPU instance and where it is."""

    profile: Text
    """Profile name."""

    start: Whole
    """First memory slice."""

    size: Annotated[int, Field(ge=1)]
    """Number of memory slices."""


def geometry_of(placements: Iterable[PlacementDocument]) -> Geometry:
    """Return the geometry of placements in any order; ValueError when two overlap."""
    instances = (GpuInstance(p.start, p.size, p.profile) for p in placements)
    return Geometry(tuple(sorted(instances)))


def _check_overlap(placements: tuple[PlacementDocument, ...]) -> tuple[PlacementDocument, ...]:
    geometry_of(placements)
    return placements


Placements = Annotated[tuple[PlacementDocument, ...], AfterValidator(_check_overlap)]


class PolicyDocument(Section):
    """The policy that a plan was made by."""

    name: Text
    """Its name."""

    hash: str
    """Hash of its content."""


class DemandDocument(Section):
    """Demand for one resource in one pool."""

    resource: Text
    """Resource name, e.g. nvidia.com/mig-1g.5gb."""

    pool: str
    """Pool; empty for demand that no pool can serve."""

    pending: Whole
    """Instances that pending pods ask for."""

    free: Whole
    """Free instances now."""

    lacking: Whole
    """Instances asked for beyond the free ones."""

    served_by_plan: Whole
    """Of the lacking ones, how many the plan makes available."""


class PodDocument(Section):
    """A pod."""

    namespace: Text
    """Namespace."""

    name: Text
    """Name."""


class EvictionDocument(PodDocument):
    """A pod that must leave for a change."""

    uid: Text | None = None
    """Uid of the pod; only this pod is evicted, not a later one of its name."""

    reason: str
    """Why it must leave."""


class PodNoteDocument(PodDocument):
    """A pod that stays unserved."""

    reason: Reason
    """Name of the reason."""

    message: str
    """The reason in a sentence."""


class BlockDocument(Section):
    """Why a change may not start now."""

    reason: Reason
    """Name of the reason."""

    message: str
    """The reason in a sentence, with figures and the time when it ends."""


class HoldDocument(Section):
    """Why a node, or the whole fleet, is left alone."""

    reason: Reason
    """Name of the reason."""

    node: Text | None = None
    """The node; absent when it is about more than one."""

    message: str
    """The reason in a sentence."""


class GpuDocument(Section):
    """The change of one GPU."""

    index: Whole
    """Index of the GPU in PCI bus order."""

    before: Amounts
    """Instances before, by profile."""

    after: Amounts
    """Instances after, by profile."""

    placements_before: Placements | None = None
    """Where instances are before, if known."""

    placements_after: Placements | None = None
    """Where instances are after, if the driver places them."""


class TermsDocument(Section):
    """What gain and cost are made of, in slice-seconds."""

    waiting_avoided: Number = 0.0
    """Gain: pending demand that it serves, less what it makes wait (displaced)."""

    home: Number = 0.0
    """Gain: the home share that it restores, of the mix that would have served the past
    best."""

    hedge: Number = 0.0
    """Gain: instances for demand to come: scheduled peaks, queued work, what is likely."""

    rule: Number = 0.0
    """Gain: floors, ceilings and reserved nodes that it restores."""

    out_of_service: Number = 0.0
    """Cost: what cannot be used while the node is closed."""

    work_lost: Number = 0.0
    """Cost: work of evicted pods that is lost."""

    restarts: Number = 0.0
    """Cost: time that evicted pods take to work again."""

    churn: Number = 0.0
    """What the gain must exceed the cost by, so that demand that swings changes nothing;
    no part of either."""

    displaced: Number = 0.0
    """Evicted pods that wait again, and what would have been served without the change;
    taken off the waiting avoided already."""

    avoided: dict[Scenario, dict[Text, Number]] = Field(default={})
    """What waiting avoided and hedge are made of, by scenario and resource name: pods that
    are pending, peaks that are scheduled, work that is queued, and what is likely by the
    past or by a forecast."""

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        if self.avoided:
            parts = dict(self.avoided)
            pending = [*parts.pop(Scenario.PENDING, {}).values(), -self.displaced]
            hedge = [worth for worths in parts.values() for worth in worths.values()]
            waiting = _unequal("waitingAvoided", self.waiting_avoided, pending)
            refuse((*waiting, *_unequal("hedge", self.hedge, hedge)))
        return self


class ChangeDocument(Section):
    """The change of one node."""

    node: Text
    """Name of the node."""

    uid: str
    """Uid of the node; another uid is another machine."""

    pool: Text
    """Pool of the node."""

    observed: str
    """Hash of its allocatable GPU resources, its MIG configuration and the holders of the
    GPUs to change; a plan is not applied to a node for which it has changed."""

    config_name: Text
    """MIG configuration that the node gets."""

    gpus: tuple[GpuDocument, ...]
    """GPUs that change."""

    layout: tuple[Amounts | None, ...]
    """Instances of every GPU of the node afterwards, by profile; null where MIG is off."""

    resources: Amounts
    """What the node advertises afterwards, by resource name."""

    evictions: tuple[EvictionDocument, ...]
    """Pods that must leave."""

    awaits: tuple[PodDocument, ...]
    """Pods that will end by themselves and must have done so first."""

    serves: tuple[PodDocument, ...]
    """Pending pods that it serves."""

    gain: Number
    """Value of the change, in slice-seconds."""

    cost: Number
    """Cost of the change, in slice-seconds."""

    terms: TermsDocument
    """What gain and cost are made of."""

    estimated_s: Annotated[Number, Field(ge=0, alias="estimatedSeconds")]
    """Seconds from cordon to settled, as expected."""

    blocked_by: tuple[BlockDocument, ...]
    """Why it may not start now; empty when it may."""

    @model_validator(mode="after")
    def _check_sums(self) -> Self:
        t = self.terms
        gain = [t.waiting_avoided, t.home, t.hedge, t.rule]
        refuse((*_unequal("gain", self.gain, gain), *self._unequal_cost(), *self._gpu_faults()))
        return self

    def _unequal_cost(self) -> list[Problem]:
        t = self.terms
        return _unequal("cost", self.cost, [t.out_of_service, t.work_lost, t.restarts])

    def _gpu_faults(self) -> list[Problem]:
        known = range(len(self.layout))
        return [
            Problem(("gpus", number, "index"), f"{gpu.index} is not in the layout")
            for number, gpu in enumerate(self.gpus)
            if gpu.index not in known
        ]


def _unequal(key: str, said: float, terms: Sequence[float]) -> list[Problem]:
    # Terms that cancel out leave the rounding of the largest.
    allowed = TOLERANCE * max(1.0, abs(said), *map(abs, terms))
    if abs(said - sum(terms)) <= allowed:
        return []
    return [Problem((key,), f"{said:g} is not the sum of its terms, {sum(terms):g}")]


class NodePlaceholdersDocument(Section):
    """Whole GPUs of a node that placeholders shall have next, so that they can be cut anew."""

    node: Text
    """Name of the node."""

    pool: Text
    """Pool of the node."""

    resource: Text
    """What each placeholder asks for one of."""

    number: Annotated[int, Field(ge=1)]
    """How many placeholders the node shall have."""

    awaits: tuple[PodDocument, ...]
    """Pods that hold such GPUs now; the first of them to end count."""


class OptimalityDocument(Section):
    """How good the plan provably is; values of the whole program."""

    objective: Number
    """Value of the plan, in slice-seconds."""

    bound: Number | None
    """No plan is worth more than this; null when nothing was proven."""

    gap: Number | None
    """Distance of the two, as a share; null when nothing was proven."""

    seconds: Annotated[Number, Field(ge=0)]
    """Time the solver took; the one key that differs from run to run."""

    stopped_by: StoppedBy
    """Why the solver stopped."""


class PlanDocument(Section):
    """A plan of the MIG autoscaler."""

    api_version: Literal["mig-autoscaler.io/v1alpha1"]
    """Version of this form."""

    kind: Literal["MigPlan"]
    """Kind of document."""

    id: Text
    """Id of the plan."""

    observed_at: Moment
    """When the fleet was observed."""

    policy: PolicyDocument
    """The policy it was made by."""

    mode: Mode
    """Mode of the loop."""

    demand: tuple[DemandDocument, ...]
    """Demand by resource and pool, and what the plan does for it."""

    changes: tuple[ChangeDocument, ...]
    """Proposed changes, in the order in which they should start."""

    unserved: tuple[PodNoteDocument, ...]
    """Pending pods that the plan does not serve, each with the reason."""

    holds: tuple[HoldDocument, ...]
    """Nodes that are left alone, each with the reason."""

    optimality: OptimalityDocument | None
    """How good the plan provably is; null when there was nothing to solve."""

    notices: tuple[str, ...] = ()
    """What people should know about the input."""

    placeholders: tuple[NodePlaceholdersDocument, ...] = ()
    """Whole GPUs in use that are kept from new pods once they are free."""

    terms: TermsDocument = TermsDocument()
    """What gain and cost of all changes together are made of, in slice-seconds."""
