"""The policy that studies use unless told otherwise: nothing but worth holds back."""

import json

from autoscaler.domain.policy.policy import Policy

UNTHROTTLED = {
    "apiVersion": "mig-autoscaler.io/v1alpha1",
    "kind": "MigPolicy",
    "metadata": {"name": "unthrottled"},
    "mode": "auto",
    "pools": [
        {"name": "all", "nodeSelector": {"nvidia.com/gpu.present": "true"}, "driver": "agent"}
    ],
    "demand": {"pending": {"minAge": "0s"}},
    "disruption": {"budgets": {"nodes": "100%", "perHour": 1_000_000}, "cooldown": "0s"},
    "planning": {
        "minGain": 1,
        "undoGain": 1,
        "undoWithin": "0s",
        "persistence": "0s",
        "persistenceLooks": 1,
        "past": {"history": "21d", "minHistory": "1d"},
    },
    "rollout": {"warmUp": "1s"},
}


def unthrottled() -> Policy:
    """Return the policy; ``simulations/policies/unthrottled.yaml`` says the same."""
    return Policy.model_validate_json(json.dumps(UNTHROTTLED))
