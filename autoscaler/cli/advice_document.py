"""Advice as a document, and the policy file that comes of it."""

import json
from collections.abc import Sequence
from itertools import groupby
from math import inf
from statistics import fmean
from textwrap import wrap

import yaml

from autoscaler.cli.output import counts_text
from autoscaler.domain.counts import Counts
from autoscaler.domain.policy.policy import Mode, Policy
from autoscaler.simulation.study.advice.advice import Advice, Kind, Proof
from autoscaler.simulation.study.advice.candidates import Candidate
from autoscaler.simulation.study.advice.rounds import Tried
from autoscaler.simulation.study.figures import quantiles
from autoscaler.simulation.study.outcome import JobTimes
from autoscaler.simulation.study.pairing import CONFIDENCE, Ratio
from autoscaler.simulation.study.splits import Case

Json = dict[str, object]
COMMENT_WIDTH = 92
LONGEST_NAME = 63
# What people notice: a quarter longer, and ten minutes.
LONGER, LONGER_BY_S = 1.25, 600.0


def advice_document(advice: Advice, case: Case, base: Policy) -> Json:
    """Return the advice under the names of the JSON output; seconds as numbers."""
    chosen = advice.search.chosen
    return {
        "advice": advice.kind.value,
        "summary": summary(advice, base),
        "case": case.name,
        "gpus": case.gpus,
        "model": case.model.key,
        "base": base.metadata.name,
        "chosen": chosen.name,
        "changes": _changes(chosen),
        "effect": advice.chosen.ratio.as_json(),
        "days": {
            "choosing": advice.choosing,
            "proving": advice.proving,
            "simulated": advice.simulated,
        },
        "longerWaits": longer_waits(advice),
        "proof": [_proof(own) for own in advice.proofs],
        "tried": [_tried(own) for own in advice.search.tried],
        "fixedMix": [
            {"gpus": number, "layout": counts_text(counts)}
            for counts, number in _alike(advice.mix)
        ],
    }


def summary(advice: Advice, base: Policy) -> str:
    """Return the advice in a few sentences, with how sure it is."""
    search, days = advice.search, f"{advice.proving} later days that chose nothing"
    chosen = f"{base.metadata.name}, {search.chosen.name}"
    if advice.kind is Kind.USE:
        told = f"Use the policy {chosen}: on {days}, {effect_text(advice.chosen.ratio)}."
    else:
        told = (
            f"Keep a fixed mix: the best policy found ({chosen}) is not shown to be better. On"
            f" {days}, {effect_text(advice.chosen.ratio)}."
        )
    if search.is_tie:
        told += (
            " Other candidates are as good as far as one can tell; of those, this one changes"
            " the fewest fields."
        )
    return told


def longer_waits(advice: Advice) -> list[str]:
    """Return who pays: profiles that wait clearly longer than under the fixed mix."""
    fixed, chosen = (_waits(own) for own in (advice.proofs[0], advice.chosen))
    told = []
    for name, own_s in chosen.items():
        before_s = fixed.get(name)
        if own_s is None or before_s is None:
            continue
        if own_s > LONGER * before_s and own_s > before_s + LONGER_BY_S:
            told.append(
                f"{name} waits longer: in 95 % of cases up to {own_s:,.0f} s, not"
                f" {before_s:,.0f} s; planning.fairness is for that"
            )
    return told


def _waits(proof: Proof) -> dict[str, float | None]:
    jobs = [times for outcome in proof.trial.outcomes for times in outcome.jobs]
    names = sorted({times.job.profile for times in jobs})
    return {name: _p95([t for t in jobs if t.job.profile == name]) for name in names}


def effect_text(ratio: Ratio) -> str:
    """Return what a ratio means, in words."""
    if ratio.value is None:
        return "some jobs never ran, nor did all under the fixed mix: nothing can be compared"
    if ratio.value == inf:
        return "some jobs never ran that the fixed mix ran"
    if ratio.value == 0:
        return "all jobs ran, some of which never ran under the best fixed mix"
    if ratio.low is None or ratio.high is None:
        return f"mean completion time is {ratio.value:.3f} times that of the best fixed mix"
    words = {"better": "shorter", "worse": "longer", "tie": "a tie"}[ratio.verdict.value]
    return (
        f"mean completion time is {ratio.value:.3f} times that of the best fixed mix"
        f" ({CONFIDENCE:.0%} interval {ratio.low:.3f} to {ratio.high:.3f}: {words})"
    )


def advised_text(advice: Advice, case: Case, base: Policy) -> str:
    """Return the policy file: the policy that was searched, or the same with nothing to do.

    The mode stays that of the policy that was changed: whether plans are carried out is for
    people to say. Where a fixed mix is advised it is ``off``.
    """
    is_used = advice.kind is Kind.USE
    chosen = advice.search.chosen if is_used else Candidate()
    document = chosen.document(base)
    document["metadata"] = {"name": f"{base.metadata.name[: LONGEST_NAME - 8]}-advised"}
    lines = [f"Advised by `mig-autoscaler simulate --recommend` for {case.name}."]
    lines += wrap(summary(advice, base), COMMENT_WIDTH)
    if is_used:
        lines += longer_waits(advice)
    else:
        document["mode"] = Mode.OFF.value
        lines += ["", "The fixed mix, in GPUs and the instances of each:"]
        lines += [f"  {number} x {counts_text(own)}" for own, number in _alike(advice.mix)]
    head = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    return head + yaml.safe_dump(document, sort_keys=False, width=COMMENT_WIDTH)


def _changes(candidate: Candidate) -> Json:
    return {path: json.loads(value) for path, value in candidate.changes}


def _proof(proof: Proof) -> Json:
    trial = proof.trial
    jobs = [times for outcome in trial.outcomes for times in outcome.jobs]
    return {
        "policy": trial.candidate.name,
        "changes": _changes(trial.candidate),
        "versusFixedMix": None if trial.candidate.is_fixed else proof.ratio.as_json(),
        "meanCompletion": _mean([times.completion_s for times in jobs]),
        "meanWait": _mean([times.wait_s for times in jobs]),
        "p95Wait": _waits(proof),
        "nodeChanges": sum(outcome.changes for outcome in trial.outcomes),
        "evictions": sum(outcome.evictions for outcome in trial.outcomes),
    }


def _tried(tried: Tried) -> Json:
    return {
        "round": tried.number,
        "policy": tried.candidate.name,
        "changes": _changes(tried.candidate),
        "days": tried.days,
        "versusFixedMix": tried.ratio.as_json(),
        "goesOn": tried.goes_on,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """Return a mean; ``None`` where one is missing, because missing is not zero."""
    known = [value for value in values if value is not None]
    return round(fmean(known), 3) if known and len(known) == len(values) else None


def _p95(jobs: Sequence[JobTimes]) -> float | None:
    return quantiles(times.wait_s for times in jobs)["p95"]


def _alike(mix: Sequence[Counts]) -> list[tuple[Counts, int]]:
    return [(counts, len(list(own))) for counts, own in groupby(mix)]
