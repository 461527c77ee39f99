"""The policies of the evaluation's rows that differ from the one of all other studies."""

from autoscaler.adapters.default_policy import default_policy_text
from autoscaler.adapters.policy_file import parse_policy
from autoscaler.domain.policy.policy import Mode, Policy
from autoscaler.domain.policy.schedule import DailySpan
from autoscaler.simulation.study.unthrottled import unthrottled

# The other end of the trade; 0 is what all other rows have.
FAIRNESS = 1.0


def nightly() -> Policy:
    """Return the policy; ``simulations/policies/nightly.yaml`` says the same."""
    own = unthrottled()
    hours = DailySpan.model_validate({"start": "01:00", "end": "03:00"})
    disruption = own.disruption.model_copy(
        update={"windows": (hours,), "outside_windows": "idle"}
    )
    metadata = own.metadata.model_copy(update={"name": "nightly"})
    return own.model_copy(update={"disruption": disruption, "metadata": metadata})


def fair() -> Policy:
    """Return the policy of other studies with requests that count more as they wait."""
    own = unthrottled()
    metadata = own.metadata.model_copy(update={"name": "fair"})
    planning = own.planning.model_copy(update={"fairness": FAIRNESS})
    return own.model_copy(update={"planning": planning, "metadata": metadata})


def default_in_force() -> Policy:
    """Return the default policy as people get it, but for its mode: it may act."""
    policy = parse_policy(default_policy_text(), "default.yaml").policy
    return policy.model_copy(update={"mode": Mode.AUTO})
