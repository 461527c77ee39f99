"""Examination: everything about one node put together.

What its labels, its advertised resources, its pods and its metrics say becomes GPUs
with holders, supply, and holds. While a change is under way, missing labels and odd
sums are its normal signs, and only the change itself is told.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.inventory import Inventory, InventoryGpu, inventory_of
from autoscaler.domain.cluster.marks import MIG_CONFIG
from autoscaler.domain.cluster.objects import Node, Pod, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.fleet.coming import target_supply
from autoscaler.domain.fleet.composition import Composition, compose
from autoscaler.domain.fleet.conditions import (
    Circumstances,
    condition_holds,
    is_down,
    is_leaving,
    journal_of,
)
from autoscaler.domain.fleet.evictions import uses_gpu
from autoscaler.domain.fleet.evidence import Evidence
from autoscaler.domain.fleet.failures import failure_holds
from autoscaler.domain.fleet.hardware import Hardware
from autoscaler.domain.fleet.identity import Identity, identify
from autoscaler.domain.fleet.ownership import (
    agent_holds,
    manager_holds,
    owner_holds,
    scope_holds,
)
from autoscaler.domain.fleet.seating import seat, table_of
from autoscaler.domain.fleet.sightings import Seat, Sightings, sightings_of
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu
from autoscaler.domain.fleet.visibility import Shown, unseen
from autoscaler.domain.mig.configuration import LayoutOfNode
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.resource import is_gpu_resource
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.pool import Driver, Pool
from autoscaler.domain.reasons import Hold, Reason

FOREIGN = frozenset({Reason.SHARED, Reason.MANAGED_BY_PROVIDER, Reason.TWO_OWNERS})
ARITHMETIC = frozenset(
    {
        Reason.GEOMETRY_UNKNOWN,
        Reason.DRIFTED,
        Reason.EXCEEDS_HARDWARE,
        Reason.MIXED_MODELS,
        Reason.UNKNOWN_PROFILE,
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a node before its pods are looked at.

    Parameters
    ----------
    circumstances
        The node, its journal and the time.
    identity, composition
        What it is, and what its GPUs hold.
    promised
        What the configuration it is labelled with may mean.
    inventory
        The agent's report, if there is one that can be read.
    problems
        Reports that cannot be read.
    """

    circumstances: Circumstances
    identity: Identity
    composition: Composition
    promised: tuple[LayoutOfNode, ...] = ()
    inventory: Inventory | None = None
    problems: tuple[Hold, ...] = ()

    @property
    def node(self) -> Node:
        """The node."""
        return self.circumstances.node

    @property
    def holds(self) -> tuple[Hold, ...]:
        """Holds of the node by itself."""
        own = (*self.problems, *condition_holds(self.circumstances))
        if self.circumstances.is_changing:
            return own
        return (*own, *self.identity.holds, *self.composition.holds)


def examine(node: Node, pool: Pool | None, evidence: Evidence) -> FleetNode:
    """Return one node as the planner sees it.

    Parameters
    ----------
    node
        With labels that are away for a while restored.
    pool
        ``None`` for a node of no pool: its supply counts, it is never changed.
    """
    pods = evidence.bound.get(node.name, [])
    namespace = evidence.policy.mig_manager.namespace
    users = sorted((p for p in pods if uses_gpu(p, namespace)), key=lambda p: p.ref)
    finding = look_at(node, pool, evidence, is_used=bool(users))
    holds = [
        *finding.holds,
        *_pool_holds(finding, pool, evidence),
        *_pod_holds(finding, users, evidence),
    ]
    is_foreign = any(hold.reason in FOREIGN for hold in holds)
    if is_foreign:
        # What others make of their GPUs needs no explanation by our rules.
        holds = [hold for hold in holds if hold.reason not in ARITHMETIC]
    fleet_node = FleetNode(
        node=node,
        pool=pool.name if pool is not None else "",
        model=finding.identity.model,
        driver=pool.driver if pool is not None else Driver.MIG_MANAGER,
        strategy=finding.identity.strategy,
        gpus=finding.composition.gpus,
        supply=_supply(finding, is_countable=is_foreign or finding.composition.is_countable),
        allocated=_allocated(users, evidence.nominations.requests(node.name)),
        holders=tuple(users),
        holds=tuple(sorted(set(holds))),
        journal=finding.circumstances.journal,
        has_waited=finding.circumstances.has_waited,
        placeholders=tuple(sorted(evidence.placeholders.get(node.name, ()))),
        target_supply=target_supply(
            finding.circumstances,
            finding.identity,
            promised=finding.promised,
            pool=pool,
            promises=evidence.promises,
        ),
    )
    sightings = _sightings(fleet_node, finding, evidence)
    return replace(
        fleet_node,
        gpus=_seated(fleet_node, finding, sightings),
        unseen=_unseen(fleet_node, finding, evidence, sightings),
    )


