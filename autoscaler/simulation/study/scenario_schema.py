"""The JSON schema of scenario files: ``python -m autoscaler.simulation.study.scenario_schema``.

It is told the folder to write it into.
"""

import sys
from pathlib import Path

from autoscaler.adapters.policy_schema import render_schema
from autoscaler.simulation.study.scenario_form import Scenario

NAME = "scenario.schema.json"


def main(arguments: list[str]) -> int:
    """Write the schema into a folder."""
    Path(arguments[0], NAME).write_text(render_schema(Scenario), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
