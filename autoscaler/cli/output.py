"""How results are printed: one document, five forms.

A command makes one JSON document; tables are drawn from that same document, so
the forms cannot disagree.
"""

import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import typer
import yaml
from rich import box
from rich.console import Console
from rich.table import Table

from autoscaler.domain.errors import ConfigError

Document = Mapping[str, object]


class Form(StrEnum):
    """Value of ``-o``."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


FORM_OPTION = typer.Option("--output", "-o", help="Form of the output.", show_default=True)


def console(stderr: bool = False) -> Console:
    """Return a console with color on a terminal only, unless NO_COLOR forbids it."""
    stream = sys.stderr if stderr else sys.stdout
    # A pipe has no width; a fixed one keeps tables whole instead of folding them at 80.
    width = shutil.get_terminal_size().columns if stream.isatty() else 200
    plain = not stream.isatty() or bool(os.environ.get("NO_COLOR"))
    # Messages carry paths such as containers[0], which are no markup, and names of files
    # such as :bomb:.csv, which are no picture.
    return Console(
        file=stream,
        width=width,
        no_color=plain,
        highlight=False,
        soft_wrap=plain,
        markup=False,
        emoji=False,
    )


def emit(
    document: Document,
    form: Form,
    *,
    draw: Callable[[Console, bool], None],
    names: Sequence[str] = (),
) -> None:
    """Print a document in one form; ``draw`` takes the console and whether to be wide."""
    if form is Form.JSON:
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    elif form is Form.YAML:
        sys.stdout.write(yaml.safe_dump(plain(document), sort_keys=False, width=120))
    elif form is Form.NAME:
        sys.stdout.write("".join(f"{name}\n" for name in names))
    else:
        draw(console(), form is Form.WIDE)


def plain(document: Document) -> object:
    """Return a document made of nothing but JSON's own types."""
    return json.loads(json.dumps(document))


def table(*columns: str, title: str = "", right: Sequence[str] = ()) -> Table:
    """Return an empty table in the house style; ``right`` names right-aligned columns."""
    made = Table(
        title=title or None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        pad_edge=False,
        show_edge=False,
    )
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def section(out: Console, drawn: Table) -> None:
    """Print a table apart from what is above it."""
    out.print()
    out.print(drawn)


def text_of(renderable: object, width: int = 120) -> str:
    """Return what a table or panel looks like as plain text."""
    target = io.StringIO()
    Console(file=target, width=width, no_color=True, highlight=False).print(renderable)
    return target.getvalue()


def amount_text(amount: float) -> str:
    """Return slice-seconds, whole, with thousands apart."""
    return f"{round(amount) or 0:,}"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return profile counts as people write them: ``2x1g.5gb 1x3g.20gb``."""
    return " ".join(f"{number}x{name}" for name, number in counts.items()) or "-"


def write_file(path: Path, text: str) -> None:
    """Write a file; ConfigError when that cannot be done."""
    try:
        # Names of files need not be text, and reports name files.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
