"""How long things take in the embedded cluster.

Every duration is a span and is drawn from a seed and the names of what it is about,
never from a running generator: so a run does not change its delays because some other
node was asked first.
"""

from dataclasses import dataclass
from hashlib import blake2b

_DRAW_BITS = 64


def draw_fraction(seed: int, *key: object) -> float:
    """Return a number in [0, 1) that depends on the seed and the key alone."""
    text = "\x1f".join(str(part) for part in (seed, *key))
    digest = blake2b(text.encode(), digest_size=_DRAW_BITS // 8).digest()
    return int.from_bytes(digest, "big") / 2.0**_DRAW_BITS


@dataclass(frozen=True, slots=True)
class Span:
    """A duration between two bounds, in seconds."""

    low_s: float
    high_s: float

    def __post_init__(self) -> None:
        if not 0 <= self.low_s <= self.high_s:
            raise ValueError(f"not a span of time: {self.low_s} to {self.high_s} s")

    def draw(self, seed: int, *key: object) -> float:
        """Return a duration in whole milliseconds, the same for the same seed and key."""
        width = self.high_s - self.low_s
        return round(self.low_s + width * draw_fraction(seed, *key), 3)


@dataclass(frozen=True, slots=True)
class Timing:
    """All durations of the simulated cluster.

    Those of the MIG manager are bounds read from its code where there are any, and
    otherwise chosen so that a change takes one to three minutes, as in practice.
    """

    seed: int = 0
    pod_start: Span = Span(0.5, 2.0)
    """From binding to running, with the image on the node."""
    pod_stop: Span = Span(0.5, 2.0)
    """From the deletion mark to the end of a pod that heeds the signal."""
    operand_start: Span = Span(4.0, 10.0)
    """From creation of an operand's pod to the moment it serves."""
    operand_stop: Span = Span(2.0, 12.0)
    """From the deletion mark of an operand's pod to its end."""
    daemon_set: Span = Span(0.2, 1.0)
    """From a change of the node to the DaemonSet controller's answer."""
    node_status: Span = Span(0.5, 10.0)
    """From a change of the device list to the node status that shows it."""
    endpoint_grace_s: float = 300.0
    """How long kubelet keeps the capacity of a device plugin that stopped."""
    plugin_retry_s: float = 30.0
    """Pause between two attempts of a device plugin that cannot start."""
    features: Span = Span(1.0, 6.0)
    """From a change of what feature discovery knows to the labels of the node."""
    config_tick: Span = Span(60.0, 90.0)
    """Period of kubelet's refresh of mounted ConfigMaps; each node has its own."""
    manager_check: Span = Span(1.0, 3.0)
    """Validation and comparison of a configuration by the MIG manager."""
    manager_poll_s: float = 1.0
    """How often the MIG manager looks whether a pod is gone."""
    manager_pod_wait_s: float = 300.0
    """How long the MIG manager waits for the pods of one application to end."""
    destroy: Span = Span(0.8, 1.5)
    """Destruction of one GPU instance."""
    create: Span = Span(0.8, 2.0)
    """Creation of one GPU instance with its compute instance."""
    mode_change: Span = Span(20.0, 40.0)
    """Change of the MIG mode, with the reset where one is needed."""
    device_nodes: Span = Span(4.0, 12.0)
    """Device nodes and the device description file after instances changed."""
    binding: Span = Span(0.0, 0.0)
    """From the scheduler's choice of a node to the binding: a cordon may come between."""
    agent: Span = Span(0.2, 1.5)
    """From a change of its node to the node agent's look at it."""
    scheduler_backoff_s: float = 1.0
    """First pause before an unschedulable pod is tried again; doubles to ten seconds."""
    controller: Span = Span(0.05, 0.3)
    """Answer of a controller of the control plane, e.g. a replacement pod."""
