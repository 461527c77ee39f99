"""What Prometheus would say of the embedded cluster's instances, read straight from it.

A study asks each half minute for weeks; the way over exporters, scrapes and queries is
the demo's and the tests' business. Samples are as old as the last scrape, as there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import floor

from autoscaler.domain.cluster.objects import InstanceSample, MetricsView, PodRef
from autoscaler.ports import PODS, RawObject
from autoscaler.simulation.controllers.pods import name_of, namespace_of, phase_of, uid_of
from autoscaler.simulation.hardware import Instance, SimulatedGpu
from autoscaler.simulation.world import World

SCRAPE_S = 15.0


@dataclass(frozen=True, slots=True)
class SeenMetrics:
    """Implements the loop's port of metrics.

    Parameters
    ----------
    world
        The cluster that is looked at.
    """

    world: World

    def observe(self) -> MetricsView:
        """Return who holds which instance, as of the last scrape."""
        now_s = self.world.clock.now_s()
        sampled_at_s = floor(now_s / SCRAPE_S) * SCRAPE_S
        pods = {
            uid_of(pod): pod for pod in self.world.platform.informers.of(PODS).objects.values()
        }
        samples = (
            self._sample(gpu, instance, pods, sampled_at_s)
            for node in self.world.fleet.names
            for gpu in self.world.hardware.gpus(node)
            for instance in gpu.instances or (None,)
        )
        return MetricsView(now_s, tuple(samples))

    def holders_since(self, node: str, since_s: float) -> MetricsView:
        """Return samples of one node, as far as they are newer."""
        view = self.observe()
        return replace(view, instances=tuple(_newer(view, node, since_s)))

    def _sample(
        self,
        gpu: SimulatedGpu,
        instance: Instance | None,
        pods: dict[str, RawObject],
        sampled_at_s: float,
    ) -> InstanceSample:
        device = gpu.uuid if instance is None else instance.uuid
        holder = pods.get(self.world.devices.of(gpu.node).holder_of(device) or "")
        return InstanceSample(
            node=gpu.node,
            gpu_uuid=gpu.uuid,
            gpu_index=gpu.index,
            instance_id="" if instance is None else str(instance.id),
            profile="" if instance is None else instance.profile,
            busy=holder is not None and phase_of(holder) == "Running",
            sampled_at_s=sampled_at_s,
            pod=None if holder is None else PodRef(namespace_of(holder), name_of(holder)),
        )


def _newer(view: MetricsView, node: str, since_s: float) -> Iterator[InstanceSample]:
    for sample in view.instances:
        sampled_at_s = sample.sampled_at_s
        if sample.node == node and sampled_at_s is not None and sampled_at_s >= since_s:
            yield sample
