"""The only place that knows every layer: it builds adapters and hands them in.

Clients of outside systems are imported where they are needed: a dry run on files must
not wait for a Kubernetes client that it does not use.
"""

import os
import socket
import uuid
from dataclasses import dataclass

import typer

from autoscaler.adapters.clock import SystemClock
from autoscaler.adapters.default_policy import default_policy_for
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.mig.resource import GPU, resource_name
from autoscaler.domain.policy.policy import Policy
from autoscaler.ports import Clock, ClusterApi, Metrics, ObjectClient, PastDemand

KUBECONFIG_OPTION = typer.Option(
    help="Kubeconfig file; default: the pod's service account, else the user's own.",
    rich_help_panel="Cluster",
)
CONTEXT_OPTION = typer.Option(help="Context of the kubeconfig.", rich_help_panel="Cluster")
NAMESPACE_OPTION = typer.Option(
    help="Namespace of the autoscaler's own status and Lease.", rich_help_panel="Cluster"
)
NAMESPACE = "mig-autoscaler"


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach the cluster; ``None`` means what kubectl would take."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None


DEFAULT_ACCESS = Access()


def own_namespace(given: str | None = None) -> str:
    """Return the namespace of our status and Lease: that of our pod, if we run in one."""
    return given or os.environ.get("POD_NAMESPACE") or NAMESPACE


def own_identity() -> str:
    """Return a name that no other process has."""
    name = os.environ.get("POD_NAME") or socket.gethostname()
    return f"{name}-{uuid.uuid4().hex[:8]}"


def connect_client(access: Access, clock: Clock) -> ObjectClient:
    """Return a client of raw objects; ConfigError when there is nothing to connect to."""
    from autoscaler.adapters.kubernetes.credentials import connect
    from autoscaler.adapters.kubernetes.http import HttpObjectClient

    return HttpObjectClient(connect(access.kubeconfig, access.context), clock)


def cluster_of(
    client: ObjectClient, policy: Policy, clock: Clock, namespace: str | None = None
) -> ClusterApi:
    """Return the cluster port for a policy, which says where MIG manager lives."""
    from autoscaler.adapters.kubernetes.cluster import ClusterSettings, KubernetesCluster

    settings = ClusterSettings(
        operator_namespace=policy.mig_manager.namespace,
        config_map=policy.mig_manager.config_map,
        namespace=own_namespace(namespace),
        reads_announcements=policy.demand.peaks.annotations,
    )
    return KubernetesCluster(client, clock, settings)


def connect_cluster(access: Access) -> ClusterApi:
    """Return the cluster port for commands that need no policy."""
    clock = SystemClock()
    client = connect_client(access, clock)
    return cluster_of(client, default_policy_for(()), clock, access.namespace)


def metrics_of(policy: Policy, clock: Clock) -> Metrics | None:
    """Return the metrics port that a policy asks for; ``None`` without Prometheus."""
    if policy.prometheus is None:
        return None
    from autoscaler.adapters.prometheus.metrics import PrometheusMetrics

    return PrometheusMetrics(policy.prometheus, clock, known_resources)


def history_of(policy: Policy, clock: Clock) -> PastDemand | None:
    """Return the past that a policy's Prometheus knows; ``None`` without one."""
    if policy.prometheus is None:
        return None
    from autoscaler.adapters.prometheus.history import PrometheusPast

    return PrometheusPast(policy.prometheus, clock)


def known_resources() -> tuple[str, ...]:
    """Return every resource name that a GPU can be advertised under.

    Metrics carry them with other characters, so they are matched from these forward.
    """
    names = {resource_name(p.name) for model in load_models() for p in model.profiles}
    return GPU, *sorted(names)


def system_clock() -> Clock:
    """Return real time."""
    return SystemClock()