def look_at(
    node: Node, pool: Pool | None, evidence: Evidence, *, is_used: bool = True
) -> Finding:
    """Return what a node and its configuration say, its pods aside.

    Parameters
    ----------
    is_used
        Whether a pod may use its GPUs. A node that was only kept from new pods until
        those that were there end is one like any other once they have: what becomes of
        it is decided on what is known then.
    """
    journal = journal_of(node)
    has_waited = journal is not None and journal.has_waited(is_used=is_used)
    circumstances = Circumstances(
        node=node,
        journal=None if has_waited else journal,
        rules=evidence.policy.rollout,
        now_s=evidence.now_s,
        has_waited=has_waited,
    )
    known = evidence.memory.nodes.get(node.uid)
    wished = pool.strategy if pool is not None else Strategy.MIXED
    identity = identify(node, wished, known.model if known is not None else None)
    inventory: Inventory | None = None
    problems: tuple[Hold, ...] = ()
    try:
        inventory = inventory_of(node)
    except ConfigError as error:
        problems = (circumstances.hold(Reason.UNREADABLE, str(error)),)
    if identity.model is None or identity.num_gpus is None:
        return Finding(circumstances, identity, Composition(), (), inventory, problems)
    promised = _promised(node, identity, evidence)
    hardware = Hardware(
        node=node,
        model=identity.model,
        num_gpus=identity.num_gpus,
        strategy=identity.strategy,
        obeys_label=pool is None or pool.driver is Driver.MIG_MANAGER,
    )
    composition = _with_flaw(compose(hardware, promised, inventory), hardware, evidence)
    return Finding(circumstances, identity, composition, promised, inventory, problems)


def _with_flaw(found: Composition, hardware: Hardware, evidence: Evidence) -> Composition:
    """Return a composition that says what is wrong with the configuration that is there."""
    config = hardware.node.labels.get(MIG_CONFIG, "")
    if all(hold.reason is not Reason.GEOMETRY_UNKNOWN for hold in found.holds):
        return found
    flaw = evidence.promises.flaw(
        hardware.node.name, config, model=hardware.model, num_gpus=hardware.num_gpus
    )
    if not flaw:
        return found
    holds = (
        replace(hold, message=f"{hold.message}; its configuration is of no use: {flaw}")
        if hold.reason is Reason.GEOMETRY_UNKNOWN
        else hold
        for hold in found.holds
    )
    return replace(found, holds=tuple(holds))


def _promised(node: Node, identity: Identity, evidence: Evidence) -> tuple[LayoutOfNode, ...]:
    config = node.labels.get(MIG_CONFIG)
    if not config or identity.model is None or identity.num_gpus is None:
        return ()
    return evidence.promises.layouts(
        node.name, config, model=identity.model, num_gpus=identity.num_gpus
    )


def _pool_holds(finding: Finding, pool: Pool | None, evidence: Evidence) -> Iterator[Hold]:
    node = finding.node
    pods = evidence.bound.get(node.name, [])
    drivers = evidence.drivers.get(node.name, frozenset())
    yield from owner_holds(node, drivers=drivers, pods=pods)
    if pool is None:
        return
    yield from scope_holds(node, pool, finding.identity.strategy)
    has_report = finding.inventory is not None or bool(finding.problems)
    yield from agent_holds(node, pool, has_report=has_report)
    if not finding.circumstances.is_changing:
        confirms = finding.composition.confirms
        yield from manager_holds(node, pool, managed=evidence.managed, confirms=confirms)


