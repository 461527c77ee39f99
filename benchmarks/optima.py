"""Solves reconfiguration instances to proven optima with the planner's own core.

The format is that of ``tests/data/instances``: a list of instances of identical GPUs
with busy and idle placements, a demand, and prices that are part of the format. Fields
that hold the answer are read only to be compared.
"""

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.layouts import layouts_around
from autoscaler.domain.mig.profile import GpuModel, require_model
from autoscaler.planning.program.mix import GpuKind, Mix, NodeKind, Option, Want
from autoscaler.planning.program.optimizer import settle
from autoscaler.planning.solving.answer import SolverLimits
from autoscaler.planning.solving.solver import Solver, solve

# Prices of the format: a changed GPU, an idle instance that is lost, and a compute
# slice of demand that is not served.
CHANGED, LOST, UNSERVED = 50.0, 2.0, 1000.0
# Unlike a plan in service, a golden instance may take as long as it needs.
EXACT = SolverLimits(gap=0.0, small_gap=0.0, max_nodes=1_000_000)


@dataclass(frozen=True, slots=True)
class Row:
    """What came out for one instance; prices as in the format, so less is better."""

    index: int
    gpus: int
    objective: float
    bound: float
    gap: float
    seconds: float
    expected: float | None


class BadInstance(Exception):
    """An instance is not of the format; the message says where."""


def model_of_format() -> GpuModel:
    """Return the model whose placements the format uses."""
    return require_model("a100-40gb")


def parse_geometry(model: GpuModel, names: Sequence[str]) -> Geometry:
    """Return a geometry from placements such as ``3g@4``."""
    sizes = {name.split(".")[0]: name for name in model.plain_names}
    instances = []
    for name in names:
        short, _, start = name.partition("@")
        if short not in sizes or not start.isdigit():
            raise BadInstance(f"not a placement like 3g@4: {name!r}")
        (profile,) = model.require([sizes[short]])
        instances.append(GpuInstance(int(start), profile.memory_slices, profile.name))
    return Geometry(tuple(instances))


def options_of(model: GpuModel, busy: Geometry, idle: Geometry) -> tuple[Option, ...]:
    """Return what a GPU may become, the cheapest way for each change of supply."""
    cheapest: dict[tuple[tuple[str, int], ...], float] = {}
    for geometry in layouts_around(model, busy, model.plain_names):
        lost = sum(1 for instance in idle.instances if instance not in geometry.instances)
        after = geometry.counts.minus(busy.counts)
        names = sorted({*after, *idle.counts})
        gains = tuple(
            (n, after[n] - idle.counts[n]) for n in names if after[n] != idle.counts[n]
        )
        cost = CHANGED + LOST * lost
        if gains:
            cheapest[gains] = min(cost, cheapest.get(gains, cost))
    return tuple(Option(gains, cost) for gains, cost in sorted(cheapest.items()))


def mix_of(instance: dict[str, Any]) -> Mix:
    """Return the mix problem of an instance; its objective is minus the format's sum."""
    model = model_of_format()
    full = {name.split(".")[0]: model.require([name])[0] for name in model.plain_names}
    wants = []
    for short, number in sorted(instance["demand"].items()):
        if short not in full:
            raise BadInstance(f"demand names no profile: {short!r}")
        profile = full[short]
        value = UNSERVED * profile.compute_slices
        wants.append(Want(Counts({profile.name: 1}), int(number), value, frozenset({0})))
    kinds = []
    for gpus in instance["classes"]:
        busy = parse_geometry(model, gpus["busy"])
        idle = parse_geometry(model, gpus["idle"])
        kind = GpuKind(1, options_of(model, busy, idle))
        kinds.append(NodeKind(0, int(gpus["count"]), idle.counts, (kind,)))
    offset = -sum(want.value * want.number for want in wants)
    return Mix(tuple(kinds), tuple(wants), offset=offset)


def solve_all(instances: Sequence[dict[str, Any]], solver: Solver = solve) -> Iterator[Row]:
    """Yield the result of each instance, in order."""
    for index, instance in enumerate(instances):
        try:
            mix = mix_of(instance)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInstance(f"{type(error).__name__}: {error}") from error
        start = time.perf_counter()
        settled = settle(mix, EXACT, solver=solver)
        seconds = time.perf_counter() - start
        if settled is None:
            raise BadInstance("the solver failed")
        yield Row(
            index=index,
            gpus=sum(kind.number for kind in mix.kinds),
            objective=0.0 - round(settled.choice.objective, 6),
            bound=0.0 - round(settled.bound, 6),
            gap=settled.gap,
            seconds=seconds,
            expected=instance.get("optimum"),
        )


def read_instances(path: Path) -> list[dict[str, Any]]:
    """Return the instances of a file, compressed or not."""
    raw = path.read_bytes()
    content = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    if not isinstance(content, list):
        raise BadInstance("the file holds no list of instances")
    return content


def show(row: Row) -> str:
    """Return one line of the table."""
    known = "" if row.expected is None else f"  expected {row.expected:>9.0f}"
    return (
        f"{row.index:>3} {row.gpus:>6} {row.objective:>11.0f} {row.bound:>11.1f}"
        f" {row.gap:>8.1e} {row.seconds:>8.3f}{known}"
    )


def main() -> int:
    """Read a file, solve its instances and print them; 1 when one misses its optimum."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    try:
        rows = list(solve_all(read_instances(arguments.file)))
    except (OSError, ValueError, EOFError, BadInstance) as error:
        print(f"{arguments.file}: {error}", file=sys.stderr)
        return 65
    if arguments.output == "json":
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print("  #   GPUs   objective       bound      gap  seconds")
        print("\n".join(map(show, rows)))
    wrong = [r for r in rows if r.expected is not None and abs(r.objective - r.expected) > 1e-3]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
