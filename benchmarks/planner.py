"""Times the planner on random fleets of any size, and compares it with others.

The node agent cuts around what is in use, and every change closes its node. Side by side,
on the same fleet and at the same prices: what greedy planners and nos make of it.
"""

import argparse
import gc
import json
import sys
import time
from dataclasses import asdict, dataclass
from random import Random

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.policy.policy import Driver, Metadata, Policy, Pool
from autoscaler.planning.baselines.score import BASELINES, score
from autoscaler.planning.program.optimizer import settle
from autoscaler.planning.program.problem import state_problem
from autoscaler.planning.reporting.moves import moves_of
from benchmarks.drawing import A100, BUNDLES, MODELS, NOW_S, Case, draw_demand, draw_fleet

OWN = "autoscaler"


@dataclass(frozen=True, slots=True)
class Row:
    """One planner on one fleet; objectives are of the same program.

    ``seconds`` are those of a clock, and of a machine that is busy they say little:
    ``cpu_seconds`` are what it took.
    """

    objective: float
    unmet_slices: int
    disturbed_nodes: int
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of the benchmark prints.

    ``lp`` is the answer in hand after the LP. ``groups`` and ``bundles`` are those of the
    case, and ``baselines`` holds our own row first.
    """

    gpus: int
    nodes: int
    variables: int
    objective: float
    bound: float
    gap: float
    seconds: float
    lp: dict[str, float]
    groups: int
    bundles: int
    baselines: dict[str, Row]

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


def run(case: Case, *, compare: bool = True) -> Result:
    """Draw a fleet and a demand, and time what the planner and others make of them."""
    snapshot = draw_fleet(case.gpus, case.node_size, Random(case.seed), case.models)
    demand = draw_demand(snapshot, case, Random(case.seed + 1))
    policy = policy_for(case)
    # What was drawn is no garbage, and looking for some in it is no part of planning.
    gc.collect()
    gc.freeze()
    start, cpu_start = time.perf_counter(), time.process_time()
    problem = state_problem(snapshot, demand, policy, NOW_S)
    stated = time.perf_counter()
    settled = settle(problem.mix)
    end, cpu_end = time.perf_counter(), time.process_time()
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
        groups=case.groups,
        bundles=case.bundles,
        baselines={
            OWN: Row(
                objective=settled.choice.objective,
                unmet_slices=unmet,
                disturbed_nodes=len(moves),
                seconds=end - start,
                cpu_seconds=cpu_end - cpu_start,
            ),
            **(compared(snapshot, demand, policy) if compare else {}),
        },
    )


def policy_for(case: Case) -> Policy:
    """Return a policy with a pool for each GPU model."""
    return Policy(
        api_version="mig-autoscaler.io/v1alpha1",
        kind="MigPolicy",
        metadata=Metadata(name="benchmark"),
        pools=tuple(Pool(name=key, driver=Driver.AGENT) for key in dict.fromkeys(case.models)),
    )


def compared(snapshot: Snapshot, demand: Demand, policy: Policy) -> dict[str, Row]:
    """Return what other planners make of the same fleet and demand."""
    rows = {}
    for name, baseline in BASELINES.items():
        start, cpu_start = time.perf_counter(), time.process_time()
        after = baseline(snapshot, demand)
        end, cpu_end = time.perf_counter(), time.process_time()
        own = score(snapshot, after, demand, policy)
        rows[name] = Row(
            objective=own.objective,
            unmet_slices=own.unmet_slices,
            disturbed_nodes=own.disturbed_nodes,
            seconds=end - start,
            cpu_seconds=cpu_end - cpu_start,
        )
    return rows


def show(result: Result) -> None:
    """Print a result for people."""
    print(f"{result.gpus} GPUs in {result.nodes} nodes, {result.variables} variables")
    print(f"LP and rounding: gap {result.lp['gap']:.1e} in {result.lp['seconds']:.2f} s")
    print(f"plan:            gap {result.gap:.1e} in {result.seconds:.2f} s")
    print(
        f"{'planner':<20} {'objective':>14} {'unmet':>8} {'nodes':>7}"
        f" {'seconds':>8} {'of CPU':>7}"
    )
    for name, row in result.baselines.items():
        print(
            f"{name:<20} {row.objective:>14,.0f} {row.unmet_slices:>8}"
            f" {row.disturbed_nodes:>7} {row.seconds:>8.2f} {row.cpu_seconds:>7.2f}"
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
    parser.add_argument(
        "--model",
        "--models",
        dest="models",
        default=A100,
        metavar="KEY,...",
        help=f"GPU models, which nodes have in turn: {', '.join(MODELS)}",
    )
    parser.add_argument("--alone", action="store_true", help="without the other planners")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    options = parser.parse_args()
    if options.gpus < 1 or options.node_size < 1 or not options.load >= 0:
        parser.error("--gpus and --node-size must be at least 1, --load at least 0")
    if options.groups < 1 or not 0 <= options.bundles <= len(BUNDLES):
        parser.error(f"--groups must be at least 1, --bundles 0 to {len(BUNDLES)}")
    models = tuple(options.models.split(","))
    unknown = [key for key in models if key not in MODELS]
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)} (there are {', '.join(MODELS)})")
    case = Case(
        gpus=options.gpus,
        node_size=options.node_size,
        seed=options.seed,
        load=options.load,
        groups=options.groups,
        bundles=options.bundles,
        models=models,
    )
    result = run(case, compare=not options.alone)
    if options.output == "json":
        print(result.as_json())
        return 0
    show(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
