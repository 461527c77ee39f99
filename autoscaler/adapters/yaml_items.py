"""Reads YAML as ``kubectl get -o yaml`` writes it, several documents in one text.

PyYAML follows YAML 1.1, where ``no`` is false, ``012`` is ten and ``22:00`` a number.
Go's writer puts quotes around what is text by its own rules, so all that stands
without quotes and is no null, true, false or plain whole number stays text here.
"""

import re
from collections.abc import Callable, Iterator

import yaml

PLAIN_TYPES = (
    ("tag:yaml.org,2002:null", re.compile(r"~|null|Null|NULL|"), ("~", "n", "N", "")),
    ("tag:yaml.org,2002:bool", re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
    ("tag:yaml.org,2002:int", re.compile(r"-?(0|[1-9][0-9]*)"), "-0123456789"),
)


def documents_in(text: str) -> Iterator[object]:
    """Yield each document that is not empty; yaml.YAMLError when it is no YAML."""
    loader = yaml.CSafeLoader(text)
    try:
        # Set on this loader only: the class is everybody's.
        loader.yaml_implicit_resolvers = _resolvers()
        has_more: Callable[[], bool] = loader.check_data
        while has_more():
            document = loader.get_data()
            if document is not None:
                yield document
    finally:
        loader.dispose()


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for tag, pattern, starts in PLAIN_TYPES:
        whole = re.compile(f"^(?:{pattern.pattern})$")
        for start in starts:
            resolvers.setdefault(start, []).append((tag, whole))
    return resolvers
