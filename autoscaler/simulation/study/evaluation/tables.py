"""Tables of the page on decision quality, in Markdown."""

from collections.abc import Iterable, Sequence
from math import inf, isfinite
from statistics import fmean

from autoscaler.simulation.study.evaluation.kept import MARK, OURS, CaseRuns, Cases, Run
from autoscaler.simulation.study.evaluation.rows import RULES, A, C
from autoscaler.simulation.study.evaluation.targets import (
    MEAN_LOADS,
    Finding,
    against_whole_gpus,
    in_peak,
    whole,
)
from autoscaler.simulation.study.pairing import Ratio, Verdict, geometric_mean
from autoscaler.simulation.study.splits import load_text

SIGNS = {Verdict.BETTER: "better", Verdict.WORSE: "worse", Verdict.TIE: "tie"}
NONE = "-"
LIMIT = 1.01


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def findings_table(findings: Iterable[Finding]) -> str:
    """Return what is wanted beside what was found."""
    rows = [(own.wanted, own.found, f"**{own.state.value}**") for own in findings]
    return markdown(("target", "found", ""), rows)


def single_table(cases: Cases) -> str:
    """Return one row a case: how long jobs take on average, and what that cost."""
    head = (
        "case",
        "GPUs",
        "tuned mix s",
        "autoscaler s",
        "ratio (95 % interval)",
        "",
        "saved s a job",
        "over hindsight",
        "unpartitioned s",
        "changes",
        "evictions",
    )
    return markdown(head, (_single(case) for case in cases.run))


def _single(case: CaseRuns) -> Sequence[str]:
    ours = case.ours
    hindsight = Run(Run(ours.section("regret")).section("static-hindsight"))
    over = hindsight.number("share")
    return (
        case.name,
        str(case.gpus),
        completion_text(case.mark),
        completion_text(ours),
        ratio_text(ours.ratio),
        SIGNS[ours.ratio.verdict],
        _whole(ours.ratio.saved_s),
        NONE if over is None else f"{over:+.1%}",
        completion_text(case.runs.get("unpartitioned", Run({}))),
        _whole(ours.number("changes")),
        _whole(ours.number("evictions")),
    )


def waits_table(cases: Cases) -> str:
    """Return the 95th percentile of waiting by profile, of the tuned mix and of ours."""
    profiles = _profiles(cases.run)
    rows = [
        (
            case.name,
            _pair(case.mark.number("meanWait"), case.ours.number("meanWait")),
            *(_pair(_p95(case.mark, name), _p95(case.ours, name)) for name in profiles),
        )
        for case in cases.run
    ]
    return markdown(("case", "mean", *profiles), rows)


def peaks_table(cases: Cases) -> str:
    """Return one row a case with peaks: the jobs that arrive in them, and all."""
    head = (
        "case",
        "GPUs",
        "in peaks, to the tuned mix",
        "",
        "in peaks, to unpartitioned",
        "all jobs, to the tuned mix",
    )
    rows = [
        (
            case.name,
            str(case.gpus),
            ratio_text(in_peak(case)),
            SIGNS[in_peak(case).verdict],
            ratio_text(against_whole_gpus(case)),
            ratio_text(whole(case)),
        )
        for case in cases.run
    ]
    return markdown(head, rows)


def resampled_table(cases: Cases) -> str:
    """Return one row a rule and load, over all seeds."""
    head = (
        "case",
        "seeds",
        "geometric mean",
        "worst",
        f"above {LIMIT} beyond noise",
        "p95 wait s",
    )
    keys = sorted({_key(case) for case in cases.run})
    rows = []
    for rule, load in keys:
        own = Cases([c for c in cases.run if _key(c) == (rule, load)])
        values = [value for case in own.run if (value := whole(case).value) is not None]
        finite = [value for value in values if isfinite(value)]
        mean = geometric_mean(finite)
        losing = [case.name for case in own.run if whole(case).exceeds(LIMIT)]
        rows.append(
            (
                f"{rule} {load}",
                str(len(own.run)),
                ratio_text(mean),
                ratio_text(Ratio(max(values, default=None))),
                ", ".join(losing) or "none",
                _pair(*(_mean_p95(own, name) for name in (MARK, OURS))),
            )
        )
    return markdown(head, rows)


