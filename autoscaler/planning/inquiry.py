"""Inquiries: what the program says of one node, one pod, and the fleet as a whole.

Answers come from the same problem and the same plan: what if this node changed, what
would serve this pod, and what keeps the plan from being worth more.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.errors import PlanningError
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu, Snapshot
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import GPU, parse_resource
from autoscaler.domain.policy.policy import Policy
from autoscaler.planning.capacity import fewest_gpus
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import DEFAULT_SETTINGS, PlannerSettings
from autoscaler.planning.program.cost import Cost
from autoscaler.planning.program.fleet import is_movable
from autoscaler.planning.program.mix import Choice
from autoscaler.planning.program.optimizer import Settlement, finish, settle
from autoscaler.planning.program.problem import Past, Problem, state_problem

# Other targets of one node that are tried one by one.
MAX_TRIED = 60
# Below this, in slice-seconds, an instance more is worth nothing.
LEAST_WORTH = 1.0


@dataclass(frozen=True, slots=True)
class Alternative:
    """A change of one GPU that is possible and not proposed.

    Parameters
    ----------
    node, gpu
        Name of the node and index of the GPU.
    before, after
        Its instances by profile.
    cost
        Price of the change, the closing of the node included.
    difference
        How much more the plan would be worth with it; negative for less.
    """

    node: str
    gpu: int
    before: Counts
    after: Counts
    cost: Cost
    difference: float = 0.0


@dataclass(frozen=True, slots=True)
class Scarcity:
    """A resource of which one more would be worth something."""

    pool: str
    resource: str
    worth: float


@dataclass(frozen=True, slots=True)
class Need:
    """GPUs that all running and waiting pods of a pool need, if they were empty.

    Parameters
    ----------
    binding
        What makes them so many.
    """

    pool: str
    model: str
    gpus: int
    fewest: int
    binding: str


@dataclass(frozen=True, slots=True)
class OneMore:
    """What one more node like the others of a pool would bring."""

    pool: str
    gpus: int
    worth: float
    pods: int


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A plan that can be asked."""

    problem: Problem
    settlement: Settlement
    snapshot: Snapshot
    demand: Demand
    policy: Policy
    now_s: float
    settings: PlannerSettings

    @property
    def choice(self) -> Choice:
        """What the plan does."""
        return self.settlement.choice

    def of_node(self, name: str) -> Alternative | None:
        """Return the best change of a node that the plan leaves as it is."""
        found = [self._tried(own) for own in list(self._changes_of(name))[:MAX_TRIED]]
        known = [own for own in found if own is not None]
        return max(known, key=lambda own: own.difference, default=None)

    def of_pod(self, pod: PodRef) -> Alternative | None:
        """Return the cheapest change of one GPU that would serve a pod."""
        index = next((i for i, g in enumerate(self.problem.groups) if pod in g.pods), None)
        if index is None:
            return None
        want = self.problem.mix.wants[index]
        best: Alternative | None = None
        for kind, own in enumerate(self.problem.mix.kinds):
            if own.zone not in want.zones:
                continue
            for key, alternative in self._options_of(kind, 0):
                gains = dict(self.problem.mix.option(*key).gains)
                serves = all(gains.get(n, 0) >= k for n, k in want.bundle.items())
                cheaper = best is None or alternative.cost.charged() < best.cost.charged()
                if serves and cheaper:
                    best = alternative
        return best

    def scarcities(self) -> tuple[Scarcity, ...]:
        """Return what one more free instance would be worth, the most valuable first.

        These are the dual values of the relaxed program; none where a backend has none.
        """
        formulation = self.settlement.formulation
        answer = self.settings.solver(formulation.program.relaxed(), 0.0, 0)
        found: dict[tuple[str, str], float] = {}
        if answer.duals is None:
            return ()
        for (zone, name), row in formulation.zone_rows.items():
            pool = self.problem.fleet.zones[zone].pool
            worth = abs(float(answer.duals[row]))
            if worth >= LEAST_WORTH:
                found[pool, name] = max(worth, found.get((pool, name), 0.0))
        every = (Scarcity(pool, name, worth) for (pool, name), worth in found.items())
        return tuple(sorted(every, key=lambda s: (-s.worth, s.pool, s.resource)))

    def needs(self) -> tuple[Need, ...]:
        """Return the fewest GPUs for all that runs and waits, for pools of one model."""
        found = []
        for pool in self.policy.pools:
            nodes = [node for node in self.snapshot.nodes if node.pool == pool.name]
            models = {node.model for node in nodes if node.model is not None}
            if len(models) != 1:
                continue
            (model,) = models
            try:
                capacity = fewest_gpus(model, self._asked_in(pool.name, model))
            except PlanningError:
                continue
            gpus = sum(1 for node in nodes for gpu in node.gpus if gpu.mig_enabled)
            found.append(Need(pool.name, model.key, gpus, capacity.gpus, capacity.binding))
        return tuple(found)

    def one_more(self) -> tuple[OneMore, ...]:
        """Return what one more node of each pool would bring."""
        found = [self._one_more_in(pool.name) for pool in self.policy.pools]
        return tuple(own for own in found if own is not None)

    def _one_more_in(self, pool: str) -> OneMore | None:
        able = [n for n in self.snapshot.nodes if n.pool == pool and is_movable(n)]
        able = [n for n in able if not n.reserved and all(g.mig_enabled for g in n.gpus)]
        if not able:
            return None
        like = max(able, key=lambda n: (len(n.gpus), n.name))
        extra = idle_copy(like)
        groups = tuple(
            replace(g, eligible=g.eligible | {extra.name}) if like.name in g.eligible else g
            for g in self.demand.groups
        )
        more = replace(self.snapshot, nodes=(*self.snapshot.nodes, extra))
        demand = replace(self.demand, groups=groups)
        past = Past(self.settings.history or ValueHistory(), self.settings.records)
        problem = state_problem(more, demand, self.policy, self.now_s, past)
        settled = settle(problem.mix, self.settings.limits, None, self.settings.solver)
        if settled is None:
            return None
        number = len(self.problem.groups)
        pods = sum(settled.choice.served[:number]) - sum(self.choice.served[:number])
        worth = settled.choice.objective - self.choice.objective
        return OneMore(pool, len(extra.gpus), worth, pods)

    def _asked_in(self, pool: str, model: GpuModel) -> Counts:
        names = {node.name for node in self.snapshot.nodes if node.pool == pool}
        total = self.demand.running.get(pool, Counts())
        for group in self.demand.groups:
            if group.eligible & names:
                total = total.plus(group.bundle, group.number)
        asked: dict[str, int] = {}
        for name, number in total.items():
            profile = model.whole_gpu.name if name == GPU else parse_resource(model, name)
            if profile is not None:
                asked[profile] = asked.get(profile, 0) + number
        return Counts(asked)

    def _changes_of(self, name: str) -> Iterator[tuple[tuple[int, int, int], Alternative]]:
        for kind, members in enumerate(self.problem.fleet.members):
            for place, node in enumerate(members.nodes):
                if node.name == name:
                    yield from self._options_of(kind, place)

    def _options_of(
        self, kind: int, place: int
    ) -> Iterator[tuple[tuple[int, int, int], Alternative]]:
        members = self.problem.fleet.members[kind]
        node = members.nodes[place]
        for gpu, menu in enumerate(members.menus):
            cut = node.gpus[members.places[place][gpu][0]]
            for option, target in enumerate(menu.targets):
                cost = members.closing_cost.plus(menu.costs[option])
                own = Alternative(node.name, cut.index, cut.counts, target.after, cost)
                yield (kind, gpu, option), own

    def _tried(self, change: tuple[tuple[int, int, int], Alternative]) -> Alternative | None:
        """Return a change with the difference it makes to the plan."""
        key, alternative = change
        kind, gpu, _ = key
        own = self.problem.mix.kinds[kind]
        taken = {k: n for k, n in self.choice.taken.items() if k[:2] == (kind, gpu)}
        if sum(taken.values()) >= own.number * own.gpus[gpu].number:
            return None
        closed: Mapping[int, int] = self.choice.closed
        more = {**self.choice.taken, key: self.choice.taken.get(key, 0) + 1}
        closings = {**closed, kind: min(own.number, closed.get(kind, 0) + 1)}
        wished = replace(self.choice, taken=more, closed=closings)
        formulation = self.settlement.formulation
        decisions = np.asarray(formulation.decisions_of(wished))
        found, _ = finish(formulation, decisions, self.settings.solver)
        if found is None:
            return None
        return replace(alternative, difference=found.objective - self.choice.objective)


