"""YAML files of one section each, strict as policy files: what is wrong has its place."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from autoscaler.adapters.policy_file import NO_VALUE, read_text
from autoscaler.adapters.yaml_tree import Flaw, Mark, Tree, printable, read_tree
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.complaints import NOT_A_KEY, complaints
from autoscaler.domain.policy.quantity import shown
from autoscaler.domain.policy.section import Path as Keys
from autoscaler.domain.policy.section import Problem, Section, path_text

Part = TypeVar("Part", bound=Section)


@dataclass(frozen=True, slots=True)
class SectionFile(Generic[Part]):
    """What a file says, and where it says it."""

    path: Path
    section: Part
    tree: Tree

    @contextmanager
    def about(self, *keys: str | int) -> Iterator[None]:
        """Say of an error inside that it comes from what stands at a key."""
        try:
            yield
        except ConfigError as error:
            text = str(error).partition("\n")[0]
            line = _line(self.path, self.tree.place(keys), Problem(keys, text))
            raise ConfigError(line) from error


def read_section(model: type[Part], path: Path) -> SectionFile[Part]:
    """Return the section that a file is; ConfigError names all that is wrong with it."""
    tree, flaws = read_tree(read_text(path), str(path))
    problems = [Problem(keys, f"{NO_VALUE}; give one or remove it") for keys in tree.nulls()]
    silent = {problem.path for problem in problems}
    section: Part | None = None
    if isinstance(tree.value, dict):
        try:
            # By way of JSON, which strict validation takes lists for tuples from.
            text = json.dumps(tree.value)
            section = model.model_validate_json(text, by_alias=True, by_name=False)
        except ValidationError as error:
            found = complaints(error, model, data=tree.value)
            problems += [problem for problem in found if problem.path not in silent]
    else:
        problems = [Problem((), f"must be a mapping, not {shown(tree.value)}")]
    if section is None or problems or flaws:
        raise ConfigError("\n".join(_lines(path, tree, problems, flaws)))
    return SectionFile(path, section, tree)


def _lines(
    path: Path, tree: Tree, problems: list[Problem], flaws: tuple[Flaw, ...]
) -> list[str]:
    """Return one line a problem, in the order of the file."""
    placed = [(_mark_of(tree, problem), problem) for problem in problems]
    placed += [(flaw.mark, Problem(flaw.path, flaw.message)) for flaw in flaws]
    ordered = sorted(placed, key=lambda own: (own[0], own[1].message))
    return list(dict.fromkeys(_line(path, mark, problem) for mark, problem in ordered))


def _mark_of(tree: Tree, problem: Problem) -> Mark:
    is_of_key = problem.message.startswith((NOT_A_KEY, NO_VALUE))
    return tree.place(problem.path, of_key=is_of_key)


def _line(path: Path, mark: Mark, problem: Problem) -> str:
    keys: Keys = problem.path
    told = f"{path_text(keys)}: {problem.message}" if keys else problem.message
    return f"{path}:{mark.line}:{mark.column}: {printable(told)}"
