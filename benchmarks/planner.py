"""Times the planner on random fleets of any size.

Drawn as in published measurements of such programs: A100 nodes, each GPU in a random
maximal geometry with 60 % of its instances in use and pinned, and a demand of 15, 20,
25, 10 and 30 % of the slices for 1g, 2g, 3g, 4g and 7g, as large as the free slices.
The node agent cuts around what is in use, and every change closes its node. On request
pods may run on some of the nodes only, and some of them need several instances at once.
Side by side, on the same fleets: what greedy planners and nos make of them.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from random import Random

from autoscaler.domain.cluster.objects import Node, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu, Snapshot
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import maximal_layouts
from autoscaler.domain.mig.profile import GpuModel, load_models
from autoscaler.domain.mig.resource import resource_name, supply_of
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import (
    Driver,
    Metadata,
    Policy,
    Pool,
)
from autoscaler.planning.baselines.score import BASELINES, score
from autoscaler.planning.program.optimizer import settle
from autoscaler.planning.program.problem import state_problem
from autoscaler.planning.reporting.moves import moves_of

BUSY = 0.6
# Share of the demanded slices, by compute slices of the profile.
SHARES = {1: 0.15, 2: 0.20, 3: 0.25, 4: 0.10, 7: 0.30}
NOW_S = 1_800_000_000.0


# What pods ask for that need several instances on one node, by compute slices.
BUNDLES: tuple[dict[int, int], ...] = ({1: 2}, {2: 2}, {3: 2}, {1: 1, 3: 1}, {7: 2})
# Parts of the fleet that groups of pods are told apart by, and share of nodes in each.
PARTS, PART_SHARE = 8, 0.5


@dataclass(frozen=True, slots=True)
class Case:
    """What is drawn.

    Parameters
    ----------
    load
        Demanded slices over those that nobody uses.
    groups
        Ways in which pods are restricted to some nodes; 1 for none.
    bundles
        How many kinds of pods need several instances on one node.
    """

    gpus: int
    node_size: int = 8
    seed: int = 1
    load: float = 1.0
    groups: int = 1
    bundles: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One planner on one fleet; objectives are of the same program."""

    objective: float
    unmet_slices: int
    disturbed_nodes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of the benchmark prints; ``lp`` is the answer in hand after the LP."""

    gpus: int
    nodes: int
    variables: int
    objective: float
    bound: float
    gap: float
    seconds: float
    lp: dict[str, float]
    unmet_slices: int
    disturbed_nodes: int
    others: dict[str, Row]

    def as_json(self) -> str:
        """Return the result as JSON."""
        return json.dumps(_camel(asdict(self)), indent=2)


def _camel(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {_key(str(key)): _camel(own) for key, own in value.items()}


def _key(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def draw_gpu(index: int, model: GpuModel, random: Random) -> Gpu:
    """Return a GPU in a random maximal geometry, with random instances in use."""
    geometry = random.choice(maximal_layouts(model, model.plain_names))
    held = Geometry(tuple(i for i in geometry.instances if random.random() < BUSY))
    return Gpu(
        index=index,
        counts=geometry.counts,
        geometry=geometry,
        held=held.counts,
        pinned=held,
    )


def draw_fleet(num_gpus: int, node_size: int, random: Random) -> Snapshot:
    """Return nodes of so many GPUs each; the last one may be smaller."""
    model = next(model for model in load_models() if model.key == "a100-40gb")
    nodes = []
    for first in range(0, num_gpus, node_size):
        size = min(node_size, num_gpus - first)
        gpus = tuple(draw_gpu(index, model, random) for index in range(size))
        name = f"node-{first // node_size:05d}"
        nodes.append(
            FleetNode(
                node=Node(name=name, uid=f"uid-{name}"),
                pool="a100",
                model=model,
                driver=Driver.AGENT,
                strategy=Strategy.MIXED,
                gpus=gpus,
                supply=supply_of([gpu.counts for gpu in gpus]),
                allocated=supply_of([gpu.held for gpu in gpus]),
            )
        )
    return Snapshot(NOW_S, tuple(nodes), pools_total={"a100": len(nodes)})


def draw_demand(snapshot: Snapshot, load: float) -> Demand:
    """Return pods for so large a part of the slices that nobody uses, for any node."""
    return draw_groups(snapshot, Case(0, load=load), Random(0))


def draw_groups(snapshot: Snapshot, case: Case, random: Random) -> Demand:
    """Return pods as a case says; those of a profile are spread over all its groups."""
    free, sizes = _free_slices(snapshot)
    audiences = _audiences(snapshot, case.groups, random)
    groups = []
    for size, share in SHARES.items():
        if size not in sizes:
            continue
        number = round(case.load * share * free / size)
        for place, names in enumerate(audiences):
            part = number // len(audiences) + (place < number % len(audiences))
            groups.append(_group({size: 1}, sizes, names, part, f"{size}g-{place:02d}"))
    for kind, slices in enumerate(BUNDLES[: case.bundles]):
        total = sum(size * n for size, n in slices.items())
        if set(slices) <= set(sizes):
            number = round(case.load * 0.02 * free / total)
            names = audiences[kind % len(audiences)]
            groups.append(_group(slices, sizes, names, number, f"bundle-{kind}"))
    return Demand(tuple(groups))


def _free_slices(snapshot: Snapshot) -> tuple[int, dict[int, str]]:
    free, sizes = 0, dict[int, str]()
    for node in snapshot.nodes:
        if node.model is None:
            continue
        slices = {p.name: p.compute_slices for p in node.model.require(node.model.plain_names)}
        sizes = {size: name for name, size in slices.items()}
        for gpu in node.gpus:
            held = sum(slices[name] * number for name, number in gpu.held.items())
            free += node.model.compute_slices - held
    return free, sizes


def _audiences(snapshot: Snapshot, number: int, random: Random) -> list[frozenset[str]]:
    """Return the nodes of each group: those with one of some labels."""
    names = [node.name for node in snapshot.nodes]
    if number == 1:
        return [frozenset(names)]
    parts = [{name for name in names if random.random() < PART_SHARE} for _ in range(PARTS)]
    found = []
    for _ in range(number):
        chosen = random.sample(range(PARTS), 2)
        found.append(frozenset(set().union(*(parts[i] for i in chosen))) or frozenset(names))
    return found


def _group(
    slices: dict[int, int], sizes: dict[int, str], names: frozenset[str], number: int, key: str
) -> DemandGroup:
    pods = tuple(PodRef("default", f"pod-{key}-{i:06d}") for i in range(number))
    bundle = Counts({resource_name(sizes[size]): n for size, n in slices.items()})
    return DemandGroup(bundle, names, pods=pods)


def run(case: Case, *, compare: bool = True) -> Result:
    """Draw a fleet and a demand, and time what the planner and others make of them."""
    snapshot = draw_fleet(case.gpus, case.node_size, Random(case.seed))
    demand = draw_groups(snapshot, case, Random(case.seed + 1))
    policy = Policy(
        api_version="mig-autoscaler.io/v1alpha1",
        kind="MigPolicy",
        metadata=Metadata(name="benchmark"),
        pools=(Pool(name="a100", driver=Driver.AGENT),),
    )
    start = time.perf_counter()
    problem = state_problem(snapshot, demand, policy, NOW_S)
    stated = time.perf_counter()
    settled = settle(problem.mix)
    end = time.perf_counter()
    if settled is None:
        raise SystemExit("the solver failed")
    in_hand = settled.rounded or settled.unchanged
    moves = moves_of(problem.fleet, settled.choice, problem.crowd.departures)
    unmet = sum(
        (group.number - settled.choice.served[index])
        * sum(problem.worth.slices_of(n) * k for n, k in group.bundle.items())
        for index, group in enumerate(problem.groups)
    )
    return Result(
        gpus=case.gpus,
        nodes=len(snapshot.nodes),
        variables=settled.num_columns,
        objective=settled.choice.objective,
        bound=settled.bound,
        gap=settled.gap,
        seconds=end - start,
        lp={
            "objective": in_hand.objective,
            "gap": settled.rounded_gap,
            "seconds": stated - start + settled.relaxed_seconds,
        },
        unmet_slices=unmet,
        disturbed_nodes=len(moves),
        others=compared(snapshot, demand, policy) if compare else {},
    )


def compared(snapshot: Snapshot, demand: Demand, policy: Policy) -> dict[str, Row]:
    """Return what other planners make of the same fleet and demand."""
    rows = {}
    for name, baseline in BASELINES.items():
        start = time.perf_counter()
        after = baseline(snapshot, demand)
        seconds = time.perf_counter() - start
        own = score(snapshot, after, demand, policy)
        rows[name] = Row(own.objective, own.unmet_slices, own.disturbed_nodes, seconds)
    return rows


def show(result: Result) -> None:
    """Print a result for people."""
    print(f"{result.gpus} GPUs in {result.nodes} nodes, {result.variables} variables")
    print(f"LP and rounding: gap {result.lp['gap']:.1e} in {result.lp['seconds']:.2f} s")
    print(f"plan:            gap {result.gap:.1e} in {result.seconds:.2f} s")
    own = Row(result.objective, result.unmet_slices, result.disturbed_nodes, result.seconds)
    print(f"{'planner':<20} {'objective':>14} {'unmet':>8} {'nodes':>7} {'seconds':>8}")
    for name, row in {"this one": own, **result.others}.items():
        print(
            f"{name:<20} {row.objective:>14,.0f} {row.unmet_slices:>8}"
            f" {row.disturbed_nodes:>7} {row.seconds:>8.2f}"
        )


def main() -> int:
    """Read the options, run once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=1000, metavar="N")
    parser.add_argument("--node-size", type=int, default=8, metavar="K")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--load", type=float, default=1.0, help="demand over free slices")
    parser.add_argument("--groups", type=int, default=1, help="eligibility groups")
    parser.add_argument("--bundles", type=int, default=0, help="kinds of pods for one node")
    parser.add_argument("--alone", action="store_true", help="without the other planners")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    options = parser.parse_args()
    if options.gpus < 1 or options.node_size < 1 or not options.load >= 0:
        parser.error("--gpus and --node-size must be at least 1, --load at least 0")
    if options.groups < 1 or not 0 <= options.bundles <= len(BUNDLES):
        parser.error(f"--groups must be at least 1, --bundles 0 to {len(BUNDLES)}")
    case = Case(
        options.gpus,
        options.node_size,
        options.seed,
        options.load,
        options.groups,
        options.bundles,
    )
    result = run(case, compare=not options.alone)
    if options.output == "json":
        print(result.as_json())
        return 0
    show(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