def inquire(
    snapshot: Snapshot,
    demand: Demand,
    policy: Policy,
    now_s: float,
    settings: PlannerSettings = DEFAULT_SETTINGS,
) -> Inquiry | None:
    """Return the plan of a moment as something to ask; parameters as for ``make_plan``.

    Returns
    -------
    Inquiry or None
        ``None`` when the solver fails: then nothing is known.
    """
    past = Past(settings.history or ValueHistory(), settings.records)
    problem = state_problem(snapshot, demand, policy, now_s, past)
    settlement = settle(problem.mix, settings.limits, settings.guard, settings.solver)
    if settlement is None:
        return None
    return Inquiry(problem, settlement, snapshot, demand, policy, now_s, settings)


def idle_copy(node: FleetNode) -> FleetNode:
    """Return a node like another one, with nobody on it."""
    name = f"{node.name}+1"

    def emptied(gpu: Gpu) -> Gpu:
        pinned = None if gpu.pinned is None else type(gpu.pinned)()
        return replace(gpu, held=Counts(), holders=(), pinned=pinned, seats=(), proven=True)

    return replace(
        node,
        node=replace(node.node, name=name, uid=""),
        gpus=tuple(emptied(gpu) for gpu in node.gpus),
        allocated=Counts(),
        holders=(),
    )
