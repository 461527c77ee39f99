"""The base of all parts of a policy file, and how a part refuses what contradicts itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

Path = tuple[str | int, ...]

# What a file may hold already although nothing reads it so far.
NOT_YET = "x-not-yet-in-effect"
NAME_PATTERN = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
Name = Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=NAME_PATTERN)]
Text = Annotated[str, StringConstraints(min_length=1)]


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
