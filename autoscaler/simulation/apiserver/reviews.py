"""Access reviews: questions that are answered and not stored."""

from collections.abc import Mapping

from autoscaler.ports import Kind, RawObject
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.apiserver.resources import (
    ACCESS_REVIEWS,
    RULES_REVIEWS,
    SELF_REVIEWS,
    api_version_of,
)

_EVERYTHING = ["*"]

_ANSWERS: Mapping[Kind, RawObject] = {
    ACCESS_REVIEWS: {
        "allowed": True,
        "reason": "the simulated API server knows no access rules",
    },
    RULES_REVIEWS: {
        "incomplete": False,
        "resourceRules": [
            {"verbs": _EVERYTHING, "apiGroups": _EVERYTHING, "resources": _EVERYTHING}
        ],
        "nonResourceRules": [{"verbs": _EVERYTHING, "nonResourceURLs": _EVERYTHING}],
    },
    SELF_REVIEWS: {"userInfo": {"username": "anyone", "groups": ["system:authenticated"]}},
}


def answer(request: Request) -> RawObject:
    """Answer a review: everybody may do everything here."""
    kind = request.kind
    return {
        **(request.body or {}),
        "apiVersion": api_version_of(kind),
        "kind": kind.name,
        "metadata": {"creationTimestamp": None},
        "status": _ANSWERS[kind],
    }
