"""Runs the command as a shell would, in this process."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autoscaler.cli.main import main
from tests.dumps import AT


@dataclass(frozen=True)
class Result:
    """Exit code and output of one run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document of ``-o json``."""
        return json.loads(self.out)


class Shell:
    """Runs commands; a traceback is a failure of whatever test met it."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def run(self, *arguments: str) -> Result:
        """Run one command line."""
        self._capsys.readouterr()
        code = main(list(arguments))
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        return Result(code, out, err)

    def plan(self, *files: str, policy: str = "", at: str = AT, options: str = "") -> Result:
        """Run a dry run on files with its result as JSON."""
        given = [part for file in files for part in ("--from", file)]
        given += ["--policy", policy] if policy else []
        return self.run("plan", *given, "--at", at, "-o", "json", *options.split())


def write_policy(folder: Path, *lines: str, name: str = "policy.yaml") -> str:
    """Write a policy file of one A100 pool and some more lines; return the path."""
    path = folder / name
    head = (
        "apiVersion: mig-autoscaler.io/v1alpha1",
        "kind: MigPolicy",
        "metadata: {name: test}",
    )
    pools = (
        "pools:",
        "  - name: a100",
        "    nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}",
    )
    path.write_text("\n".join((*head, *pools, *lines)) + "\n")
    return str(path)
