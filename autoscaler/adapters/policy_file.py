"""Policy files: from text to a policy, with file, line and column of whatever is wrong."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TypeVar
from zoneinfo import available_timezones

from pydantic import ValidationError

from autoscaler.adapters.prometheus.queries import KNOWN
from autoscaler.adapters.yaml_tree import Flaw, Mark, Tree, printable, read_tree
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.complaints import NOT_A_KEY, complaints, did_you_mean
from autoscaler.domain.policy.policy import DemandRules, Policy, Pool, same_names
from autoscaler.domain.policy.policy_check import (
    demand_problems,
    demand_warnings,
    pool_problems,
    pool_warnings,
    preset_problems,
)
from autoscaler.domain.policy.quantity import shown
from autoscaler.domain.policy.section import Path, Problem, Section, path_text

NO_VALUE = "has no value"
NO_QUERY = "there is no query"
Part = TypeVar("Part", bound=Section)
PoolCheck = Callable[[Pool], Iterable[Problem]]
DemandCheck = Callable[[DemandRules], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy and what came with it.

    ``warnings`` are sentences with file, line, column and key; ``text_hash`` tells one
    content of the file from another.
    """

    policy: Policy
    warnings: tuple[str, ...]
    text_hash: str


def load_policy(path: str | os.PathLike[str]) -> LoadedPolicy:
    """Return the policy of a file; ConfigError names all that is wrong with it."""
    loaded = parse_policy(read_text(path), os.fspath(path))
    if not os.path.ismount(path):
        return loaded
    # Kubernetes replaces a mounted ConfigMap as a whole, but never a file mounted alone.
    warning = f"{os.fspath(path)}: is a mount of its own; a ConfigMap's subPath never updates"
    return LoadedPolicy(loaded.policy, (*loaded.warnings, warning), loaded.text_hash)


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file; ConfigError when there is none or it is not UTF-8."""
    name = os.fspath(path)
    try:
        return FilePath(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - before.rfind(b"\n")
        raise ConfigError(f"{name}:{line}:{column}: is not UTF-8 text") from error


def parse_policy(text: str, source: str) -> LoadedPolicy:
    """Return the policy of a text; ``source`` names it in errors and warnings."""
    tree, flaws = read_tree(text, source)
    policy, wrong = _read(Policy, tree.value)
    empty = [Problem(path, f"{NO_VALUE}; give one or remove it") for path in tree.nulls()]
    wrong += [*_parts(tree, pool_problems, demand_problems), *_same_names(tree)]
    wrong += _unknown_queries(tree)
    wrong += preset_problems(policy) if policy is not None else ()
    silent = {problem.path for problem in empty}
    wrong = [*empty, *(problem for problem in wrong if problem.path not in silent)]
    if policy is None or wrong or flaws:
        raise ConfigError("\n".join(_lines(tree, wrong, source, flaws)))
    warnings = tuple(_lines(tree, _parts(tree, pool_warnings, demand_warnings), source))
    return LoadedPolicy(policy, warnings, hashlib.sha256(text.encode()).hexdigest()[:12])


def _read(model: type[Part], value: object) -> tuple[Part | None, list[Problem]]:
    """Return the part of a policy that a value is, or what is wrong with it."""
    if not isinstance(value, dict):
        return None, [Problem((), f"must be a mapping, not {shown(value)}")]
    try:
        # By way of JSON, because strict validation of JSON takes lists for tuples and
        # text for enums and days, which a file has no other way to write.
        return model.model_validate_json(json.dumps(value), by_alias=True, by_name=False), []
    except ValidationError as error:
        is_zone = any(e["type"] == "time_zone" for e in error.errors(include_url=False))
        zones = sorted(available_timezones()) if is_zone else ()
        return None, list(complaints(error, model, data=value, zones=zones))


def _parts(tree: Tree, of_pool: PoolCheck, of_demand: DemandCheck) -> list[Problem]:
    """Return what checks say of each part, whatever is wrong elsewhere.

    So a person sees a profile that no GPU has together with all other faults.
    """
    found = []
    pools = tree.children.get("pools")
    for number, child in pools.children.items() if pools else ():
        pool, problems = _read_in_spite(Pool, child.value, {"name": "unknown"})
        problems += of_pool(pool) if pool else ()
        found += [_below(("pools", number), problem) for problem in problems]
    demand = tree.children.get("demand")
    if demand:
        rules, problems = _read_in_spite(DemandRules, demand.value, {})
        problems += of_demand(rules) if rules else ()
        found += [_below(("demand",), problem) for problem in problems]
    return found


def _read_in_spite(
    model: type[Part], value: object, defaults: Mapping[str, object]
) -> tuple[Part | None, list[Problem]]:
    """Return a part less its wrong keys, so that the others can be checked too."""
    part, problems = _read(model, value)
    rest, more = value, problems
    while part is None and isinstance(rest, dict) and more:
        wrong = {problem.path[0] for problem in more}
        rest = {**defaults, **{key: rest[key] for key in rest if key not in wrong}}
        part, more = _read(model, rest)
        problems = [*problems, *more]
    return part, problems


def _same_names(tree: Tree) -> list[Problem]:
    pools = tree.children.get("pools", tree).children
    names = {number: pool.children.get("name") for number, pool in pools.items()}
    return same_names({n: t.value for n, t in names.items() if t and isinstance(t.value, str)})


def _unknown_queries(tree: Tree) -> list[Problem]:
    prometheus = tree.children.get("prometheus", tree).children
    queries = prometheus["queries"].children if "queries" in prometheus else {}
    allowed = f"allowed: {', '.join(KNOWN)}"
    return [
        Problem(
            ("prometheus", "queries", name),
            f"{NO_QUERY} of this name{did_you_mean(name, KNOWN)}; {allowed}",
        )
        for name in queries
        if name not in KNOWN
    ]


def _below(path: Path, problem: Problem) -> Problem:
    return Problem((*path, *problem.path), problem.message)


def _lines(
    tree: Tree, problems: Iterable[Problem], source: str, flaws: Iterable[Flaw] = ()
) -> list[str]:
    """Return one line a problem, in the order of the file."""
    placed = [(_mark_of(tree, problem), problem) for problem in problems]
    placed += [(flaw.mark, Problem(flaw.path, flaw.message)) for flaw in flaws]
    texts = {(mark, _told(problem)) for mark, problem in placed}
    return [f"{source}:{mark.line}:{mark.column}: {text}" for mark, text in sorted(texts)]


def _mark_of(tree: Tree, problem: Problem) -> Mark:
    # What is said of the key itself stands there; a value that is not there has no place.
    is_of_key = problem.message.startswith((NOT_A_KEY, NO_VALUE, NO_QUERY))
    return tree.place(problem.path, of_key=is_of_key)


def _told(problem: Problem) -> str:
    path = path_text(problem.path)
    return printable(f"{path}: {problem.message}" if path else problem.message)


@dataclass(frozen=True, slots=True)
class _Sight:
    """What one look at a file showed; ``target`` is the file behind all links."""

    target: str
    text: str | None
    error: str

    @property
    def content(self) -> tuple[str | None, str]:
        """What tells this sight from another."""
        return self.text, self.error


class PolicyWatcher:
    """Notices a changed policy file; a bad one never replaces a good one.

    A file may be seen half written, and half a policy may be a valid one. So a new
    content counts when two polls in a row have seen it, or at once when the file
    behind the links is another: then it was swapped in as a whole, as Kubernetes does
    with ConfigMaps.
    """

    def __init__(self, path: str | os.PathLike[str], current: LoadedPolicy) -> None:
        self.current = current
        self.error: str | None = None
        self._path = os.fspath(path)
        self._target = os.path.realpath(self._path)
        self._last: _Sight | None = None
        self._settled: tuple[str | None, str] | None = None
        self._news: str | None = None

    def poll(self) -> LoadedPolicy | None:
        """Return the new policy when there is one; never raises for a bad file."""
        sight = self._look()
        swapped = sight.text is not None and sight.target != self._target
        stable = self._last is not None and self._last.content == sight.content
        self._last = sight
        if not (swapped or stable) or sight.content == self._settled:
            return None
        self._settled = sight.content
        if sight.text is not None:
            self._target = sight.target
        return self._take(sight)

    def take_error(self) -> str | None:
        """Return what is wrong with the file, once for each content of it."""
        news, self._news = self._news, None
        return news

    def _look(self) -> _Sight:
        target = os.path.realpath(self._path)
        try:
            return _Sight(target, read_text(self._path), "")
        except ConfigError as error:
            return _Sight(target, None, str(error))

    def _take(self, sight: _Sight) -> LoadedPolicy | None:
        try:
            if sight.text is None:
                raise ConfigError(sight.error)
            loaded = parse_policy(sight.text, self._path)
        except ConfigError as error:
            self.error = self._news = str(error)
            return None
        self.error = self._news = None
        if loaded.text_hash == self.current.text_hash:
            return None
        self.current = loaded
        return loaded