def clusters_table(cases: Cases) -> str:
    """Return one row a kind of case, over all clusters: ratios of all jobs, and in peaks."""
    head = ("case", "clusters", "geometric mean", "best", "worst", "in peaks", "worst in peaks")
    rows = []
    for kind in dict.fromkeys(case.kind for case in cases.run):
        own = [case for case in cases.run if case.kind == kind]
        values = [v for case in own if (v := whole(case).value) is not None]
        peaks = [v for case in own if (v := case.ours.peak_ratio(MARK).value) is not None]
        rows.append(
            (
                kind,
                str(len(own)),
                ratio_text(geometric_mean([v for v in values if isfinite(v)])),
                ratio_text(Ratio(min(values, default=None))),
                ratio_text(Ratio(max(values, default=None))),
                ratio_text(geometric_mean([v for v in peaks if isfinite(v)])),
                ratio_text(Ratio(max(peaks, default=None))),
            )
        )
    return markdown(head, rows)


def peers_table(peers: Cases, ours: Cases) -> str:
    """Return one row a policy, the best on rule C first: means of ratios, and the worst."""
    ratios: dict[str, list[tuple[CaseRuns, float]]] = {}
    for case in (*ours.run, *peers.run):
        for name, run in case.runs.items():
            if (name == OURS) == (case in ours.run):
                value = run.ratio.value
                ratios.setdefault(name, []).append((case, inf if value is None else value))
    rows = [
        (
            name,
            ratio_text(_mean_of(own, A)),
            ratio_text(_mean_of(own, C)),
            _worst(own),
            str(sum(1 for _, value in own if not isfinite(value)) or ""),
        )
        for name, own in sorted(ratios.items(), key=lambda entry: _place(*entry))
    ]
    head = ("policy", "rule A", "rule C", "worst case", "cases with jobs that never ran")
    return markdown(head, rows)


def open_text(cases: Cases) -> str:
    """Return which cases are not run yet, in one line; empty when all are."""
    seeds: dict[str, list[int]] = {}
    for case in cases.open:
        recipe = case.recipe
        seeds.setdefault(case.kind, []).append(recipe.cluster_seed or recipe.draw.seed)
    if not seeds:
        return ""
    names = [
        name if len(own) == 1 else f"{name} ({len(own)} seeds from {min(own)} to {max(own)})"
        for name, own in seeds.items()
    ]
    return f"Not run yet, {len(cases.open)} of {len(cases.all)}: {', '.join(names)}.\n"


def ratio_text(ratio: Ratio) -> str:
    """Return a ratio with its interval."""
    if ratio.value is None:
        return NONE
    if not isfinite(ratio.value):
        return "jobs that never ran"
    if ratio.value == 0:
        return "only there jobs that never ran"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.3f}"
    return f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def completion_text(run: Run) -> str:
    """Return the mean completion time, or how many jobs never ran."""
    never = run.number("unfinished")
    if never:
        return f"{never:.0f} never ran"
    return _whole(run.number("meanCompletion"))


def _key(case: CaseRuns) -> tuple[str, str]:
    return RULES[case.recipe.column], load_text(case.recipe.draw.load)


def _place(name: str, ratios: Sequence[tuple[CaseRuns, float]]) -> tuple[float, str]:
    mean = _mean_of(ratios, C).value
    return inf if mean is None else mean, name


def _mean_of(ratios: Sequence[tuple[CaseRuns, float]], column: str) -> Ratio:
    """Return the geometric mean of a rule's cases; none where in one of them jobs never ran."""
    own = [
        value
        for case, value in ratios
        if case.recipe.column == column and case.recipe.draw.load in MEAN_LOADS[column]
    ]
    return geometric_mean(own) if all(isfinite(value) for value in own) else Ratio(None)


def _worst(ratios: Sequence[tuple[CaseRuns, float]]) -> str:
    finite = [(value, case.name) for case, value in ratios if isfinite(value)]
    return "{:.3f} ({})".format(*max(finite)) if finite else NONE


def _profiles(cases: Sequence[CaseRuns]) -> list[str]:
    found = {name for case in cases for name in case.mark.section("p95Wait")}
    return sorted(found, key=lambda name: (int(name.partition("g")[0]), name))


def _p95(run: Run, profile: str) -> float | None:
    return Run(run.section("p95Wait")).number(profile)


def _mean_p95(cases: Cases, policy: str) -> float | None:
    found = [
        Run(case.runs.get(policy, Run({})).section("wait")).number("p95") for case in cases.run
    ]
    own = [value for value in found if value is not None]
    return fmean(own) if own and len(own) == len(found) else None


def _pair(own: float | None, other: float | None) -> str:
    return f"{_whole(own)} / {_whole(other)}"


def _whole(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f}"
