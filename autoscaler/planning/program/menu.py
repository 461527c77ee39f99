"""Menus: what a GPU may become and at which price, useless entries left out.

Targets differ for the program only in what they add to what is wanted. Of those that
add the same, the one that keeps most of the present instances stands for all, so free
space keeps its shape where nothing is won by another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu
from autoscaler.domain.mig.placement import place
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Driver
from autoscaler.planning.program.cost import NOTHING, Cost
from autoscaler.planning.program.departure import Departures, Emptying
from autoscaler.planning.program.horizon import Horizon
from autoscaler.planning.program.likeness import SortKey, state_of
from autoscaler.planning.program.mix import MARKED_NODE, WHOLE_NODE, Option
from autoscaler.planning.program.preset import Wishes
from autoscaler.planning.program.prices import Prices
from autoscaler.planning.program.targets import (
    NOBODY_LEAVES,
    Allowed,
    Target,
    Way,
    target_for,
    targets_of,
    whole_target,
)
from autoscaler.planning.program.units import names_of

Gains = tuple[tuple[str, int], ...]
Entry = tuple[Gains, Target]
Address = tuple[str, str, SortKey, bool]


@dataclass(frozen=True, slots=True)
class GpuMenu:
    """What GPUs in one state may become.

    Parameters
    ----------
    key
        The state; sorts states by content.
    options, targets, costs
        Gains and prices, the targets they stand for, and the terms of the prices; one
        entry of each a choice.
    """

    key: SortKey
    options: tuple[Option, ...] = ()
    targets: tuple[Target, ...] = ()
    costs: tuple[Cost, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeMenu:
    """What all GPUs of a node together may become; one entry of each a choice."""

    options: tuple[Option, ...] = ()
    targets: tuple[Target, ...] = ()
    costs: tuple[Cost, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolTerms:
    """What holds for the nodes of a pool.

    Parameters
    ----------
    allowed
        Profiles that may be created, by model key.
    out_of_service_s
        Seconds from the cordon until a changed node is settled.
    wants_whole
        Whether the pool lacks nodes that offer whole GPUs only.
    capped
        Resources of which no more than so many may be created.
    """

    allowed: Mapping[str, Allowed]
    out_of_service_s: float
    wants_whole: bool = False
    capped: frozenset[str] = frozenset()


@dataclass(slots=True)
class Menus:
    """Makes menus, each once.

    Parameters
    ----------
    pools
        Terms by pool name.
    needs
        How many instances of a resource anything can use at most; others are useless.
    prices
        What changes cost.
    departures
        Who may leave which GPU.
    horizon
        How long changes serve that may start in a window only.
    wishes
        Presets that hold now.
    """

    pools: Mapping[str, PoolTerms]
    needs: Counts
    prices: Prices
    departures: Departures
    horizon: Horizon
    wishes: Wishes
    _made: dict[tuple[int, str, SortKey, float], GpuMenu] = field(default_factory=dict)
    _chosen: dict[Address, list[tuple[Emptying | None, list[Entry]]]] = field(
        default_factory=dict
    )

    def of_gpu(self, gpu: Gpu, node: FleetNode, zone: int) -> GpuMenu:
        """Return what a GPU may become; a node without a model has no menus."""
        leaving = self.departures.at(gpu, node)
        likeness = self.departures.likeness_of(leaving)
        margin = self.prices.margins.of_gpu(node.name, gpu.index)
        wish = self.wishes.layout_for(node.name)
        named = "" if wish is None else wish[0]
        key = (*state_of(gpu, node.driver), likeness, margin, named, bool(node.unseen))
        if node.model is None or not gpu.mig_enabled:
            return GpuMenu(key)
        if not gpu.is_idle and node.driver is Driver.MIG_MANAGER and not leaving:
            return GpuMenu(key)
        # While its holders leave, the node is closed for longer than for an idle GPU.
        closed = self.prices.of_closing(node, zone).out_of_service if leaving else 0.0
        address = (zone, node.model.key, key, closed)
        menu = self._made.get(address)
        if menu is None:
            menu = self._make(gpu, node, node.model, zone=zone, key=key)
            self._made[address] = menu
        return menu

    def _make(
        self, gpu: Gpu, node: FleetNode, model: GpuModel, *, zone: int, key: SortKey
    ) -> GpuMenu:
        menu: list[tuple[Option, Target, Cost]] = []
        for emptying, chosen in self._choices(gpu, node, model, key):
            cost = self.prices.of_gpu(gpu, node, zone, emptying)
            for gains, target in chosen:
                option = self._option(gains, cost, gpu, emptying)
                if node.unseen:
                    option = replace(option, must_wait=True)
                menu.append((option, target, cost))
        return GpuMenu(
            key,
            tuple(option for option, _, _ in menu),
            tuple(target for _, target, _ in menu),
            tuple(cost for _, _, cost in menu),
        )

    def _choices(
        self, gpu: Gpu, node: FleetNode, model: GpuModel, key: SortKey
    ) -> list[tuple[Emptying | None, list[Entry]]]:
        """Return what a GPU may become by who leaves for it; prices play no part in it."""
        address = (node.pool, model.key, key, gpu.is_idle)
        known = self._chosen.get(address)
        if known is not None:
            return known
        terms = self.pools[node.pool]
        allowed = terms.allowed[model.key]
        leaving = self.departures.at(gpu, node)
        who = self.departures.leavers(leaving, node.driver) if leaving else NOBODY_LEAVES
        found: dict[tuple[Way, Emptying | None], list[Target]] = {}
        wish = self.wishes.layout_for(node.name)
        targets = targets_of(gpu, model, node.driver, allowed, who)
        targets += [] if wish is None else target_for(wish[1], gpu, model, node.driver, targets)
        for target in targets:
            emptying = None
            if target.way is not Way.NOBODY:
                emptying = self.departures.emptying(leaving, target)
                if emptying is None:
                    continue
            found.setdefault((target.way, emptying), []).append(target)
        result: list[tuple[Emptying | None, list[Entry]]] = []
        for (_, emptying), own in found.items():
            gone = Counts() if emptying is None else emptying.leaving
            before = gpu.counts.minus(gone)
            entries = [(self._gains(before, t.after), t) for t in own]
            if wish is not None:
                entries = [(_with_wish(g, wish, gpu, t), t) for g, t in entries]
            # Where ceilings leave room, what nobody asked for fills it: an empty slice
            # serves nobody for sure.
            fill = model if allowed.limited else None
            entries.sort(key=lambda e: (-self._kept_slices(gpu, model, e[1]), -filled(e, fill)))
            chosen = self._useful(entries, terms.capped, is_limited=bool(allowed.limited))
            chosen.sort(key=lambda entry: entry[0])
            result.append((emptying, chosen))
        self._chosen[address] = result
        return result

    def _option(self, gains: Gains, cost: Cost, gpu: Gpu, emptying: Emptying | None) -> Option:
        """Return an option; one of a GPU that may be in use is one of windows."""
        stretch = 1.0 if gpu.is_idle else self.horizon.stretch
        return Option(
            gains=gains,
            cost=cost.charged(stretch),
            returns=() if emptying is None else emptying.returns,
            uses=() if emptying is None else emptying.uses,
            freed=self._freed(emptying),
            must_wait=not gpu.is_idle and self.horizon.is_closed and not self.horizon.is_same,
        )

    def _freed(self, emptying: Emptying | None) -> Gains:
        if emptying is None:
            return ()
        held = self.prices.supply(emptying.leaving)
        return tuple((name, held[name]) for name in self.needs if held[name])

    def of_node(self, node: FleetNode, zone: int) -> NodeMenu:
        """Return how all GPUs of a node become whole GPUs at once, if it may be needed."""
        model = node.model
        if model is not None and node.strategy is Strategy.SINGLE:
            return self._of_uniform_node(node, model)
        if model is None or not self.pools[node.pool].wants_whole:
            return NodeMenu()
        whole = whole_target(model)
        cut = [gpu for gpu in node.gpus if gpu.counts != whole]
        if not cut or not all(gpu.mig_enabled for gpu in node.gpus):
            return NodeMenu()
        if any(gpu.held for gpu in cut):
            return NodeMenu()
        total = {MARKED_NODE if node.reserved else WHOLE_NODE: 1}
        for gpu in cut:
            for name, gain in self._gains(gpu.counts, whole):
                total[name] = total.get(name, 0) + gain
        cost = NOTHING
        for gpu in cut:
            cost = cost.plus(self.prices.of_gpu(gpu, node, zone))
        gains = tuple(sorted((name, gain) for name, gain in total.items() if gain))
        geometry = place(model, whole) if node.driver is Driver.AGENT else None
        option = Option(gains, cost.charged(), must_wait=bool(node.unseen))
        return NodeMenu((option,), (Target(whole, geometry),), (cost,))

    def _of_uniform_node(self, node: FleetNode, model: GpuModel) -> NodeMenu:
        """Return the one profile that all GPUs of a node of strategy single may get."""
        if not all(gpu.mig_enabled and gpu.is_idle for gpu in node.gpus):
            return NodeMenu()
        terms, whole = self.pools[node.pool], whole_target(model)
        names = terms.allowed[model.key].names if not node.reserved else (*whole,)
        before = names_of([gpu.counts for gpu in node.gpus], node.strategy)
        menu: list[tuple[Option, Target, Cost]] = []
        for name in names:
            profile = model.profile(name)
            if profile is None or name == node.unit:
                continue
            target = Counts({name: profile.max_instances})
            after = names_of([target] * len(node.gpus), node.strategy)
            gains = {n: after[n] - before[n] for n in self.needs if after[n] != before[n]}
            if target == whole and terms.wants_whole:
                gains[MARKED_NODE if node.reserved else WHOLE_NODE] = 1
            if not any(gain > 0 for gain in gains.values()):
                continue
            cost = self.prices.of_whole_node(node)
            geometry = place(model, target) if node.driver is Driver.AGENT else None
            option = Option(tuple(sorted(gains.items())), cost.charged())
            menu.append((option, Target(target, geometry), cost))
        return NodeMenu(
            tuple(option for option, _, _ in menu),
            tuple(target for _, target, _ in menu),
            tuple(cost for _, _, cost in menu),
        )

    def _gains(self, before: Counts, after: Counts) -> Gains:
        old, new = self.prices.supply(before), self.prices.supply(after)
        return tuple((n, new[n] - old[n]) for n in self.needs if new[n] != old[n])

    def _kept_slices(self, gpu: Gpu, model: GpuModel, target: Target) -> int:
        if gpu.geometry is not None and target.geometry is not None:
            kept = set(gpu.geometry.instances) & set(target.geometry.instances)
            return sum(instance.size for instance in kept)
        sizes = {p.name: p.memory_slices for p in model.profiles}
        return sum(
            sizes.get(name, 0) * min(number, target.after[name])
            for name, number in gpu.counts.items()
        )

    def _useful(
        self, entries: list[Entry], capped: frozenset[str], *, is_limited: bool
    ) -> list[Entry]:
        """Drop what an earlier entry, or staying, does at least as well at no other price.

        Where a profile is limited, fewer instances may be better, so that only equals
        are dropped; of capped resources the others have to bring as many.
        """
        effects: list[dict[str, int]] = [{}]
        most = {n: k for n, k in self.needs.items() if not is_limited and n not in capped}
        effects += [{n: min(gain, most.get(n, gain)) for n, gain in g} for g, _ in entries]

        def is_beaten(own: int, other: int) -> bool:
            if is_limited:
                return other < own and effects[other] == effects[own]
            if any(effects[other].get(n, 0) != effects[own].get(n, 0) for n in capped):
                return False
            at_least = _covers(effects[other], effects[own])
            return at_least and (other < own or not _covers(effects[own], effects[other]))

        places = range(len(effects))
        return [
            entry
            for own, entry in enumerate(entries, start=1)
            if not any(is_beaten(own, other) for other in places if other != own)
        ]


def _with_wish(gains: Gains, wish: tuple[str, Counts], gpu: Gpu, target: Target) -> Gains:
    """Return gains with what a target does for a preset."""
    gain = int(target.after == wish[1]) - int(gpu.counts == wish[1])
    return tuple(sorted((*gains, (wish[0], gain)))) if gain else gains


def filled(entry: Entry, model: GpuModel | None) -> int:
    """Return the compute slices that a target fills; 0 without a model."""
    if model is None:
        return 0
    slices = {profile.name: profile.compute_slices for profile in model.profiles}
    return sum(slices.get(name, 0) * number for name, number in entry[1].after.items())


def _covers(left: Mapping[str, int], right: Mapping[str, int]) -> bool:
    """Say whether the left effect is at least the right one in everything."""
    return all(left.get(name, 0) >= number for name, number in right.items()) and all(
        number >= right.get(name, 0) for name, number in left.items()
    )
