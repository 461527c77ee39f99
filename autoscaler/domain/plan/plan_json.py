"""Plans as JSON and back: the contract of ``plan -o json`` and ``apply``.

The same plan gives the same bytes. Reading is strict: a key that is missing, unknown
or of the wrong type is an error that names it.
"""

import json
from collections.abc import Iterable
from math import inf, isfinite

from pydantic import ValidationError

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.plan.plan import (
    Avoided,
    DemandLine,
    Eviction,
    GpuChange,
    NodeChange,
    NodePlaceholders,
    Optimality,
    Plan,
    Price,
)
from autoscaler.domain.plan.plan_document import (
    API_VERSION,
    KIND,
    ChangeDocument,
    DemandDocument,
    GpuDocument,
    NodePlaceholdersDocument,
    OptimalityDocument,
    PlacementDocument,
    PlanDocument,
    TermsDocument,
    geometry_of,
    read_moment,
    write_moment,
)
from autoscaler.domain.policy.complaints import complaints
from autoscaler.domain.policy.quantity import shown
from autoscaler.domain.policy.section import path_text
from autoscaler.domain.reasons import Block, Hold, PodNote

Json = dict[str, object]


def plan_to_json(plan: Plan) -> Json:
    """Return the JSON form of a plan, keys in the order of the contract."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "id": plan.id,
        "observedAt": write_moment(plan.observed_at_s),
        "policy": {"name": plan.policy_name, "hash": plan.policy_hash},
        "mode": str(plan.mode),
        "demand": [_demand_to_json(line) for line in plan.demand],
        "changes": [_change_to_json(change) for change in plan.changes],
        "unserved": [_pod_note_to_json(note) for note in plan.unserved],
        "holds": [_hold_to_json(hold) for hold in plan.holds],
        "optimality": None if plan.optimality is None else _optimality_to_json(plan.optimality),
        "notices": list(plan.notices),
        "placeholders": [_placeholders_to_json(own) for own in plan.placeholders],
        "terms": _terms_to_json(plan.terms),
    }


def render_plan(plan: Plan) -> str:
    """Return the JSON form of a plan as text."""
    return json.dumps(plan_to_json(plan), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plan_from_json(data: object, source: str = "plan") -> Plan:
    """Return the plan of its JSON form.

    Parameters
    ----------
    data
        What ``plan_to_json`` gave.
    source
        Name of the file, for messages.

    Raises
    ------
    ConfigError
        When it is something else; one line for each key that is wrong.
    """
    if not isinstance(data, dict):
        raise ConfigError(f"{source}: must be a mapping, not {shown(data)}")
    try:
        document = PlanDocument.model_validate_json(
            json.dumps(data), by_alias=True, by_name=False
        )
    except ValidationError as error:
        found = complaints(error, PlanDocument, data=data)
        lines = (f"{source}: {path_text(p.path)}: {p.message}" for p in found)
        raise ConfigError("\n".join(lines)) from error
    return _plan_of(document)


def parse_plan(text: str, source: str) -> Plan:
    """Return the plan of a text; ConfigError names the file and what is wrong."""
    try:
        data: object = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{source}:{error.lineno}:{error.colno}"
        raise ConfigError(f"{place}: not valid JSON: {error.msg}") from error
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"{source}: not a plan: {error}") from error
    return plan_from_json(data, source)


def _demand_to_json(line: DemandLine) -> Json:
    return {
        "resource": line.resource,
        "pool": line.pool,
        "pending": line.pending,
        "free": line.free,
        "lacking": line.lacking,
        "servedByPlan": line.served_by_plan,
    }


def _change_to_json(change: NodeChange) -> Json:
    price = change.price
    return {
        "node": change.node,
        "uid": change.uid,
        "pool": change.pool,
        "observed": change.observed,
        "configName": change.config_name,
        "gpus": [_gpu_to_json(gpu) for gpu in change.gpus],
        "layout": [None if counts is None else dict(counts) for counts in change.layout],
        "resources": dict(change.resources),
        "evictions": [_eviction_to_json(eviction) for eviction in change.evictions],
        "awaits": [_pod_to_json(pod) for pod in change.awaits],
        "serves": [_pod_to_json(pod) for pod in change.serves],
        "gain": price.gain,
        "cost": price.cost,
        "terms": _terms_to_json(price),
        "estimatedSeconds": change.estimated_s,
        "blockedBy": [
            {"reason": str(block.reason), "message": block.message}
            for block in change.blocked_by
        ],
    }


def _terms_to_json(price: Price) -> Json:
    avoided: dict[str, dict[str, float]] = {}
    for part in sorted(price.avoided):
        avoided.setdefault(part.scenario.value, {})[part.resource] = part.worth
    return {
        "waitingAvoided": price.waiting_avoided,
        "home": price.home,
        "hedge": price.hedge,
        "rule": price.rule,
        "outOfService": price.out_of_service,
        "workLost": price.work_lost,
        "restarts": price.restarts,
        "churn": price.churn,
        "displaced": price.displaced,
        "avoided": avoided,
    }


def _gpu_to_json(gpu: GpuChange) -> Json:
    form: Json = {"index": gpu.index, "before": dict(gpu.before), "after": dict(gpu.after)}
    if gpu.placements_before is not None:
        form["placementsBefore"] = _geometry_to_json(gpu.placements_before)
    if gpu.placements_after is not None:
        form["placementsAfter"] = _geometry_to_json(gpu.placements_after)
    return form


def _geometry_to_json(geometry: Geometry) -> list[Json]:
    return [
        {"profile": i.profile, "start": i.start, "size": i.size} for i in geometry.instances
    ]


def _pod_to_json(pod: PodRef) -> Json:
    return {"namespace": pod.namespace, "name": pod.name}


def _eviction_to_json(eviction: Eviction) -> Json:
    uid: Json = {"uid": eviction.pod.uid} if eviction.pod.uid else {}
    return {**_pod_to_json(eviction.pod), **uid, "reason": eviction.reason}


def _pod_note_to_json(note: PodNote) -> Json:
    return {**_pod_to_json(note.pod), "reason": str(note.reason), "message": note.message}


def _hold_to_json(hold: Hold) -> Json:
    node: Json = {} if hold.node is None else {"node": hold.node}
    return {"reason": str(hold.reason), **node, "message": hold.message}


def _placeholders_to_json(own: NodePlaceholders) -> Json:
    return {
        "node": own.node,
        "pool": own.pool,
        "resource": own.resource,
        "number": own.number,
        "awaits": [_pod_to_json(pod) for pod in own.awaits],
    }


def _optimality_to_json(optimality: Optimality) -> Json:
    # JSON has no infinity; a bound that is not there is null.
    return {
        "objective": optimality.objective,
        "bound": optimality.bound if isfinite(optimality.bound) else None,
        "gap": optimality.gap if isfinite(optimality.gap) else None,
        "seconds": optimality.seconds,
        "stoppedBy": str(optimality.stopped_by),
    }


def _plan_of(document: PlanDocument) -> Plan:
    return Plan(
        id=document.id,
        observed_at_s=read_moment(document.observed_at),
        policy_name=document.policy.name,
        policy_hash=document.policy.hash,
        mode=str(document.mode),
        demand=tuple(_demand_of(line) for line in document.demand),
        changes=tuple(_change_of(change) for change in document.changes),
        unserved=tuple(
            PodNote(PodRef(n.namespace, n.name), n.reason, n.message) for n in document.unserved
        ),
        holds=tuple(Hold(h.reason, h.message, h.node) for h in document.holds),
        optimality=None if document.optimality is None else _optimality_of(document.optimality),
        notices=document.notices,
        placeholders=tuple(map(_placeholders_of, document.placeholders)),
        terms=_price_of(document.terms),
    )


def _demand_of(line: DemandDocument) -> DemandLine:
    return DemandLine(
        resource=line.resource,
        pool=line.pool,
        pending=line.pending,
        free=line.free,
        lacking=line.lacking,
        served_by_plan=line.served_by_plan,
    )


def _change_of(change: ChangeDocument) -> NodeChange:
    return NodeChange(
        node=change.node,
        uid=change.uid,
        pool=change.pool,
        observed=change.observed,
        config_name=change.config_name,
        gpus=tuple(_gpu_of(gpu) for gpu in change.gpus),
        layout=tuple(None if amounts is None else Counts(amounts) for amounts in change.layout),
        resources=Counts(change.resources),
        evictions=tuple(
            Eviction(PodRef(e.namespace, e.name, e.uid or ""), e.reason)
            for e in change.evictions
        ),
        awaits=tuple(PodRef(pod.namespace, pod.name) for pod in change.awaits),
        serves=tuple(PodRef(pod.namespace, pod.name) for pod in change.serves),
        price=_price_of(change.terms),
        estimated_s=change.estimated_s,
        blocked_by=tuple(Block(b.reason, b.message) for b in change.blocked_by),
    )


def _placeholders_of(own: NodePlaceholdersDocument) -> NodePlaceholders:
    return NodePlaceholders(
        node=own.node,
        pool=own.pool,
        resource=own.resource,
        number=own.number,
        awaits=tuple(PodRef(pod.namespace, pod.name) for pod in own.awaits),
    )


def _price_of(terms: TermsDocument) -> Price:
    avoided = (
        Avoided(scenario, resource, worth)
        for scenario, worths in terms.avoided.items()
        for resource, worth in worths.items()
    )
    numbers = {name: getattr(terms, name) for name in Price.__slots__ if name != "avoided"}
    return Price(**numbers, avoided=tuple(sorted(avoided)))


def _gpu_of(gpu: GpuDocument) -> GpuChange:
    return GpuChange(
        index=gpu.index,
        before=Counts(gpu.before),
        after=Counts(gpu.after),
        placements_before=_geometry_of(gpu.placements_before),
        placements_after=_geometry_of(gpu.placements_after),
    )


def _geometry_of(placements: Iterable[PlacementDocument] | None) -> Geometry | None:
    return None if placements is None else geometry_of(placements)


def _optimality_of(optimality: OptimalityDocument) -> Optimality:
    return Optimality(
        objective=optimality.objective,
        bound=inf if optimality.bound is None else optimality.bound,
        gap=inf if optimality.gap is None else optimality.gap,
        seconds=optimality.seconds,
        stopped_by=optimality.stopped_by,
    )
