"""The schemas in docs/ are those of the models, and agree with them."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from autoscaler.adapters.policy_schema import MODELS, render_schema

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_schema_in_docs_is_up_to_date(name):
    """Write it with `python -m autoscaler.adapters.policy_schema docs`."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == render_schema(MODELS[name])


def policy_schema():
    """Return the schema of policy files."""
    return json.loads((ROOT / "docs" / "policy.schema.json").read_text(encoding="utf-8"))


def test_every_key_is_described_and_every_default_has_a_reason():
    """A description for each; where there is a default of its own, the word too."""
    schema = policy_schema()
    for place in (schema, *schema["$defs"].values()):
        for key, field in place.get("properties", {}).items():
            assert "description" in field or "$ref" in field, key
            if "default" in field and "$ref" not in field:
                assert "Default: " in field["description"], key


@pytest.mark.parametrize(
    "path", sorted((ROOT / "policies").glob("*.yaml")), ids=lambda p: p.name
)
def test_the_examples_fit_the_schema(path):
    """As an editor that knows the schema would say."""
    content = json.loads(json.dumps(YAML(typ="safe", pure=True).load(path), default=str))
    Draft202012Validator.check_schema(policy_schema())
    assert list(Draft202012Validator(policy_schema()).iter_errors(content)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"mode": "of"},
        {"windows": []},
        {"disruption": {"cooldown": 30}},
        {"disruption": {"cooldown": "30"}},
        {"disruption": {"windows": None}},
        {"disruption": {"budgets": {"nodes": "110%"}}},
        {"pools": []},
        {"pools": [{"name": "a", "driver": "hand"}]},
        {"pools": [{"name": "a b"}]},
        {"priorities": {"high": 0}},
    ],
)
def test_the_schema_refuses_what_the_model_refuses(change):
    """The form at least; what is known only to code is not in a schema."""
    content = {
        "apiVersion": "mig-autoscaler.io/v1alpha1",
        "kind": "MigPolicy",
        "metadata": {"name": "x"},
        "pools": [{"name": "a"}],
    }
    assert Draft202012Validator(policy_schema()).is_valid(content)
    assert not Draft202012Validator(policy_schema()).is_valid({**content, **change})
