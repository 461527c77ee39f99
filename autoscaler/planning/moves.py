"""From numbers of a kind to nodes by name: which GPU of which node becomes what.

Nodes of a kind are alike, so the first by name are taken, and as few as possible: all
changes of one node cost one closing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from autoscaler.domain.counts import Counts
from autoscaler.domain.policy import Driver
from autoscaler.domain.resource import supply_of
from autoscaler.domain.snapshot import FleetNode, Gpu
from autoscaler.planning.fleet import Fleet, Members, free_of
from autoscaler.planning.formulation import Formulation
from autoscaler.planning.linear import FloatArray
from autoscaler.planning.menu import GpuMenu, state_of
from autoscaler.planning.mix import ALL_GPUS, Choice, NodeKind
from autoscaler.planning.targets import Target


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
    makes_whole
        Whether it then offers whole GPUs only.
    """

    node: FleetNode
    kind: int
    taken: tuple[tuple[int, int], ...]
    targets: tuple[tuple[int, Target], ...]
    cost: float
    makes_whole: bool = False

    @property
    def supply_change(self) -> tuple[Counts, Counts]:
        """Resources that go, and resources that come."""
        before = supply_of([self.node.gpus[place].counts for place, _ in self.targets])
        after = supply_of([target.after for _, target in self.targets])
        return before, after

    @property
    def free_after(self) -> Counts:
        """What pods may take on the node after the change, by resource name."""
        before, after = self.supply_change
        return free_of(self.node).plus(after).minus(before)


def moves_of(fleet: Fleet, choice: Choice) -> tuple[NodeMove, ...]:
    """Return the changes of nodes that a choice means, in node-name order."""
    taken: dict[int, dict[int, list[int]]] = {}
    for (kind, gpu, option), number in sorted(choice.taken.items()):
        taken.setdefault(kind, {}).setdefault(gpu, []).extend([option] * number)
    moves: list[NodeMove] = []
    for kind, by_gpu in taken.items():
        moves += _moves_of_kind(kind, fleet.kinds[kind], fleet.members[kind], by_gpu)
    return tuple(sorted(moves, key=lambda move: move.node.name))


def _moves_of_kind(
    index: int, kind: NodeKind, members: Members, by_gpu: dict[int, list[int]]
) -> Iterable[NodeMove]:
    whole = by_gpu.get(ALL_GPUS, [])
    for node, option in zip(members.nodes, whole, strict=False):
        yield _whole_move(index, kind, members, node=node, option=option)
    for place, node in enumerate(members.nodes[len(whole) :]):
        own = {
            gpu: options[place * kind.gpus[gpu].number : (place + 1) * kind.gpus[gpu].number]
            for gpu, options in by_gpu.items()
            if gpu != ALL_GPUS
        }
        if not any(own.values()):
            break
        targets: list[tuple[int, Target]] = []
        cost = kind.closing_cost
        for gpu, options in own.items():
            menu = members.menus[gpu]
            gpus = [i for i, g in enumerate(node.gpus) if _is_in_state(g, node, menu)]
            targets += [(i, menu.targets[o]) for i, o in zip(gpus, options, strict=False)]
            cost += sum(menu.options[option].cost for option in options)
        taken = tuple((gpu, option) for gpu, options in own.items() for option in options)
        yield NodeMove(node, index, taken, tuple(sorted(targets)), cost)


def _whole_move(
    index: int, kind: NodeKind, members: Members, *, node: FleetNode, option: int
) -> NodeMove:
    target = members.node_targets[option]
    targets = tuple((i, target) for i, g in enumerate(node.gpus) if g.counts != target.after)
    cost = kind.closing_cost + kind.node_options[option].cost
    return NodeMove(node, index, ((ALL_GPUS, option),), targets, cost, makes_whole=True)


def _is_in_state(gpu: Gpu, node: FleetNode, menu: GpuMenu) -> bool:
    if not gpu.mig_enabled or (node.driver is Driver.MIG_MANAGER and not gpu.is_idle):
        return False
    return state_of(gpu, node.driver) == menu.key


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
