"""Times the planner on random fleets of any size.

Drawn as in published measurements of such programs: A100 nodes, each GPU in a random
maximal geometry with 60 % of its instances in use and pinned, and a demand of 15, 20,
25, 10 and 30 % of the slices for 1g, 2g, 3g, 4g and 7g, as large as the free slices.
The node agent cuts around what is in use, and every change closes its node.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from random import Random

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand import Demand, DemandGroup
from autoscaler.domain.geometry import Geometry
from autoscaler.domain.layouts import maximal_layouts
from autoscaler.domain.objects import Node, PodRef
from autoscaler.domain.policy import Driver, Metadata, Policy, Pool, Strategy
from autoscaler.domain.profile import GpuModel, load_models
from autoscaler.domain.resource import resource_name, supply_of
from autoscaler.domain.snapshot import FleetNode, Gpu, Snapshot
from autoscaler.planning.optimizer import settle
from autoscaler.planning.problem import state_problem

BUSY = 0.6
# Share of the demanded slices, by compute slices of the profile.
SHARES = {1: 0.15, 2: 0.20, 3: 0.25, 4: 0.10, 7: 0.30}
NOW_S = 1_800_000_000.0


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of the benchmark prints."""

    gpus: int
    nodes: int
    variables: int
    objective: float
    bound: float
    gap: float
    seconds: float
    lp_objective: float
    lp_gap: float
    lp_seconds: float

    def as_json(self) -> str:
        """Return the result as JSON."""
        own = {name: getattr(self, name) for name in self.__slots__}
        lp = {
            name.removeprefix("lp_"): own.pop(name) for name in [*own] if name.startswith("lp_")
        }
        return json.dumps({**own, "lp": lp}, indent=2)


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
    """Return pods for so large a part of the slices that nobody uses."""
    names = frozenset(node.name for node in snapshot.nodes)
    free_slices = 0
    profiles: dict[int, str] = {}
    for node in snapshot.nodes:
        if node.model is None:
            continue
        profiles = {
            node.model.require([n])[0].compute_slices: n for n in node.model.plain_names
        }
        slices = {name: size for size, name in profiles.items()}
        for gpu in node.gpus:
            held = sum(slices[name] * number for name, number in gpu.held.items())
            free_slices += node.model.compute_slices - held
    groups = []
    for size, share in SHARES.items():
        number = round(load * share * free_slices / size)
        pods = tuple(PodRef("default", f"pod-{size}g-{i:06d}") for i in range(number))
        bundle = Counts({resource_name(profiles[size]): 1})
        groups.append(DemandGroup(bundle, names, pods=pods))
    return Demand(tuple(groups))


def run(num_gpus: int, node_size: int, seed: int, load: float) -> Result:
    """Draw a fleet and a demand, and time what the planner makes of them."""
    snapshot = draw_fleet(num_gpus, node_size, Random(seed))
    demand = draw_demand(snapshot, load)
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
    rounded = settled.rounded or settled.unchanged
    return Result(
        gpus=num_gpus,
        nodes=len(snapshot.nodes),
        variables=settled.num_columns,
        objective=settled.choice.objective,
        bound=settled.bound,
        gap=settled.gap,
        seconds=end - start,
        lp_objective=rounded.objective,
        lp_gap=settled.rounded_gap,
        lp_seconds=stated - start + settled.relaxed_seconds,
    )


def main() -> int:
    """Read the options, run once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=1000, metavar="N")
    parser.add_argument("--node-size", type=int, default=8, metavar="K")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--load", type=float, default=1.0, help="demand over free slices")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    options = parser.parse_args()
    if options.gpus < 1 or options.node_size < 1 or not options.load >= 0:
        parser.error("--gpus and --node-size must be at least 1, --load at least 0")
    result = run(options.gpus, options.node_size, options.seed, options.load)
    if options.output == "json":
        print(result.as_json())
        return 0
    print(f"{result.gpus} GPUs in {result.nodes} nodes, {result.variables} variables")
    print(f"LP and rounding: gap {result.lp_gap:.1e} in {result.lp_seconds:.2f} s")
    print(f"plan:            gap {result.gap:.1e} in {result.seconds:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
