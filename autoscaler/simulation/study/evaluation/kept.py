"""Kept results of the evaluation, with the values that targets and tables need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.case_file import read_case
from autoscaler.simulation.study.evaluation.rows import MODEL_KEY, RULES, Part, Planned, Row
from autoscaler.simulation.study.figures import Json
from autoscaler.simulation.study.pairing import Ratio
from autoscaler.simulation.study.peaks import ANNOUNCED
from autoscaler.simulation.study.recipe import CaseRecipe
from autoscaler.simulation.study.splits import Split, load_text

OURS, MARK = "autoscaler", "static-past"
# Figures of a run that are kept; those of single jobs and profiles would be many.
KEPT = (
    "policy",
    "jobs",
    "unfinished",
    "meanCompletion",
    "meanCompletionOfFinished",
    "meanWait",
    "completion",
    "wait",
    "p95Wait",
    "utilisation",
    "fragmentation",
    "unmetSliceHours",
    "changes",
    "evictions",
    "loop",
    "planGapMax",
    "peak",
    "versusStaticPast",
    "peakVersus",
    "regret",
)
KEPT_OF_PEAK = ("jobs", "meanCompletion", "meanWait")


@dataclass(frozen=True, slots=True)
class Run:
    """One policy's figures."""

    figures: Mapping[str, object]

    def number(self, name: str) -> float | None:
        """Return a figure; ``None`` where there is none."""
        value = self.figures.get(name)
        return float(value) if isinstance(value, int | float) else None

    def section(self, name: str) -> Mapping[str, object]:
        """Return figures that belong together; empty where there are none."""
        value = self.figures.get(name)
        return value if isinstance(value, Mapping) else {}

    @property
    def ratio(self) -> Ratio:
        """Mean completion time over that under the tuned mix."""
        return _ratio(self.section("versusStaticPast"))

    def peak_ratio(self, other: str) -> Ratio:
        """Return the same for jobs that arrive in peaks, over that under another policy."""
        return _ratio(Run(self.section("peakVersus")).section(other))


@dataclass(frozen=True, slots=True)
class CaseRuns:
    """A case of the evaluation, and its runs by policy; none while it has not been run."""

    row: Row
    part: Part
    recipe: CaseRecipe
    runs: Mapping[str, Run] = field(default_factory=dict)
    gpus: int = 0
    code: str = ""

    @property
    def is_run(self) -> bool:
        """Whether there are results."""
        return bool(self.runs)

    @property
    def kind(self) -> str:
        """Rule, load and peaks: what cases that differ by seed only have in common."""
        recipe = self.recipe
        draw, column = recipe.draw, recipe.column
        parts = [RULES.get(column, f"{recipe.source.name} {column}"), load_text(draw.load)]
        parts += [f"{draw.gpus} GPUs"] if draw.gpus else []
        parts += [recipe.model.key] if recipe.model.key != MODEL_KEY else []
        parts.append(recipe.peak.partition(":")[0])
        parts += [ANNOUNCED] if ANNOUNCED in recipe.peak else []
        return " ".join(part for part in parts if part)

    @property
    def name(self) -> str:
        """What tells it from others of its part."""
        draw = self.recipe.draw
        is_drawn = draw.split is Split.RESAMPLED
        name = f"{self.kind} seed {draw.seed}" if is_drawn else self.kind
        cluster = self.recipe.cluster_seed
        return f"{name} cluster {cluster}" if cluster else name

    @property
    def ours(self) -> Run:
        """The autoscaler's run; one without figures where it was not run."""
        return self.runs.get(OURS, Run({}))

    @property
    def mark(self) -> Run:
        """The run of the tuned mix."""
        return self.runs.get(MARK, Run({}))


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases of one set, run or not."""

    all: Sequence[CaseRuns]

    @property
    def run(self) -> list[CaseRuns]:
        """Those with results."""
        return [case for case in self.all if case.is_run]

    @property
    def open(self) -> list[CaseRuns]:
        """Those without."""
        return [case for case in self.all if not case.is_run]

    def of(self, column: str, loads: Iterable[float] = ()) -> "Cases":
        """Return those of a rule, and of some loads only."""
        wanted = tuple(loads)
        return Cases(
            [
                case
                for case in self.all
                if case.recipe.column == column
                and (not wanted or case.recipe.draw.load in wanted)
            ]
        )


def slim(document: Json) -> Json:
    """Return what is kept of a case's document."""
    runs = document["runs"]
    if not isinstance(runs, list):
        raise ConfigError(f"{document.get('case')}: has no runs")
    return {**document, "runs": [_slim_run(run) for run in runs]}


def read_cases(cases: Iterable[Planned]) -> list[CaseRuns]:
    """Return what is kept of planned cases, in their order."""
    return [_read(case) for case in cases]


def part_of(cases: Iterable[CaseRuns], row: Row, *parts: Part) -> Cases:
    """Return the cases of some parts of a row."""
    return Cases([case for case in cases if case.row is row and case.part in parts])


def _read(case: Planned) -> CaseRuns:
    document = read_case(case.entry.path)
    if document is None:
        return CaseRuns(case.row, case.part, case.entry.recipe)
    kept = Run(document)
    runs = document["runs"]
    found = (
        [Run(run) for run in runs if isinstance(run, Mapping)] if isinstance(runs, list) else []
    )
    return CaseRuns(
        case.row,
        case.part,
        case.entry.recipe,
        {str(run.figures.get("policy")): run for run in found},
        int(kept.number("gpus") or 0),
        str(document.get("code", "")),
    )


def _slim_run(run: Mapping[str, object]) -> Json:
    kept = {name: run[name] for name in KEPT if name in run}
    peak = Run(run).section("peak")
    if peak:
        kept["peak"] = {name: peak[name] for name in KEPT_OF_PEAK if name in peak}
    return kept


def _ratio(section: Mapping[str, object]) -> Ratio:
    """Return a kept ratio; infinite or 0 where only one of both has run all jobs."""
    own = Run(section)
    value = own.number("ratio")
    if value is None:
        value = {"worse": inf, "better": 0.0}.get(str(section.get("verdict")))
    return Ratio(value, own.number("low"), own.number("high"), own.number("saved"))
