"""What a run looks like beside others of the same case: ratios, savings, regret."""

from collections.abc import Mapping

from autoscaler.simulation.study.figures import Json, mean_completion_s
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.pairing import ratio_of

# Ratios are against the mix that a careful operator would have chosen.
MARK = "static-past"
# The best fixed mix, known only afterwards, and two bounds on what moving jobs could win.
BOUNDS = ("static-hindsight", "free-repack", "miso")


def contrast_of(outcome: Outcome, others: Mapping[str, Outcome]) -> Json:
    """Return how a run compares with others by name, under the names of the JSON output.

    Parameters
    ----------
    others
        All runs of the case by policy; what is compared with must be among them.
    """
    found: Json = {}
    mark = others.get(MARK)
    if mark is not None:
        found["versusStaticPast"] = ratio_of(outcome, mark).as_json()
        if any(times.job.in_peak for times in outcome.jobs):
            found["peakVersus"] = {
                name: ratio_of(outcome, other, peak=True).as_json()
                for name, other in others.items()
                if name != outcome.policy
            }
    regret = {
        name: _regret(outcome, others[name])
        for name in BOUNDS
        if name in others and name != outcome.policy
    }
    if regret:
        found["regret"] = regret
    return found


def _regret(outcome: Outcome, bound: Outcome) -> Json:
    """Return by how much completion takes longer than under a bound."""
    own_s, other_s = mean_completion_s(outcome), mean_completion_s(bound)
    if own_s is None or other_s is None:
        return {"seconds": None, "share": None}
    share = round(own_s / other_s - 1, 4) if other_s else None
    return {"seconds": round(own_s - other_s, 3), "share": share}
