"""How a case is made: from which jobs, on which days, for which fleet, with which peaks."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.division import Division
from autoscaler.simulation.study.peaks import parse_peaks, with_peaks
from autoscaler.simulation.study.sources.source import JobSource, hash_of
from autoscaler.simulation.study.splits import Case, Draw, Split, build_case, load_text

# Names of cases leave this one out.
USUAL_MODEL = "a100-40gb"
# Of a name; file systems take 255 letters, and what follows needs some of them.
LONGEST = 160


def file_text(text: str) -> str:
    """Return a text as a part of a file's name: what has a meaning there is left out."""
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", text)


@dataclass(frozen=True, slots=True)
class CaseRecipe:
    """How a case is made; small, so that it can be handed to another process.

    Parameters
    ----------
    source
        Where its jobs come from.
    draw
        Split, load and seed.
    peak
        Such as ``3g:2.5``, or several set apart by semicolons; empty for none.
    cluster_seed
        Of what is left to chance on the embedded cluster: which of several free devices a
        pod gets, and how long each step of a change takes.
    """

    source: JobSource
    model: GpuModel
    draw: Draw
    peak: str = ""
    cluster_seed: int = 0

    @property
    def column(self) -> str:
        """What says which profile a job asks for."""
        return self.source.column

    @property
    def is_drawn(self) -> bool:
        """Whether another seed makes another case, or another run of it."""
        is_source = self.source.seeded(0) != self.source.seeded(1)
        draw = self.draw
        is_fitted = draw.gpus is not None and draw.load is not None
        is_draw = draw.split is Split.RESAMPLED or is_fitted
        return is_source or is_draw or draw.has_chance or bool(self.peak)

    @property
    def label(self) -> str:
        """Name of the case for files: what it differs by from others of one sweep."""
        draw = self.draw
        parts = [self.source.name, self.column, draw.split.value, load_text(draw.load)]
        if draw.gpus is not None:
            parts.append(f"{draw.gpus}-gpus")
        if self.model.key != USUAL_MODEL:
            parts.append(self.model.key)
        if self.is_drawn:
            parts.append(f"seed-{draw.seed}")
        parts.append(self.peak.replace(":", "x"))
        if self.cluster_seed:
            parts.append(f"cluster-{self.cluster_seed}")
        text = "_".join(file_text(part) for part in parts if part)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}-{hash_of(text)}"

    def fingerprint(self) -> str:
        """Return a short hash of all that the case is made from."""
        parts = (self.source.fingerprint(), self.model.key, self.draw, self.peak)
        return hash_of(*parts, *([self.cluster_seed] if self.cluster_seed else []))

    def build(self) -> Case:
        """Return the case; ConfigError when it cannot be made."""
        trace = self.source.seeded(self.draw.seed).read(self.model)
        case = build_case(trace, self.column, self.model, self.draw)
        case = with_peaks(case, parse_peaks(self.peak, self.model))
        if not self.cluster_seed:
            return case
        name = f"{case.name} cluster {self.cluster_seed}"
        return replace(case, name=name, cluster_seed=self.cluster_seed)


def recipes_of(
    source: JobSource,
    model: GpuModel,
    draws: Iterable[Draw],
    peak: str = "",
    *,
    has_chance: bool = False,
) -> tuple[CaseRecipe, ...]:
    """Return the recipes of some draws from a source of jobs, each case once.

    Parameters
    ----------
    has_chance
        Whether a policy that is run draws by the seed.
    """
    own = (replace(draw, has_chance=has_chance) for draw in draws)
    return distinct(CaseRecipe(source, model, draw, peak) for draw in own)


def on_clusters(recipes: Iterable[CaseRecipe], number: int) -> tuple[CaseRecipe, ...]:
    """Return each recipe on so many clusters, which differ by what is left to chance."""
    return tuple(
        replace(recipe, cluster_seed=seed) for recipe in recipes for seed in range(number)
    )


def distinct(recipes: Iterable[CaseRecipe]) -> tuple[CaseRecipe, ...]:
    """Return recipes without those that differ from one before by a seed that draws nothing.

    They would pass for more cases than there are.
    """
    found: dict[CaseRecipe, CaseRecipe] = {}
    for recipe in recipes:
        same = recipe if recipe.is_drawn else replace(recipe, draw=replace(recipe.draw, seed=0))
        found.setdefault(same, recipe)
    return tuple(found.values())


def but_for_seeds(recipes: Iterable[CaseRecipe]) -> tuple[CaseRecipe, ...]:
    """Return the first of each recipes that differ by nothing but their seeds."""
    found: dict[CaseRecipe, CaseRecipe] = {}
    for recipe in recipes:
        alike = replace(recipe, draw=replace(recipe.draw, seed=0), cluster_seed=0)
        found.setdefault(alike, recipe)
    return tuple(found.values())


def draws_of(
    split: Split,
    loads: Sequence[float | None],
    seeds: Sequence[int],
    division: Division,
    *,
    gpus: int | None = None,
) -> list[Draw]:
    """Return the draws of a split; only resampled ones differ by seed, peaks aside.

    Parameters
    ----------
    loads
        ``None`` is that of the jobs as they are.
    gpus
        Size of the fleet; ``None`` for as large as each load needs it to be.
    """
    return [Draw(split, load, seed, division, gpus) for load in loads for seed in seeds]
