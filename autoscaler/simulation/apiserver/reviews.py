"""Access reviews: questions that are answered and not stored."""

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.apiserver.resources import api_version_of


def answer(request: Request) -> RawObject:
    """Answer a review: everybody may do everything here."""
    kind = request.kind
    return {
        **(request.body or {}),
        "apiVersion": api_version_of(kind),
        "kind": kind.name,
        "metadata": {"creationTimestamp": None},
        "status": {"allowed": True, "reason": "the simulated API server knows no access rules"},
    }
