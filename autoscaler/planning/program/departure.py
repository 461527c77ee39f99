"""Departures: GPUs in use that may be emptied, and what that comes to.

MIG manager cuts a GPU only when it is empty as a whole: either its holders end by
themselves soon, or those that may be evicted are. The node agent cuts around whoever
stays, so only those leave whose place a new layout takes. It waits for nobody else but
those who hold a whole GPU.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.planning.program.cost import Cost
from autoscaler.planning.program.drain import Drain, Stay, drain_of
from autoscaler.planning.program.keeping import Place
from autoscaler.planning.program.targets import Leavers, Target, Way
from autoscaler.planning.program.worth import Worth

# Share of a wait's slice-seconds that it costs where nothing else is lost by it: of two
# changes that win the same, the one that need not wait.
LATENESS = 0.01

Likeness = tuple[tuple[object, ...], ...]
"""What makes holders alike for prices; sorts by content."""


@dataclass(frozen=True, slots=True)
class Emptying:
    """What emptying a GPU, or the part of it that a layout takes, comes to.

    Parameters
    ----------
    leaving
        What is not held any more afterwards, by profile.
    drain
        What waiting for it comes to.
    idle_slice_s
        Slice-seconds that holders leave idle who are gone before the last.
    cost
        What the pods lose; what GPU and node lose meanwhile is not in it.
    returns
        Requests that wait again, by index of the want.
    uses
        Evictions, by index of the disruption budget.
    """

    leaving: Counts
    drain: Drain
    idle_slice_s: float
    cost: Cost
    returns: tuple[tuple[int, int], ...]
    uses: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Departures:
    """Who may leave which GPU.

    Parameters
    ----------
    policy
        Deadlines, and the constants of prices.
    worth
        Prices.
    holders
        By node name and GPU index; GPUs that cannot be emptied left out.
    want_of
        Index of the want under which an evicted pod waits again.
    limit_of
        Index of each disruption budget by its name.
    freed
        Chance that a request would take an instance of a name that becomes free by
        itself; 0 where absent.
    keepable
        GPUs for whose holders the agent may wait, by node name and index, and whether
        each is part of the home share.
    """

    policy: Policy
    worth: Worth
    holders: Mapping[Place, tuple[Holder, ...]] = field(default_factory=dict)
    want_of: Mapping[tuple[Counts, frozenset[str], float], int] = field(default_factory=dict)
    limit_of: Mapping[str, int] = field(default_factory=dict)
    freed: Mapping[str, float] = field(default_factory=dict)
    keepable: Mapping[Place, bool] = field(default_factory=dict)
    _made: dict[tuple[Likeness, Way, Geometry | None], Emptying | None] = field(
        default_factory=dict
    )

    def at(self, gpu: Gpu, node: FleetNode) -> tuple[Holder, ...]:
        """Return who may leave a GPU, by place and likeness; nobody where it is hopeless."""
        return self.holders.get((node.name, gpu.index), ())

    def likeness_of(self, holders: Iterable[Holder]) -> Likeness:
        """Return what makes GPUs alike whose holders may leave."""
        return tuple(self._key(holder) for holder in holders)

    def _key(self, holder: Holder) -> tuple[object, ...]:
        stay, evictable = self.stay_of(holder), holder.may_be_evicted
        want = self.want_of.get((holder.bundle, holder.eligible, holder.weight), -1)
        return (
            str(holder.places or ""),
            tuple(holder.held.items()),
            want if evictable else -1,
            (holder.lost_work_s, holder.grace_s) if evictable else (),
            holder.budgets if evictable else (),
            (stay.mean_s, stay.gone_in_s),
            self._has_home_share(holder),
        )

    def in_order(self, holders: Iterable[Holder]) -> tuple[Holder, ...]:
        """Return holders in the order of what makes them alike, then by name."""
        return tuple(sorted(holders, key=lambda h: (self._key(h), h.pod)))

    def stay_of(self, holder: Holder) -> Stay:
        """Return how long a holder stays if nobody evicts it."""
        gone_in_s = inf if holder.gone_in_s is None else holder.gone_in_s
        known = self.worth.history.service_s
        means = [known.get(name, 0.0) for name in holder.bundle]
        if not holder.ends or not all(mean_s > 0 for mean_s in means):
            return Stay(gone_in_s=gone_in_s)
        return Stay(max(means, default=inf), gone_in_s)

    def leavers(self, holders: Sequence[Holder], driver: Driver) -> Leavers:
        """Return how a GPU may be emptied; falsy where it cannot be."""
        if driver is Driver.AGENT:
            # The agent asks for the place of whoever is evicted, has been told to go, or
            # has a whole GPU that is kept from others meanwhile.
            able = [h for h in holders if h.places and self._may_leave(h)]
            return Leavers(
                places=tuple(h.places for h in able if h.places),
                evictable=tuple(h.may_be_evicted for h in able),
            )
        ways = [Way.EVICT]
        if self.policy.disruption.draining.enabled or all(h.is_going for h in holders):
            ways.insert(0, Way.WAIT)
        targets = (Target(Counts(), way=way) for way in ways)
        return Leavers(ways=tuple(t.way for t in targets if self.emptying(holders, t)))

    def _may_leave(self, holder: Holder) -> bool:
        if holder.may_be_evicted or holder.is_going:
            return True
        waits = self.policy.disruption.draining.enabled
        return waits and (holder.node, holder.gpu) in self.keepable

    def emptying(self, holders: Sequence[Holder], target: Target) -> Emptying | None:
        """Return what making room for a target comes to, ``None`` when it is hopeless.

        Parameters
        ----------
        holders
            Of the GPU, in the order of ``in_order``.
        target
            A layout, or for MIG manager any layout.
        """
        key = (self.likeness_of(holders), target.way, target.geometry)
        if key not in self._made:
            self._made[key] = self._empty(holders, target)
        return self._made[key]

    def _empty(self, holders: Sequence[Holder], target: Target) -> Emptying | None:
        leaving = [h for h in holders if is_in_the_way(h, target)]
        evicted = evicted_by(leaving, target)
        if (target.way is Way.EVICT) != bool(evicted):
            return None
        stays = tuple(
            Stay(gone_in_s=h.grace_s) if h in evicted else self.stay_of(h) for h in leaving
        )
        drain = drain_of(stays, self._deadline_s(target, evicted))
        if drain.chance < self.policy.disruption.draining.min_chance:
            return None
        idle = sum(
            self._slices(holder) * (drain.wait_s - stay_s)
            for holder, stay_s in zip(leaving, drain.stays_s, strict=True)
        )
        gone = sum_of(holder.held for holder in leaving)
        wants = [self.want_of.get((h.bundle, h.eligible, h.weight), 0) for h in evicted]
        budgets = [self.limit_of.get(name, 0) for h in evicted for name in h.budgets]
        cost = self._cost(leaving, evicted)
        if _is_kept(target, evicted):
            late = LATENESS * drain.wait_s * sum(map(self._slices, leaving))
            cost = cost.plus(Cost(waiting=late + sum(map(self._home_worth, leaving))))
        return Emptying(gone, drain, idle, cost, _counted(wants), _counted(budgets))

    def _deadline_s(self, target: Target, evicted: Sequence[Holder]) -> float:
        rules = self.policy.rollout
        is_kept = _is_kept(target, evicted)
        return rules.surplus_deadline_s if is_kept else rules.drain_deadline_s

    def _cost(self, leaving: Sequence[Holder], evicted: Sequence[Holder]) -> Cost:
        restart_s = self.policy.planning.restart_s
        waits = sum(self.worth.of_bundle(h.bundle, h.weight) for h in evicted)
        served_anyway = sum(
            self.freed.get(name, 0.0) * self.worth.of_bundle(Counts({name: number}))
            for holder in leaving
            if holder not in evicted
            for name, number in holder.bundle.items()
        )
        return Cost(
            work_lost=sum(self._slices(h) * h.lost_work_s for h in evicted),
            restarts=sum(self._slices(h) * (h.grace_s + restart_s) for h in evicted),
            waiting=waits + served_anyway,
        )

    def _has_home_share(self, holder: Holder) -> bool:
        return self.keepable.get((holder.node, holder.gpu), False)

    def _home_worth(self, holder: Holder) -> float:
        """Return the extra worth of the next request, which would have the home share."""
        if not self._has_home_share(holder):
            return 0.0
        return sum(
            self.freed.get(name, 0.0) * self.worth.of_home(name) * number
            for name, number in holder.bundle.items()
        )

    def _slices(self, holder: Holder) -> int:
        return sum(self.worth.slices_of(n) * k for n, k in holder.bundle.items())


def _is_kept(target: Target, evicted: Sequence[Holder]) -> bool:
    """Say whether the agent, who knows places, waits for pods that end by themselves."""
    return target.geometry is not None and not evicted


def is_in_the_way(holder: Holder, target: Target) -> bool:
    """Say whether a target takes the place of a holder."""
    if target.geometry is None:
        return True
    mine = () if holder.places is None else holder.places.instances
    return any(instance not in target.geometry.instances for instance in mine)


def evicted_by(holders: Iterable[Holder], target: Target) -> tuple[Holder, ...]:
    """Return the holders that are evicted for a target."""
    if target.way is not Way.EVICT:
        return ()
    return tuple(h for h in holders if h.may_be_evicted and is_in_the_way(h, target))


def _counted(indexes: Iterable[int]) -> tuple[tuple[int, int], ...]:
    number: dict[int, int] = {}
    for index in indexes:
        number[index] = number.get(index, 0) + 1
    return tuple(sorted(number.items()))
