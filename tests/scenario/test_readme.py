"""What the README shows is what the commands print."""

import re
import shlex
from pathlib import Path

import pytest

from autoscaler.cli.main import main
from tools.output import recorded

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def timeless(text: str) -> str:
    """Return output without the one figure that is a clock's."""
    lines = (line.rstrip() for line in text.strip("\n").splitlines())
    return re.sub(r"after \d+\.\d+ s", "after - s", "\n".join(lines))


def test_the_plan_in_the_readme_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first plan of a newcomer, to the letter."""
    monkeypatch.chdir(ROOT)
    (line,) = re.findall(r"\$ mig-autoscaler (plan --from docs.*)", README)
    assert main(shlex.split(line)) == 0
    assert timeless(capsys.readouterr().out) == timeless(recorded(README, "plan"))


def test_all_places_that_the_readme_names_exist() -> None:
    """No link leads nowhere."""
    named = set(re.findall(r"`((?:docs|deploy|policies|benchmarks)/[\w./-]*)`", README))
    assert named
    assert [place for place in sorted(named) if not (ROOT / place).exists()] == []
