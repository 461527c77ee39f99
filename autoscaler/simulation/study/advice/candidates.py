"""Candidates: a policy with some of its fields changed, as a file would write them.

What is changed are the fields that decide how much is re-cut, when, and for whom.
Whatever else the policy says stays.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autoscaler.domain.policy.policy import Policy

# Keys of the policy file that lead to a value, and the value as JSON.
Change = tuple[str, str]
BASE = "as it is"
# A change takes a minute or more, so a node has no room for more of them.
MOST_PER_HOUR = 60


@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy to be tried.

    Parameters
    ----------
    name
        What is changed, in words.
    changes
        Sorted by key; none for the policy as it is.
    is_fixed
        Whether nothing is ever re-cut.
    """

    name: str = BASE
    changes: tuple[Change, ...] = ()
    is_fixed: bool = False

    def document(self, base: Policy) -> dict[str, object]:
        """Return the policy as its file says it; what is default is left out."""
        found = base.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for path, value in self.changes:
            *way, last = path.split(".")
            here = found
            for key in way:
                here = here.setdefault(key, {})
            here[last] = json.loads(value)
        return found

    def policy(self, base: Policy) -> Policy:
        """Return the policy; its mode is that of the base."""
        return Policy.model_validate_json(json.dumps(self.document(base)))

    def plus(self, other: "Candidate") -> "Candidate | None":
        """Return both together; ``None`` where they change the same key."""
        if {path for path, _ in self.changes} & {path for path, _ in other.changes}:
            return None
        parts = sorted({*self.name.split(", "), *other.name.split(", ")} - {BASE})
        changes = sorted((*self.changes, *other.changes))
        return Candidate(", ".join(parts) or BASE, tuple(changes))


FIXED = Candidate("a fixed mix", is_fixed=True)


def candidate(name: str, changes: Mapping[str, object]) -> Candidate:
    """Return a candidate given as keys and values."""
    return Candidate(name, tuple((key, json.dumps(changes[key])) for key in sorted(changes)))


def first_candidates(base: Policy, nodes: int) -> list[Candidate]:
    """Return what is tried first, most telling first: the policy as it is leads.

    Parameters
    ----------
    nodes
        Nodes of the fleet; budgets are shares of them.
    """
    free = {
        **_budget(nodes, MOST_PER_HOUR * nodes),
        "disruption.cooldown": "0s",
        **_persistence("0s", 1),
        **_undo(1.0, "0s"),
        "planning.minGain": 1.0,
    }
    measured = {**free, "disruption.cooldown": "10m", **_persistence("60s", 2)}
    found = [
        Candidate(),
        candidate("nothing held back", free),
        candidate("little held back", measured),
        *(candidate(name, changes) for name, changes in _single(nodes)),
    ]
    own, known = [], set[Policy | str]()
    for each in found:
        # What the policy says already is no change.
        text = each.policy(base).model_dump_json()
        if text not in known:
            known.add(text)
            own.append(each)
    return own


def combined(best: Sequence[Candidate]) -> list[Candidate]:
    """Return pairs of candidates that change different keys, best ones first."""
    pairs = [
        together
        for second in range(1, len(best))
        for first in range(second)
        if (together := best[first].plus(best[second])) is not None
    ]
    known = {each.changes for each in best}
    return [pair for pair in dict.fromkeys(pairs) if pair.changes not in known]


def _single(nodes: int) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield one change each."""
    few, many = max(2, nodes // 10), max(3, nodes // 4)
    yield "more at once", _budget(many, 60)
    yield "a few at once", _budget(few, 12)
    yield "windows at night", _nightly()
    for length in ("0s", "10m", "2h"):
        yield f"cooldown {length}", {"disruption.cooldown": length}
    for gain in (1.0, 3.0):
        yield f"minGain {gain:g}", {"planning.minGain": gain}
    yield "persistence 0s", _persistence("0s", 1)
    yield "persistence 5m", _persistence("5m", 3)
    yield "undone at will", _undo(1.0, "0s")
    for bonus in (0.0, 0.3):
        yield f"homeBonus {bonus:g}", {"planning.homeBonus": bonus}
    for hedge in (0.1, 0.5):
        yield f"hedge {hedge:g}", {"planning.hedge": hedge}
    for cap in ("25%", "off"):
        yield f"wholeGpuCap {cap}", {"planning.wholeGpuCap": cap}
    for fairness in (0.5, 2.0):
        yield f"fairness {fairness:g}", {"planning.fairness": fairness}


def _budget(nodes: int, per_hour: int) -> dict[str, object]:
    return {
        "disruption.budgets.nodes": nodes,
        "disruption.budgets.perHour": per_hour,
    }


def _persistence(length: str, looks: int) -> dict[str, object]:
    return {"planning.persistence": length, "planning.persistenceLooks": looks}


def _undo(gain: float, within: str) -> dict[str, object]:
    return {"planning.undoGain": gain, "planning.undoWithin": within}


def _nightly() -> dict[str, object]:
    return {
        "disruption.windows": [{"start": "01:00", "end": "05:00"}],
        "disruption.outsideWindows": "idle",
    }
