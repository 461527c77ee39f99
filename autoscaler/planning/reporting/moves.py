"""From numbers of a kind to nodes by name: which GPU of which node becomes what.

Nodes of a kind are alike, so the first by name are taken, and as few as possible: all
changes of one node cost one closing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.planning.program.cost import Cost
from autoscaler.planning.program.departure import Departures, evicted_by, is_in_the_way
from autoscaler.planning.program.fleet import Fleet, Members
from autoscaler.planning.program.formulation import Formulation
from autoscaler.planning.program.mix import ALL_GPUS, Choice, NodeKind
from autoscaler.planning.program.targets import Target, Way
from autoscaler.planning.program.units import free_of, names_of
from autoscaler.planning.solving.linear import FloatArray


@dataclass(frozen=True, slots=True)
class NodeMove:
    """What one node becomes.

    Parameters
    ----------
    node
        The node as it is.
    kind
        Index of its node kind.
    taken
        GPU kind and option of each change in the program.
    targets
        What GPUs become, by their position in ``node.gpus``; those that stay left out.
    cost
        Price of the change, in slice-seconds.
    evicted
        Pods that must leave for it, in name order.
    awaited
        Pods that will end by themselves and must have done so first, in name order.
    gone
        Instances of holders who leave by themselves or are evicted, by profile.
    wait_s
        Expected seconds until all who must leave have left.
    is_idle
        Whether nobody holds anything of the GPUs that change.
    makes_whole
        Whether it then offers whole GPUs only.
    """

    node: FleetNode
    kind: int
    taken: tuple[tuple[int, int], ...]
    targets: tuple[tuple[int, Target], ...]
    cost: Cost
    evicted: tuple[Holder, ...] = ()
    awaited: tuple[Holder, ...] = ()
    gone: Counts = Counts()
    wait_s: float = 0.0
    is_idle: bool = True
    makes_whole: bool = False

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts by what it is; names decide only between those that are alike."""
        return self.kind, self.taken, self.node.name

    @property
    def supply_change(self) -> tuple[Counts, Counts]:
        """Resources that go, and resources that come."""
        gpus, strategy = self.node.gpus, self.node.strategy
        before = names_of([gpus[place].counts for place, _ in self.targets], strategy)
        return before, names_of([target.after for _, target in self.targets], strategy)

    @property
    def free_after(self) -> Counts:
        """What pods may take on the node after the change, by resource name."""
        before, after = self.supply_change
        gone = names_of([self.gone])
        return free_of(self.node).plus(gone).plus(after).minus(before)


def moves_of(fleet: Fleet, choice: Choice, departures: Departures) -> tuple[NodeMove, ...]:
    """Return the changes of nodes that a choice means, in their order.

    Parameters
    ----------
    fleet
        The nodes behind the kinds.
    choice
        What is chosen of each kind.
    departures
        Knows who leaves a GPU for a target.
    """
    taken: dict[int, dict[int, list[int]]] = {}
    for (kind, gpu, option), number in sorted(choice.taken.items()):
        taken.setdefault(kind, {}).setdefault(gpu, []).extend([option] * number)
    moves: list[NodeMove] = []
    for kind, by_gpu in taken.items():
        own = _Kind(kind, fleet.kinds[kind], fleet.members[kind], departures)
        moves += own.moves(by_gpu)
    return tuple(sorted(moves, key=lambda move: move.order))


@dataclass(frozen=True, slots=True)
class _Kind:
    """One node kind, whose choices become changes of nodes."""

    index: int
    kind: NodeKind
    members: Members
    departures: Departures

    def moves(self, by_gpu: dict[int, list[int]]) -> Iterator[NodeMove]:
        """Yield the changes; as few nodes as possible take all choices."""
        whole = by_gpu.get(ALL_GPUS, [])
        for node, option in zip(self.members.nodes, whole, strict=False):
            yield self._whole_move(node, option)
        for place in range(len(whole), len(self.members.nodes)):
            at = place - len(whole)
            own = {
                gpu: self._share(gpu, options, at)
                for gpu, options in by_gpu.items()
                if gpu != ALL_GPUS
            }
            if not any(own.values()):
                break
            yield self._move(place, own)

    def _share(self, gpu: int, options: list[int], at: int) -> list[int]:
        """Return what the next node takes of the choices of a GPU kind."""
        number = self.kind.gpus[gpu].number
        return options[at * number : (at + 1) * number]

    def _move(self, place: int, own: dict[int, list[int]]) -> NodeMove:
        node, positions = self.members.nodes[place], self.members.places[place]
        targets: list[tuple[int, Target]] = []
        cost = self.members.closing_cost
        for gpu, options in own.items():
            menu = self.members.menus[gpu]
            targets += zip(positions[gpu], (menu.targets[o] for o in options), strict=False)
            for option in options:
                cost = cost.plus(menu.costs[option])
        move = NodeMove(
            node=node,
            kind=self.index,
            taken=tuple((gpu, option) for gpu, options in own.items() for option in options),
            targets=tuple(sorted(targets)),
            cost=cost,
            is_idle=all(node.gpus[position].is_idle for position, _ in targets),
        )
        return self._with_departures(move)

    def _with_departures(self, move: NodeMove) -> NodeMove:
        evicted: list[Holder] = []
        awaited: list[Holder] = []
        gone, wait_s = Counts(), 0.0
        for position, target in move.targets:
            if target.way is Way.NOBODY:
                continue
            holders = self.departures.at(move.node.gpus[position], move.node)
            emptying = self.departures.emptying(holders, target)
            evicted += evicted_by(holders, target)
            if target.way is Way.WAIT:
                leaving = (h for h in holders if is_in_the_way(h, target))
                awaited += [h for h in leaving if not h.is_going]
            if emptying is not None:
                gone = gone.plus(emptying.leaving)
                wait_s = max(wait_s, emptying.drain.wait_s)
        evicted.sort(key=lambda holder: holder.pod)
        awaited.sort(key=lambda holder: holder.pod)
        return replace(
            move,
            evicted=tuple(evicted),
            awaited=tuple(awaited),
            gone=gone,
            wait_s=wait_s,
        )

    def _whole_move(self, node: FleetNode, option: int) -> NodeMove:
        target = self.members.whole.targets[option]
        cut = [i for i, gpu in enumerate(node.gpus) if gpu.counts != target.after]
        return NodeMove(
            node=node,
            kind=self.index,
            taken=((ALL_GPUS, option),),
            targets=tuple((i, target) for i in cut),
            cost=self.members.closing_cost.plus(self.members.whole.costs[option]),
            makes_whole=self.kind.node_options[option].makes_whole,
        )


def decisions_of(formulation: Formulation, moves: Iterable[NodeMove]) -> FloatArray:
    """Return the decisions of the program that stand for changes of nodes."""
    taken: dict[tuple[int, int, int], int] = {}
    closed: dict[int, int] = {}
    for move in moves:
        closed[move.kind] = closed.get(move.kind, 0) + 1
        for gpu, option in move.taken:
            key = (move.kind, gpu, option)
            taken[key] = taken.get(key, 0) + 1
    columns = {column: closed.get(kind, 0) for kind, column in formulation.closed.items()}
    numbers = [taken.get(key, 0) for key in formulation.taken]
    numbers += [columns[column] for column in sorted(columns)]
    return np.array(numbers, dtype=np.float64)
