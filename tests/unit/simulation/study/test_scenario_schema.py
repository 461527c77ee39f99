"""The schema in docs/ is that of scenario files, and agrees with those that are shipped."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from autoscaler.simulation.study.scenario_schema import NAME, main

ROOT = Path(__file__).parents[4]
SCENARIOS = sorted((ROOT / "simulations").glob("*.yaml"))


def test_the_schema_in_docs_is_up_to_date(tmp_path):
    """Write it with `make record`."""
    assert main([str(tmp_path)]) == 0
    assert (ROOT / "docs" / NAME).read_text() == (tmp_path / NAME).read_text()


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_shipped_scenarios_are_valid_by_the_schema(path):
    """Editors that know the schema find nothing wrong with them."""
    schema = json.loads((ROOT / "docs" / NAME).read_text())
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)


@pytest.mark.parametrize("wrong", [{"fleets": {}}, {"fleet": {"loads": [0]}}, {"driver": "x"}])
def test_the_schema_refuses_what_the_command_refuses(wrong):
    """Unknown keys, impossible values."""
    schema = json.loads((ROOT / "docs" / NAME).read_text())
    good = yaml.safe_load(SCENARIOS[0].read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**good, **wrong}, schema)
