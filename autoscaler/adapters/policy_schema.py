"""The JSON schemas of policy files and plans, generated from their models.

``python -m autoscaler.adapters.policy_schema docs`` writes them.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from autoscaler.domain.plan.plan_document import PlanDocument
from autoscaler.domain.policy.policy import Policy

Schema = dict[str, Any]  # Any: the form of a JSON schema
DIALECT = "https://json-schema.org/draft/2020-12/schema"
MODELS: dict[str, type[BaseModel]] = {
    "plan.schema.json": PlanDocument,
    "policy.schema.json": Policy,
}


def render_schema(model: type[BaseModel]) -> str:
    """Return the schema of a model as text, the same on every run."""
    schema = _tidy(model.model_json_schema(by_alias=True))
    schema = {"$schema": DIALECT, "title": model.__name__, **schema}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _tidy(schema: Schema) -> Schema:
    """Return a schema for readers: no titles of fields, no null, descriptions in one line."""
    tidy: Schema = {}
    for key, value in _without_null(schema).items():
        if key == "title" and isinstance(value, str):
            continue
        if key == "description" and isinstance(value, str):
            tidy[key] = " ".join(value.split())
        elif key == "default" and isinstance(value, dict):
            tidy[key] = {name: part for name, part in value.items() if part is not None}
        else:
            tidy[key] = _tidy_value(value)
    return tidy


def _tidy_value(value: object) -> object:
    if isinstance(value, dict):
        return _tidy(value)
    return [_tidy_value(item) for item in value] if isinstance(value, list) else value


def _without_null(schema: Schema) -> Schema:
    """Return a schema without null where it only means that a key is absent."""
    forms = schema.get("anyOf")
    if not isinstance(forms, list) or schema.get("default", "other") is not None:
        return schema
    rest = [form for form in forms if form != {"type": "null"}]
    outer = {key: value for key, value in schema.items() if key not in {"anyOf", "default"}}
    return {**(rest[0] if len(rest) == 1 else {"anyOf": rest}), **outer}


def main(arguments: list[str]) -> int:
    """Write all schemas into a folder."""
    for name, model in MODELS.items():
        Path(arguments[0], name).write_text(render_schema(model), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
