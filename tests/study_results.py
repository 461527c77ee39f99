"""Small results of studies, played in the light simulator."""

from autoscaler.simulation.study.comparison import CaseResult
from autoscaler.simulation.study.light import play
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.players import Exact, Static
from autoscaler.simulation.study.recipe import CaseRecipe
from autoscaler.simulation.study.sources.source import trace_file
from autoscaler.simulation.study.splits import Case, Draw, Split, Work
from autoscaler.simulation.study.trace_file import shipped_trace
from tests.studies import MODEL, SIZES, fleet, jobs


def case_of(
    *rows: tuple[float, float, str], gpus: int = 1, span_s: float = 86_400.0, name: str = "tiny"
) -> Case:
    present = Work(jobs(*rows), span_s)
    return Case(name, MODEL, gpus, 0.5, present, present)


def exact(case: Case, *gpus: dict[str, int], policy: str = "autoscaler") -> Outcome:
    """Return a run in which each job takes just its own profile."""
    return play(policy, fleet(*gpus), case.present.jobs, Exact())


def static(case: Case, *gpus: dict[str, int], policy: str = "static-past") -> Outcome:
    """Return a run in which jobs may take larger instances."""
    return play(policy, fleet(*gpus), case.present.jobs, Static(SIZES))


def result_of(case: Case, *outcomes: Outcome) -> CaseResult:
    source = trace_file(shipped_trace(), "mig_share")
    return CaseResult(CaseRecipe(source, MODEL, Draw(Split.BASE, 0.5)), case, outcomes, ())
