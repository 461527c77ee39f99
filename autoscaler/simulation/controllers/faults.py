"""What is to go wrong, and where; switched on and off by scripts at any time.

A fault is a state of the world, not an event: it holds from when it is set until it is
cleared, and the controllers ask for it where it would matter.
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Faults:
    """All faults of the simulated cluster, by node unless said otherwise.

    Parameters
    ----------
    stuck_pods
        Pods (``namespace/name``) that do not end when they are told to.
    stuck_operands
        Pairs of node and application whose pods do not end: what wedges a change.
    no_discovery
        Nodes where feature discovery publishes nothing.
    no_plugin
        Nodes where the device plugin does not start.
    unhealthy_gpus
        Pairs of node and GPU index whose devices a starting plugin finds unhealthy.
    silent_exporters
        Nodes whose DCGM exporter does not answer.
    frozen_mounts
        Nodes whose mounted ConfigMap is not refreshed.
    not_ready
        Nodes whose kubelet does not answer.
    fold_media
        Nodes whose plugin advertises ``+me`` instances under the plain name.
    silent_agents
        Nodes whose node agent does not run.
    scrape_gaps
        Jobs of Prometheus that are not scraped.
    """

    stuck_pods: set[str] = field(default_factory=set)
    stuck_operands: set[tuple[str, str]] = field(default_factory=set)
    no_discovery: set[str] = field(default_factory=set)
    no_plugin: set[str] = field(default_factory=set)
    unhealthy_gpus: set[tuple[str, int]] = field(default_factory=set)
    silent_exporters: set[str] = field(default_factory=set)
    frozen_mounts: set[str] = field(default_factory=set)
    not_ready: set[str] = field(default_factory=set)
    fold_media: set[str] = field(default_factory=set)
    silent_agents: set[str] = field(default_factory=set)
    scrape_gaps: set[str] = field(default_factory=set)
