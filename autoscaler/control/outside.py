"""What a cycle reaches beyond itself, handed in by whoever wires the parts."""

from dataclasses import dataclass

from autoscaler.domain.cluster.objects import MetricsView
from autoscaler.domain.errors import AutoscalerError
from autoscaler.planning.program.optimizer import Guard
from autoscaler.ports import Clock, ClusterApi, Metrics, PastDemand

# Sentences of a gap that are worth repeating.
NOTICES = 3


@dataclass(frozen=True, slots=True)
class Outside:
    """The ports of one replica.

    Parameters
    ----------
    metrics, history
        ``None`` when no Prometheus is configured.
    guard
        Runs the solver where a wall clock may end it; ``None`` for no such limit.
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
    history: PastDemand | None = None
    guard: Guard | None = None


def observe_metrics(outside: Outside) -> tuple[MetricsView | None, str]:
    """Return what Prometheus says, and the gap in it; a failure is only a gap."""
    if outside.metrics is None:
        return None, "no Prometheus is configured"
    try:
        view = outside.metrics.observe()
    except AutoscalerError as error:
        return None, str(error)
    return view, "; ".join(view.notices[:NOTICES])
