"""Fleets and demands drawn by seed, as in published measurements of such programs.

Each GPU is in a random maximal geometry with 60 % of its instances in use and pinned. Of
a 7-slice GPU, demand is 15, 20, 25, 10 and 30 % of the slices for 1g, 2g, 3g, 4g and 7g,
as large as the free slices; models with fewer profiles share their part in the same way.
On request pods may run on some of the nodes only, and some of them need several instances
at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
from autoscaler.domain.policy.policy import Driver

A100 = "a100-40gb"
MODELS: Mapping[str, GpuModel] = {model.key: model for model in load_models()}
BUSY = 0.6
# Share of the demanded slices, by compute slices of the profile; that of the whole GPU is
# the largest one's, whatever its size.
SHARES = {1: 0.15, 2: 0.20, 3: 0.25, 4: 0.10, 7: 0.30}
WHOLE = 7
NOW_S = 1_800_000_000.0
# What pods ask for that need several instances on one node, by compute slices.
BUNDLES: tuple[dict[int, int], ...] = ({1: 2}, {2: 2}, {3: 2}, {1: 1, 3: 1}, {WHOLE: 2})
# Share of the slices that each kind of them asks for.
BUNDLED = 0.02
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
    models
        Keys of the GPU models; nodes have them in turn.
    """

    gpus: int
    node_size: int = 8
    seed: int = 1
    load: float = 1.0
    groups: int = 1
    bundles: int = 0
    models: tuple[str, ...] = (A100,)


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


def draw_fleet(
    num_gpus: int, node_size: int, random: Random, models: Iterable[str] = (A100,)
) -> Snapshot:
    """Return nodes of so many GPUs each; the last one may be smaller."""
    keys, nodes = tuple(models), []
    for first in range(0, num_gpus, node_size):
        model = MODELS[keys[len(nodes) % len(keys)]]
        size = min(node_size, num_gpus - first)
        gpus = tuple(draw_gpu(index, model, random) for index in range(size))
        nodes.append(_node(f"node-{len(nodes):05d}", model, gpus))
    total = {key: sum(1 for node in nodes if node.pool == key) for key in keys}
    return Snapshot(NOW_S, tuple(nodes), pools_total=total)


def _node(name: str, model: GpuModel, gpus: tuple[Gpu, ...]) -> FleetNode:
    return FleetNode(
        node=Node(name=name, uid=f"uid-{name}"),
        pool=model.key,
        model=model,
        driver=Driver.AGENT,
        strategy=Strategy.MIXED,
        gpus=gpus,
        supply=supply_of([gpu.counts for gpu in gpus]),
        allocated=supply_of([gpu.held for gpu in gpus]),
    )


def draw_demand(snapshot: Snapshot, case: Case, random: Random) -> Demand:
    """Return pods as a case says; those of a profile are spread over all its groups."""
    audiences = _audiences(snapshot, case.groups, random)
    groups: list[DemandGroup] = []
    for key in sorted({node.pool for node in snapshot.nodes}):
        nodes = [node for node in snapshot.nodes if node.pool == key]
        own = {node.name for node in nodes}
        # A group that may run on no node of a model may as well run on all of them.
        names = [audience & own or frozenset(own) for audience in audiences]
        groups += _groups_for(MODELS[key], nodes, names, case)
    return Demand(tuple(group for group in groups if group.number))


def _groups_for(
    model: GpuModel, nodes: Iterable[FleetNode], audiences: list[frozenset[str]], case: Case
) -> Iterable[DemandGroup]:
    sizes = _sizes(model)
    shares = {size: SHARES[size] for size in sizes}
    free = sum(_free_slices(node) for node in nodes)
    for size, share in shares.items():
        slices = model.require([sizes[size]])[0].compute_slices
        number = round(case.load * share / sum(shares.values()) * free / slices)
        for place, names in enumerate(audiences):
            part = number // len(audiences) + (place < number % len(audiences))
            yield _group({sizes[size]: 1}, names, part, f"{model.key}-{size}g-{place:02d}")
    for kind, bundle in enumerate(BUNDLES[: case.bundles]):
        if set(bundle) <= set(sizes):
            asked = {sizes[size]: number for size, number in bundle.items()}
            slices = sum(p.compute_slices * asked[p.name] for p in model.require(asked))
            number = round(case.load * BUNDLED * free / slices)
            names = audiences[kind % len(audiences)]
            yield _group(asked, names, number, f"{model.key}-bundle-{kind}")


def _sizes(model: GpuModel) -> dict[int, str]:
    """Return the profiles of a model by the size whose part of the demand they take."""
    plain = {p.compute_slices: p.name for p in model.require(model.plain_names)}
    whole = model.whole_gpu
    found = {size: plain[size] for size in SHARES if size in plain}
    found.pop(whole.compute_slices, None)
    return {**found, WHOLE: whole.name}


def _free_slices(node: FleetNode) -> int:
    if node.model is None:
        return 0
    slices = {p.name: p.compute_slices for p in node.model.profiles}
    held = sum(slices[name] * n for gpu in node.gpus for name, n in gpu.held.items())
    return node.model.compute_slices * len(node.gpus) - held


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


def _group(asked: dict[str, int], names: frozenset[str], number: int, key: str) -> DemandGroup:
    pods = tuple(PodRef("default", f"pod-{key}-{i:06d}") for i in range(number))
    return DemandGroup(
        Counts({resource_name(p): n for p, n in asked.items()}), names, pods=pods
    )
