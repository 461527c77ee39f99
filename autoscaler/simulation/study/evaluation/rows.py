"""Which cases the evaluation has, and in which order they are run.

A row is a way to act on a fleet, a part is a set of cases. What tells most comes first, so
that an evaluation that was stopped early has said the most that it could.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from pathlib import Path

from autoscaler.domain.mig.profile import require_model
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.simulation.controllers.agents import AgentFactory
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.division import Days, Division
from autoscaler.simulation.study.evaluation.policies import (
    FAIRNESS,
    default_in_force,
    fair,
    nightly,
)
from autoscaler.simulation.study.peaks import ANNOUNCED
from autoscaler.simulation.study.policies import POLICIES, Conditions
from autoscaler.simulation.study.recipe import CaseRecipe
from autoscaler.simulation.study.sources.named import source_named
from autoscaler.simulation.study.sources.source import TraceFile
from autoscaler.simulation.study.splits import Draw, Split
from autoscaler.simulation.study.sweep import Entry, entries_of
from autoscaler.simulation.study.trace_file import shipped_trace
from autoscaler.simulation.study.unthrottled import unthrottled

A, C = "mig_share", "mig_v100eq"
# The letters under which the columns go in short.
RULES = {A: "A", C: "C"}
MODEL_KEY = "a100-40gb"
DIVISION = Division(Days(115, 134), Days(134, 149))

# Loads and columns, those first in which policies differ most. Load 0.95 of rule A would
# be the fleet of 0.9 again.
SINGLES = (
    (C, 0.5),
    (A, 0.7),
    (C, 0.4),
    (A, 0.5),
    (C, 0.6),
    (A, 0.9),
    (C, 0.7),
    (A, 0.4),
    (C, 0.3),
    (A, 0.6),
    (C, 0.8),
    (A, 0.8),
    (C, 0.95),
    (A, 0.3),
)
RESAMPLED_LOADS = (0.5, 0.7, 0.4, 0.9)
PEAK_LOADS = (0.5, 0.7, 0.3)
PEAKS = ("3g:2.5", "3g+7g:2.5", "7g:2.5", "1g:2.5")
ANNOUNCED_LOADS = (0.5, 0.7)
# Traces of other people, thinned to fleets of a size that the real loop replays in minutes.
OTHER_TRACES = (("msitp", "mixed_share"), ("msitp", "mixed_v100eq"), ("miso", ""))
OTHER_LOADS = (0.5, 0.7, 0.9)
OTHER_GPUS = 30
# Large fleets have many jobs a day, so a few days tell as much.
SHORT = Division(Days(131, 134), Days(134, 137))
LARGE_GPUS = (30, 100, 200)
OTHER_MODELS = ("h100-80gb", "a30-24gb")
# No constant of the planner was chosen with these in sight.
SEED_BASE, SEEDS, FIRST_SEEDS = 9001, 20, 5
# What MIG manager can cut on nodes of several GPUs depends on which device a pod got.
CLUSTERS = 4
CHANCY = (
    (C, 0.8, ""),
    (C, 0.7, ""),
    (C, 0.7, "3g:2.5"),
    (C, 0.7, "1g:2.5"),
    (C, 0.5, ""),
    (A, 0.7, ""),
)
USUAL = ("autoscaler", "static-past", "static-hindsight", "unpartitioned")
PEERS = tuple(name for name in POLICIES if name not in ("autoscaler", "hedged"))


class Part(StrEnum):
    """A set of cases."""

    BASE = "base"
    SWAPPED = "swapped"
    PEAKS = "peaks"
    ANNOUNCED = "announced"
    RESAMPLED = "resampled"
    CLUSTERS = "clusters"


class Row(StrEnum):
    """A way to act on a fleet; its results are in a folder of this name."""

    AGENT = "agent"
    CLOSING = "agent-close-by-profile"
    MIG_MANAGER = "mig-manager"
    MANAGER_SINGLE = "mig-manager-one-gpu-a-node"
    MANAGER_CLOSING = "mig-manager-close-by-profile"
    NIGHTLY = "nightly"
    DEFAULT = "default"
    FAIR = "agent-fair"
    PEERS = "peers"
    TRACES = "traces"
    FLEETS = "fleets"
    NODES = "nodes-of-4"


@dataclass(frozen=True, slots=True)
class Way:
    """How a row acts.

    Parameters
    ----------
    title
        In words.
    policy
        Policy of the autoscaler.
    policies
        What is run on each case.
    note
        What a reader must know to read the figures; nothing by default.
    """

    title: str
    policy: Policy
    driver: Driver = Driver.AGENT
    gpus_per_node: int = 1
    closes_by_profile: bool = False
    policies: tuple[str, ...] = USUAL
    note: str = ""


WAYS = {
    Row.AGENT: Way("Agent driver, one GPU a node, the scheduler binds first", unthrottled()),
    Row.CLOSING: Way(
        "The same, and what becomes free waits for the next look",
        unthrottled(),
        closes_by_profile=True,
    ),
    Row.MIG_MANAGER: Way(
        "MIG manager, eight GPUs a node, eviction off",
        unthrottled(),
        driver=Driver.MIG_MANAGER,
        gpus_per_node=8,
    ),
    Row.MANAGER_SINGLE: Way(
        "MIG manager, one GPU a node: without closing a whole node for one GPU",
        unthrottled(),
        driver=Driver.MIG_MANAGER,
    ),
    Row.MANAGER_CLOSING: Way(
        "MIG manager, eight GPUs a node, and what becomes free waits for the next look",
        unthrottled(),
        driver=Driver.MIG_MANAGER,
        gpus_per_node=8,
        closes_by_profile=True,
    ),
    Row.NIGHTLY: Way("Agent driver, GPUs in use are changed from 1 to 3 at night", nightly()),
    Row.DEFAULT: Way(
        "The default policy in mode auto, MIG manager, eight GPUs a node",
        default_in_force(),
        driver=Driver.MIG_MANAGER,
        gpus_per_node=8,
    ),
    Row.FAIR: Way(
        f"Agent driver, requests that have waited long count more (fairness {FAIRNESS:g})",
        fair(),
    ),
    Row.PEERS: Way("What others do, in the light simulator", unthrottled(), policies=PEERS),
    Row.TRACES: Way(
        "Agent driver on other traces: Microsoft ITP with mixed sizes, and MISO's jobs",
        unthrottled(),
        policies=(*USUAL, "miso"),
        note="MISO's jobs run faster on larger instances. By resource name each runs on the "
        "slice that it asked for and no other, while a fixed mix of large instances, as it "
        "is modelled here, lets any job have a large one: where such a mix has room, it "
        "shortens the jobs themselves and not their waits.",
    ),
    Row.FLEETS: Way(
        "Agent driver on larger fleets and other models, eight GPUs a node",
        unthrottled(),
        gpus_per_node=8,
    ),
    Row.NODES: Way("Agent driver, four GPUs a node", unthrottled(), gpus_per_node=4),
}


@dataclass(frozen=True, slots=True)
class Step:
    """Cases of one part of a row; of resampled ones those of some seeds."""

    row: Row
    part: Part
    seeds: range = range(SEED_BASE, SEED_BASE + 1)


EARLY = range(SEED_BASE, SEED_BASE + FIRST_SEEDS)
LATE = range(SEED_BASE + FIRST_SEEDS, SEED_BASE + SEEDS)
STEPS = (
    Step(Row.AGENT, Part.BASE),
    Step(Row.AGENT, Part.SWAPPED),
    Step(Row.AGENT, Part.PEAKS),
    Step(Row.AGENT, Part.RESAMPLED, EARLY),
    Step(Row.PEERS, Part.BASE),
    Step(Row.CLOSING, Part.BASE),
    Step(Row.MIG_MANAGER, Part.BASE),
    Step(Row.NIGHTLY, Part.BASE),
    Step(Row.DEFAULT, Part.BASE),
    Step(Row.FAIR, Part.BASE),
    Step(Row.AGENT, Part.ANNOUNCED),
    Step(Row.TRACES, Part.BASE),
    Step(Row.NODES, Part.BASE),
    Step(Row.MANAGER_SINGLE, Part.BASE),
    Step(Row.MANAGER_CLOSING, Part.BASE),
    Step(Row.FLEETS, Part.BASE),
    Step(Row.AGENT, Part.RESAMPLED, LATE),
    Step(Row.NIGHTLY, Part.SWAPPED),
    Step(Row.CLOSING, Part.SWAPPED),
    Step(Row.CLOSING, Part.PEAKS),
    Step(Row.MIG_MANAGER, Part.CLUSTERS),
    Step(Row.MIG_MANAGER, Part.PEAKS),
    Step(Row.NIGHTLY, Part.PEAKS),
    Step(Row.CLOSING, Part.RESAMPLED, EARLY),
    Step(Row.NIGHTLY, Part.RESAMPLED, EARLY),
    Step(Row.CLOSING, Part.RESAMPLED, LATE),
)


@dataclass(frozen=True, slots=True)
class Planned:
    """One case of the evaluation."""

    row: Row
    part: Part
    entry: Entry


def planned(folder: Path, agent: AgentFactory | None = None) -> list[Planned]:
    """Return all cases in the order in which they are run, each with its file in a folder."""
    return [
        Planned(step.row, step.part, entry)
        for step in STEPS
        for entry in entries_of(_comparison(step, agent), folder / step.row.value)
    ]


def recipes_of_step(step: Step) -> Iterator[CaseRecipe]:
    """Yield the cases of a step, those that tell most first."""
    if step.row is Row.TRACES:
        yield from _traces()
    elif step.row is Row.FLEETS:
        yield from _fleets()
    elif step.part is Part.PEAKS:
        yield from _peaks(PEAK_LOADS)
    elif step.part is Part.ANNOUNCED:
        yield from _peaks(ANNOUNCED_LOADS, f" {ANNOUNCED}")
    elif step.part is Part.CLUSTERS:
        yield from _clusters()
    elif step.part is Part.RESAMPLED:
        for seed, load in product(step.seeds, RESAMPLED_LOADS):
            for column in (C, A):
                yield _recipe(column, Draw(Split.RESAMPLED, load, seed, DIVISION))
    else:
        split = Split.BASE if step.part is Part.BASE else Split.SWAPPED
        for column, load in SINGLES:
            yield _recipe(column, Draw(split, load, 1, DIVISION))


def _peaks(loads: Sequence[float], mark: str = "") -> Iterator[CaseRecipe]:
    for load, peak, column in product(loads, PEAKS, (C, A)):
        yield _recipe(column, Draw(Split.BASE, load, 1, DIVISION), f"{peak}{mark}")


def _clusters() -> Iterator[CaseRecipe]:
    for number, (column, load, peak) in product(range(1, CLUSTERS + 1), CHANCY):
        recipe = _recipe(column, Draw(Split.BASE, load, 1, DIVISION), peak)
        yield replace(recipe, cluster_seed=number)


def _traces() -> Iterator[CaseRecipe]:
    for load, (name, column) in product(OTHER_LOADS, OTHER_TRACES):
        draw = Draw(Split.BASE, load, 1, gpus=OTHER_GPUS)
        yield CaseRecipe(source_named(name, column), require_model(MODEL_KEY), draw)


def _fleets() -> Iterator[CaseRecipe]:
    for key, column, load in product(OTHER_MODELS, (C, A), (0.5, 0.7)):
        yield replace(
            _recipe(column, Draw(Split.BASE, load, 1, DIVISION)), model=require_model(key)
        )
    for gpus, column in product(LARGE_GPUS, (C, A)):
        yield _recipe(column, Draw(Split.BASE, 0.7, 1, SHORT, gpus))


def _comparison(step: Step, agent: AgentFactory | None) -> Comparison:
    way = WAYS[step.row]
    conditions = Conditions(
        policy=way.policy,
        driver=way.driver,
        gpus_per_node=way.gpus_per_node,
        closes_by_profile=way.closes_by_profile,
        agent=agent,
    )
    return Comparison(tuple(recipes_of_step(step)), way.policies, conditions)


def _recipe(column: str, draw: Draw, peak: str = "") -> CaseRecipe:
    return CaseRecipe(TraceFile(shipped_trace(), column), require_model(MODEL_KEY), draw, peak)
