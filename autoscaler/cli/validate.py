"""``validate``: whether policy files are right, and where they are not."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from autoscaler.adapters.policy_file import load_policy
from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.output import FORM_OPTION, Form, emit
from autoscaler.domain.errors import ConfigError


def validate_files(
    files: Annotated[list[Path], typer.Argument(help="Policy files.", metavar="FILE...")],
    form: Annotated[Form, FORM_OPTION] = Form.TABLE,
) -> int:
    """Check policy files; errors name file, line, column and key."""
    results = [_check(file) for file in files]
    valid = [str(result["file"]) for result in results if result["valid"]]
    emit(
        {"files": results},
        form,
        draw=lambda out, _: _draw(out, results),
        names=valid,
    )
    return ExitCode.OK if len(valid) == len(results) else ExitCode.INPUT


def _check(file: Path) -> dict[str, object]:
    found: dict[str, object] = {"file": str(file), "valid": True, "warnings": [], "errors": []}
    try:
        loaded = load_policy(file)
    except ConfigError as error:
        return found | {"valid": False, "errors": str(error).splitlines()}
    return found | {"warnings": list(loaded.warnings), "policy": loaded.policy.metadata.name}


def _draw(out: Console, results: list[dict[str, object]]) -> None:
    for result in results:
        for kind in ("errors", "warnings"):
            lines = result[kind]
            if isinstance(lines, list):
                sys.stderr.writelines(f"{kind[:-1]}: {line}\n" for line in lines)
        if result["valid"]:
            out.print(f"{result['file']}: valid")
