"""Prices of changes: what nobody can use while a node is closed, and how much must be won."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.planning.program.cost import NOTHING, Cost
from autoscaler.planning.program.departure import Emptying
from autoscaler.planning.program.margin import Margins
from autoscaler.planning.program.units import free_of
from autoscaler.planning.program.worth import Worth

# Of what is free and nobody waits for, so much counts as lost while it is out of service:
# hardly ever does anybody come for it just then. Measured: at full price GPUs that are
# idle for a while stay as they are, and the next flood finds them cut for the last one.
IDLE_SHARE = 0.25


@dataclass(slots=True)
class Prices:
    """Prices of one moment.

    Parameters
    ----------
    out_of_service_s
        Seconds from the cordon until a changed node is settled, by pool.
    needs
        How many instances of a name anything can use at most.
    shares
        Share of a zone's free instances that waiting requests would use if the zone
        stays open, by zone and name; 0 where absent.
    worth
        Compute slices of what is free, and of which pools the past is known: of others
        nobody knows how soon somebody comes, so what is free counts in full.
    margins
        How many times its cost a change must gain.
    """

    out_of_service_s: Mapping[str, float]
    needs: Counts
    shares: Mapping[tuple[int, str], float]
    worth: Worth
    margins: Margins
    _supplies: dict[Counts, Counts] = field(default_factory=dict)
    _spare: dict[tuple[str, Counts, Counts], tuple[int, Counts]] = field(default_factory=dict)

    def supply(self, counts: Counts) -> Counts:
        """Return what a GPU with these instances offers, by resource name."""
        if counts not in self._supplies:
            self._supplies[counts] = supply_of([counts])
        return self._supplies[counts]

    def of_gpu(
        self, gpu: Gpu, node: FleetNode, zone: int, emptying: Emptying | None = None
    ) -> Cost:
        """Return the price of re-cutting a GPU of a node that is closed anyway.

        Its slices that nobody holds are out of service, and those of its holders from
        when they are gone. Those of its free instances that waiting requests would use
        are in the price of closing the node already, and of the others a share counts.
        """
        if node.model is None:
            return NOTHING
        closed_s = self.out_of_service_s[node.pool]
        left, supply = self._left(gpu, node.model)
        share = IDLE_SHARE if self.worth.knows(node.pool) else 1.0
        free = share * max(0.0, left - self._used_slices(supply, zone))
        margin = self.margins.of_gpu(node.name, gpu.index)
        if emptying is None:
            return Cost(out_of_service=closed_s * free).with_margin(margin)
        slices = {p.name: p.compute_slices for p in node.model.profiles}
        leaving = sum(slices.get(n, 0) * number for n, number in emptying.leaving.items())
        wait_s, chance = emptying.drain.wait_s, emptying.drain.chance
        elsewhere = self.of_closing(node, zone).out_of_service / closed_s
        waited = wait_s * (free + elsewhere) + emptying.idle_slice_s
        # Of several attempts one succeeds, and each of them waits.
        out = closed_s * (free + leaving) + waited / chance
        return Cost(out_of_service=out).plus(emptying.cost).with_margin(margin)

    def _left(self, gpu: Gpu, model: GpuModel) -> tuple[int, Counts]:
        """Return the slices that nobody holds, and the free instances among them."""
        key = (model.key, gpu.counts, gpu.held)
        if key not in self._spare:
            slices = {p.name: p.compute_slices for p in model.profiles}
            held = sum(slices.get(name, 0) * number for name, number in gpu.held.items())
            left = max(0, model.compute_slices - held)
            self._spare[key] = left, self.supply(gpu.counts.minus(gpu.held))
        return self._spare[key]

    def of_closing(self, node: FleetNode, zone: int) -> Cost:
        """Return the price of closing a node: what waiting requests would use there."""
        if node.strategy is Strategy.SINGLE:
            # All its GPUs change, and the price of that says what nobody can use.
            return NOTHING
        free = Counts({n: k for n, k in free_of(node).items() if self.needs[n]})
        closed_s = self.out_of_service_s[node.pool]
        cost = Cost(out_of_service=closed_s * self._used_slices(free, zone))
        return cost.with_margin(self.margins.usual)

    def of_whole_node(self, node: FleetNode) -> Cost:
        """Return the price of re-cutting all GPUs of a node that nobody uses."""
        slices = 0 if node.model is None else node.model.compute_slices * len(node.gpus)
        margins = [self.margins.of_gpu(node.name, gpu.index) for gpu in node.gpus]
        cost = Cost(out_of_service=self.out_of_service_s[node.pool] * slices)
        return cost.with_margin(max(margins, default=self.margins.usual))

    def _used_slices(self, free: Counts, zone: int) -> float:
        return sum(
            self.shares.get((zone, name), 0.0) * self.worth.slices_of(name) * number
            for name, number in free.items()
        )
