"""Rules of pools: floors, ceilings and reserved nodes, and what is said when they fail.

Rules hold whatever demand says, yet none is a hard limit of the program: an impossible
floor must not make every plan impossible. It is met as far as it can be, and named.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.fleet.reservation import is_whole
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import GPU
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Pool
from autoscaler.domain.policy.pool import Limits
from autoscaler.domain.policy.quantity import share_of
from autoscaler.domain.policy.window import span_active
from autoscaler.domain.reasons import Hold, Reason
from autoscaler.planning.program.mix import MARKED_NODE, WHOLE_NODE, Rule
from autoscaler.planning.program.preset import Wishes
from autoscaler.planning.program.units import name_of, names_of, unit_name
from autoscaler.planning.program.worth import Worth


class RuleKind(StrEnum):
    """What a rule asks for."""

    FLOOR = "floor"
    CEILING = "ceiling"
    RESERVE = "reserve"
    CAP = "whole-gpu-cap"
    PRESET = "preset"

    @property
    def is_most(self) -> bool:
        """Whether it says how many there may be at most."""
        return self in {RuleKind.CEILING, RuleKind.CAP}


@dataclass(frozen=True, slots=True)
class PoolRule:
    """A rule of a pool.

    Parameters
    ----------
    pool
        Name of the pool.
    kind
        Which limit it is.
    name
        Profile, ``WHOLE_NODE``, ``MARKED_NODE``, or that of a preset's wish.
    limit
        Instances or nodes there shall be at least, or at most for a ceiling or cap.
    present
        How many there are.
    slices
        Compute slices of one.
    strategy
        MIG strategy of the pool: under which name its instances count.
    wished
        The floor that people wrote, where a ceiling of the same moment is below it.
    """

    pool: str
    kind: RuleKind
    name: str
    limit: int
    present: int
    slices: int
    strategy: Strategy = Strategy.MIXED
    wished: int | None = None

    @property
    def resource(self) -> str:
        """Name under which options count what they add."""
        if self.kind in {RuleKind.RESERVE, RuleKind.PRESET}:
            return self.name
        return name_of(self.name, self.strategy)

    @property
    def is_met(self) -> bool:
        """Whether the fleet keeps it as it is."""
        if self.kind.is_most:
            return self.present <= self.limit
        return self.present >= self.limit

    def as_rule(self, zones: frozenset[int], worth: Worth, largest_weight: float) -> Rule:
        """Return the rule in the words of the program.

        Parameters
        ----------
        zones
            The zones of its pool.
        worth
            Prices.
        largest_weight
            Largest priority weight of any demand: rules outweigh it too.
        """
        is_most = self.kind.is_most
        return Rule(
            name=self.resource,
            zones=zones,
            present=self.present,
            least=None if is_most else self.limit,
            most=self.limit if is_most else None,
            price=worth.of_rule(self.slices, largest_weight),
        )


def active_floors(pool: Pool, now_s: float) -> Counts:
    """Return the floors of a pool that hold now, by profile; the larger where two do."""
    return Counts(_active(pool.floors, now_s, max))


def active_ceilings(pool: Pool, now_s: float) -> dict[str, int]:
    """Return the ceilings that hold now, zeros too, by profile; the smaller where two do."""
    return dict(sorted(_active(pool.ceilings, now_s, min).items()))


def _active(
    limits: Limits, now_s: float, stricter: Callable[[int, int], int]
) -> dict[str, int]:
    if isinstance(limits, dict):
        return dict(limits)
    found: dict[str, int] = {}
    for span in limits:
        if span_active(span, now_s):
            for profile, number in span.profiles.items():
                found[profile] = stricter(found.get(profile, number), number)
    return found


def rules_of(pool: Pool, snapshot: Snapshot, now_s: float) -> tuple[PoolRule, ...]:
    """Return the rules of a pool, the reserve first, then sorted by profile.

    Parameters
    ----------
    pool
        A pool that is only observed, because of its MIG strategy, has no rules.
    snapshot
        The fleet.
    now_s
        Epoch seconds, for floors and ceilings that hold at some times only.
    """
    nodes = [node for node in snapshot.nodes if node.pool == pool.name]
    if pool.strategy is Strategy.NONE:
        return ()
    models = {node.model for node in nodes if node.model is not None}
    found = _reserve_rules(pool, nodes, snapshot.pools_total.get(pool.name, len(nodes)))
    floors = active_floors(pool, now_s)
    present = instances_of(nodes) if floors else Counts()
    # What reserved nodes offer is wished for, so it does not count against a ceiling.
    cut = (node for node in nodes if not node.reserved)
    ceilings = active_ceilings(pool, now_s)
    limited = instances_of(cut) if ceilings else Counts()
    limits = (
        (RuleKind.FLOOR, floors.items(), present),
        (RuleKind.CEILING, ceilings.items(), limited),
    )
    for kind, amounts, have in limits:
        for profile, number in amounts:
            slices = _slices(profile, models)
            there = have[name_of(profile, pool.strategy)]
            own = PoolRule(pool.name, kind, profile, number, there, slices)
            own = replace(own, strategy=pool.strategy)
            if kind is RuleKind.FLOOR and number > ceilings.get(profile, number):
                # What may not be there cannot be kept: the ceiling counts.
                own = replace(own, limit=ceilings[profile], wished=number)
            found.append(own)
    return tuple(found)


def preset_rules(wishes: Wishes) -> tuple[PoolRule, ...]:
    """Return the rules of the presets that hold now."""
    return tuple(
        PoolRule(w.pool, RuleKind.PRESET, w.name, w.number, w.present, w.slices)
        for w in wishes.wishes
    )


def _reserve_rules(pool: Pool, nodes: list[FleetNode], total: int) -> list[PoolRule]:
    """Ask for the nodes that the reserve lacks, and for those in it that are cut."""
    reserved = [node for node in nodes if node.reserved]
    cut = sum(1 for node in reserved if not is_whole(node))
    lacking = max(0, share_of(pool.reserve.full_gpu_nodes, total) - len(reserved))
    sizes = (len(node.gpus) * node.model.compute_slices for node in nodes if node.model)
    slices = max(1, max(sizes, default=1))
    rule = PoolRule(pool.name, RuleKind.RESERVE, MARKED_NODE, cut, 0, slices)
    return [r for r in (rule, replace(rule, name=WHOLE_NODE, limit=lacking)) if r.limit]


def broken(rule: PoolRule, short: int, cause: str) -> Hold | None:
    """Return the hold that names a floor or reserve that a plan cannot keep.

    Parameters
    ----------
    rule
        The rule.
    short
        Instances or nodes that are missing after the plan; 0 gives none.
    cause
        What stands in the way, one clause; may be empty.

    Returns
    -------
    Hold or None
        Also for a floor above a ceiling of the same moment.
    """
    if rule.wished is not None:
        text = (
            f"pool {rule.pool} shall keep {rule.wished} x {rule.name} and have at most"
            f" {rule.limit} at the same time: the ceiling counts"
        )
        return Hold(Reason.FLOOR_IMPOSSIBLE, text)
    if not short or rule.kind.is_most:
        return None
    have = rule.limit - short
    why = f": {cause}" if cause else ""
    if rule.kind is RuleKind.RESERVE:
        text = (
            f"pool {rule.pool} lacks {rule.limit} full-GPU nodes for its reserve,"
            f" {have} can be made now{why}"
        )
        return Hold(Reason.RESERVE_IMPOSSIBLE, text)
    if rule.kind is RuleKind.PRESET:
        text = (
            f"pool {rule.pool} shall have {rule.limit} GPUs as {rule.name}, {have} can be had"
            f" now{why}"
        )
        return Hold(Reason.PRESET_IMPOSSIBLE, text)
    text = f"pool {rule.pool} shall keep {rule.limit} x {rule.name}, {have} can be had now{why}"
    return Hold(Reason.FLOOR_IMPOSSIBLE, text)


def instances_of(nodes: Iterable[FleetNode]) -> Counts:
    """Return the instances of nodes by name, held ones included.

    Parameters
    ----------
    nodes
        One that is changing counts with what it is about to offer.
    """
    return sum_of(map(_instances_on, nodes))


def _instances_on(node: FleetNode) -> Counts:
    if node.target_supply is None and node.gpus:
        return names_of([gpu.counts for gpu in node.gpus], node.strategy)
    supply = node.supply if node.target_supply is None else node.target_supply
    return Counts({unit_name(node.unit): supply[GPU]}) if node.unit else supply


def _slices(profile: str, models: Iterable[GpuModel]) -> int:
    found = [model.profile(profile) for model in models]
    return max((p.compute_slices for p in found if p is not None), default=1)
