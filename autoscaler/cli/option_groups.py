"""Commands with many options: each group is a dataclass, with what it means beside it."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class GroupedCommand:
    """A command for Typer whose options are the fields of some dataclasses.

    Parameters
    ----------
    run
        Is handed one value of each group, in the order of the groups.
    groups
        Dataclasses whose fields have an ``Annotated`` type and a default.
    """

    def __init__(self, run: Callable[..., None], *groups: "type[DataclassInstance]") -> None:
        self._run = run
        self._groups = {group: [field.name for field in fields(group)] for group in groups}
        parameters = [parameter for group in groups for parameter in _parameters(group)]
        # Where Typer looks for what a function takes.
        self.__signature__ = Signature(parameters)
        self.__annotations__ = {p.name: p.annotation for p in parameters}
        self.__name__, self.__doc__ = run.__name__, run.__doc__

    def __call__(self, **given: object) -> None:
        """Run the command with what the command line says."""
        values = []
        for group, names in self._groups.items():
            make: Callable[..., object] = group
            values.append(make(**{name: given[name] for name in names}))
        self._run(*values)


def _parameters(group: "type[DataclassInstance]") -> list[Parameter]:
    hints: Mapping[str, object] = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
