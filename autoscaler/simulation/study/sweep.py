"""Sweeps: many cases, kept one by one, so that a run that was stopped goes on.

Each case has a file of its own. It is taken for done when it was made from the same
inputs by the same code; what else lies there is made anew.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import autoscaler
from autoscaler.domain.errors import AutoscalerError, ConfigError
from autoscaler.simulation.study.case_file import read_case, read_mapping
from autoscaler.simulation.study.comparison import CaseResult, Comparison, run_case
from autoscaler.simulation.study.figures import Json
from autoscaler.simulation.study.recipe import CaseRecipe
from autoscaler.simulation.study.sources.source import hash_of
from autoscaler.simulation.study.splits import Case

# What decides how a run goes. Neither commands nor servers do.
DECISIVE = ("domain", "planning", "control", "agent", "adapters", "simulation")
# Nor does what only shows, judges or searches, or plays to an audience.
IDLE = (
    "simulation/demo",
    *(f"simulation/study/{n}" for n in ("report", "advice", "evaluation")),
)
SOLVERS = ("highspy", "numpy")
# So many cases are ready for whoever is done next.
AHEAD = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One case of a sweep, and where it is kept.

    Parameters
    ----------
    comparison
        Policies and conditions; of its recipes the one of this case only.
    """

    path: Path
    comparison: Comparison

    @property
    def recipe(self) -> CaseRecipe:
        """How the case is made."""
        return self.comparison.recipes[0]

    def inputs(self) -> str:
        """Return a short hash of all that its figures are made from, but the code."""
        own = self.comparison
        return hash_of(self.recipe.fingerprint(), own.policies, own.conditions.fingerprint())


@dataclass(frozen=True, slots=True)
class Workers:
    """Who runs cases.

    Parameters
    ----------
    pool
        ``None`` for this process.
    number
        How many cases run at once.
    """

    pool: Executor | None = None
    number: int = 1


HERE = Workers()
Told = Callable[[Entry, Json], None]


def entries_of(comparison: Comparison, folder: Path) -> tuple[Entry, ...]:
    """Return the cases of a comparison, each with a file in a folder.

    Raises
    ------
    ConfigError
        When two cases would share a file: each would be made anew again and again.
    """
    labels = [recipe.label for recipe in comparison.recipes]
    for label in labels:
        if labels.count(label) > 1:
            raise ConfigError(f"two cases of the sweep are called {label}")
    return tuple(
        Entry(folder / f"{recipe.label}.json", replace(comparison, recipes=(recipe,)))
        for recipe in comparison.recipes
    )


def sweep(
    entries: Sequence[Entry],
    code: str,
    workers: Workers = HERE,
    told: Told | None = None,
    *,
    keep: Callable[[Json], Json] = lambda document: document,
) -> int:
    """Run what is not done yet, and write each case as soon as it is; return how many.

    Parameters
    ----------
    code
        What the results are made by.
    told
        Is told of each case that was run.
    keep
        Returns what is kept of a case; all by default.

    Raises
    ------
    AutoscalerError
        After all others are done, when cases could not be run.
    """
    missing = [entry for entry in entries if not is_done(entry, code)]
    problems: list[tuple[str, AutoscalerError]] = []
    for entry, future in _runs(missing, workers):
        try:
            document = {**keep(future.result()), "inputs": entry.inputs(), "code": code}
        except BrokenExecutor as error:
            raise AutoscalerError("a process has died; what is done is kept") from error
        except AutoscalerError as error:
            problems.append((entry.path.stem, error))
            continue
        _write(entry.path, document)
        if told is not None:
            told(entry, document)
    if problems:
        is_input = all(isinstance(error, ConfigError) for _, error in problems)
        kind = ConfigError if is_input else AutoscalerError
        raise kind("\n".join(f"{name}: {error}" for name, error in problems))
    return len(missing)


def is_done(entry: Entry, code: str) -> bool:
    """Say whether a case is there, from the same inputs and by the same code."""
    found = read_case(entry.path)
    return (
        found is not None
        and found.get("code") == code
        and found.get("inputs") == entry.inputs()
    )


def refuse_others(entries: Sequence[Entry]) -> None:
    """Refuse files that hold cases made from other inputs: they would be lost.

    Names of files say what cases of one sweep differ by, and nothing of days or policies.

    Raises
    ------
    ConfigError
        When there is one; it names the file.
    """
    for entry in entries:
        # Even of one that is not whole: somebody may still read it.
        found = read_mapping(entry.path)
        if found is not None and found.get("inputs") != entry.inputs():
            raise ConfigError(
                f"{entry.path}: is a case of other jobs, days, policies or conditions, and"
                " would be replaced: keep this sweep in another folder"
            )


def read_entries(entries: Sequence[Entry]) -> list[Json]:
    """Return what is kept of cases, in their order; ConfigError when one is missing."""
    found = []
    for entry in entries:
        document = read_case(entry.path)
        if document is None:
            raise ConfigError(f"{entry.path}: is no result of a study")
        found.append(document)
    return found


def code_version() -> str:
    """Return a short hash of the code that decides how runs go, and of its solvers."""
    root, digest = Path(autoscaler.__file__).parent, hashlib.sha256()
    for path in sorted(path for name in DECISIVE for path in (root / name).rglob("*.py")):
        own = path.relative_to(root)
        if not any(own.is_relative_to(folder) for folder in IDLE):
            digest.update(own.as_posix().encode() + path.read_bytes())
    return hash_of(digest.hexdigest(), [version(name) for name in SOLVERS])


def case_document(result: CaseResult) -> Json:
    """Return everything that is kept of a case: figures, and nothing of single jobs."""
    recipe = result.recipe
    return {
        "case": result.case.name,
        "column": recipe.column,
        "split": recipe.draw.split.value,
        "load": result.case.load,
        "seed": recipe.draw.seed,
        "peak": recipe.peak,
        "gpus": result.case.gpus,
        "model": recipe.model.key,
        **({"notices": list(result.case.notices)} if result.case.notices else {}),
        "runs": list(result.figures),
    }


def run_built(comparison: Comparison, case: Case) -> Json:
    """Run a case in whatever process this is; it needs no file of this machine."""
    return case_document(run_case(comparison, comparison.recipes[0], case))


def _runs(entries: Sequence[Entry], workers: Workers) -> Iterator[tuple[Entry, Future[Json]]]:
    """Yield each case when its run is over, for good or bad.

    Cases are built here, because the machines of workers need not have the files, and only
    a few ahead, because they are large.
    """
    running: dict[Future[Json], Entry] = {}
    ahead = iter(entries)
    room = 1 if workers.pool is None else workers.number + AHEAD
    try:
        while True:
            while len(running) < room and (entry := next(ahead, None)):
                running[_begin(entry, workers.pool)] = entry
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            # Whoever was begun first is told first where several are over.
            for future in [own for own in running if own in done]:
                yield running.pop(future), future
    finally:
        # After an error nothing new is begun; what runs comes to its end.
        for future in running:
            future.cancel()


def _begin(entry: Entry, pool: Executor | None) -> Future[Json]:
    """Let a case run; in this process it is over when this returns."""
    future: Future[Json] = Future()
    try:
        case = entry.recipe.build()
        if pool is not None:
            return pool.submit(run_built, entry.comparison, case)
        future.set_result(run_built(entry.comparison, case))
    except AutoscalerError as error:
        future.set_exception(error)
    return future


def _write(path: Path, document: Json) -> None:
    """Write a result so that a half-written one is never taken for done."""
    part = path.with_name(f"{path.name}.part")
    text = json.dumps(document, indent=1, allow_nan=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
