"""What a cycle reaches beyond itself, handed in by whoever wires the parts."""

from dataclasses import dataclass

from autoscaler.ports import Clock, ClusterApi, Metrics


@dataclass(frozen=True, slots=True)
class Outside:
    """The ports of one replica.

    Parameters
    ----------
    metrics
        ``None`` when no Prometheus is configured.
    identity
        Who we are, different for every process.
    namespace
        Where our Lease and our status are kept.
    """

    cluster: ClusterApi
    clock: Clock
    metrics: Metrics | None = None
    identity: str = "mig-autoscaler"
    namespace: str = "mig-autoscaler"