def _pod_holds(finding: Finding, users: list[Pod], evidence: Evidence) -> Iterator[Hold]:
    node = finding.node
    mine = (*evidence.bound.get(node.name, ()), *evidence.ended.get(node.name, ()))
    current = tuple(failure_holds(node.name, mine, evidence.now_s))
    yield from current
    seen = {hold.reason for hold in current}
    for hold in evidence.memory.lasting_holds(node, evidence.now_s):
        if hold.reason not in seen:
            yield hold
    yield from evidence.nominations.hold(node.name)
    for pod in users:
        is_daemon = pod.owner is not None and pod.owner.kind == "DaemonSet"
        if is_daemon and not effective_request(pod):
            text = (
                f"DaemonSet pod {pod.ref} uses its GPUs without asking for one and cannot leave"
            )
            yield finding.circumstances.hold(Reason.DAEMON_SET_POD, text)
    yield from _overdrawn(finding, users)


def _overdrawn(finding: Finding, users: list[Pod]) -> Iterator[Hold]:
    """Yield the hold of a node whose pods hold what it does not advertise."""
    seen = finding.circumstances
    unhealthy = any(h.reason is Reason.UNHEALTHY_DEVICE for h in finding.composition.holds)
    if seen.journal is not None or unhealthy or is_down(seen):
        return
    for name, number in _allocated(users, Counts()).items():
        offered = finding.node.allocatable[name]
        if number > offered:
            text = f"not settled: its pods hold {number} {name}, it advertises {offered}"
            yield seen.hold(Reason.NOT_SETTLED, text)


def _supply(finding: Finding, *, is_countable: bool) -> Counts:
    seen = finding.circumstances
    is_gone = is_leaving(seen.node) or (is_down(seen) and not seen.is_changing)
    if is_gone or not is_countable:
        return Counts()
    return Counts({n: k for n, k in seen.node.allocatable.items() if is_gpu_resource(n)})


def _allocated(users: list[Pod], nominated: Counts) -> Counts:
    staying: dict[str, int] = {}
    leaving: dict[str, int] = {}
    for pod in users:
        held = staying if pod.deletion_s is None else leaving
        for name, number in effective_request(pod).items():
            held[name] = held.get(name, 0) + number
    # What victims hold is what a nominated pod waits for: it counts once.
    for name in {*leaving, *nominated}:
        staying[name] = staying.get(name, 0) + max(leaving.get(name, 0), nominated[name])
    return Counts(staying)


def _index_of(finding: Finding) -> dict[str, int]:
    boards = () if finding.inventory is None else finding.inventory.gpus
    return {gpu.uuid: gpu.index for gpu in boards if gpu.uuid}


def _sightings(node: FleetNode, finding: Finding, evidence: Evidence) -> Sightings:
    return sightings_of(
        {pod.ref: pod for pod in node.holders},
        evidence.samples.get(node.name, ()),
        index_of=_index_of(finding),
        read_at_s=evidence.observation.observed_at_s,
    )


def _unseen(node: FleetNode, finding: Finding, evidence: Evidence, seen: Sightings) -> str:
    # Files do not tell what Prometheus would show once the node is closed.
    if evidence.observation.offline or node.journal is not None:
        return ""
    shown = Shown(
        gap=evidence.gap,
        samples=tuple(evidence.samples.get(node.name, ())),
        seen=seen,
        index_of=_index_of(finding),
    )
    return unseen(node, shown, evidence.now_s)


def _seated(node: FleetNode, finding: Finding, seen: Sightings) -> tuple[Gpu, ...]:
    table = table_of(node)
    if table is None:
        return node.gpus
    users = {pod.ref: pod for pod in node.holders}
    inventory = finding.inventory
    boards = () if inventory is None else inventory.gpus
    reported = tuple(
        Seat(users[pod].ref, gpu.index, instance.profile)
        for gpu in boards
        for pod, instance in gpu.holders
        if pod in users
    )
    # The agent knows what the exporter only guesses.
    certain = {found.pod for found in reported}
    seats = (*reported, *(found for found in seen.seats if found.pod not in certain))
    gpus = seat(table, node.holders, Sightings(seats, seen.labelled, seen.active))
    if inventory is None:
        return gpus
    return tuple(
        _pinned(gpu, board, users) for gpu, board in zip(gpus, inventory.gpus, strict=True)
    )


def _pinned(gpu: Gpu, board: InventoryGpu, users: Mapping[PodRef, Pod]) -> Gpu:
    """Return the GPU with the placements of what is held, if all of them are known."""
    seats = tuple(sorted((i, users[pod].ref) for pod, i in board.holders if pod in users))
    held = Geometry(tuple(instance for instance, _ in seats))
    is_known = gpu.proven and gpu.geometry is not None and held.counts == gpu.held
    return replace(gpu, pinned=held, seats=seats) if is_known else gpu
