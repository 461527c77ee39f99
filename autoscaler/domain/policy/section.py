"""The base of all parts of a policy file, and how a part refuses what contradicts itself."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from autoscaler.domain.policy.quantity import shown

Path = tuple[str | int, ...]

NAME_PATTERN = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"


def like(pattern: str, words: str) -> AfterValidator:
    """Return a check that text matches a pattern, with words for when it does not."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{shown(text)} is not {words}")
        return text

    return AfterValidator(check)


NAME_WORDS = "a name of letters, digits, '-', '_' and '.' between letters or digits"
Text = Annotated[str, StringConstraints(min_length=1)]
Name = Annotated[
    str,
    StringConstraints(max_length=63),
    like(NAME_PATTERN, NAME_WORDS),
    Field(json_schema_extra={"pattern": NAME_PATTERN}),
]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at a key.

    Parameters
    ----------
    path
        Keys and indexes that lead to it, as the file writes them.
    message
        What is wrong and what is allowed.
    """

    path: Path
    message: str


def file_key(name: str) -> str:
    """Return how a file writes a field: no unit, camel case (``cooldown_s``: ``cooldown``)."""
    return to_camel(name.removesuffix("_s").rstrip("_"))


class Section(BaseModel):
    """Base of all parts: strict, frozen, no unknown keys, described by its docstrings."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=file_key,
        validate_by_name=True,
        validate_by_alias=True,
        use_attribute_docstrings=True,
    )


def refuse(problems: Iterable[Problem]) -> None:
    """Raise one error for all problems of a section, if there are any.

    Raises
    ------
    PydanticCustomError
        Its context carries the problems, so that a reader of files can place each.
    """
    found = tuple(problems)
    if found:
        text = "; ".join(f"{'.'.join(map(str, p.path))}: {p.message}" for p in found)
        raise PydanticCustomError("inconsistent", "{text}", {"text": text, "problems": found})


def path_text(path: Path) -> str:
    """Return keys as Kubernetes shows them: ``pools[0].floors[1g.5gb]``.

    Parameters
    ----------
    path
        Keys and indexes; empty for the document itself, which has no name.
    """
    text = ""
    for part in path:
        is_word = isinstance(part, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", part)
        text += f".{part}" if is_word else f"[{part}]"
    return text.removeprefix(".")
