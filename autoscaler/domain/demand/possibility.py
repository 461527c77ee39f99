"""Possibility: which nodes could ever offer what a pod needs, under any layout.

A pod that no layout of the fleet can serve is told so once, with the nearest thing it
could ask for instead; it never pulls at plans, however long it waits.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.eligibility import Eligibility, Needs
from autoscaler.domain.demand.impossibility import why_impossible
from autoscaler.domain.demand.product import may_change, selects_product, takers, units_in
from autoscaler.domain.fleet.hardware import fewest_boards
from autoscaler.domain.fleet.seating import folds
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import GPU, is_shared, parse_resource, plain_profile
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.pool import Pool
from autoscaler.domain.reasons import Reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where a pod could be served.

    Parameters
    ----------
    eligible
        Names of nodes; empty when it is impossible.
    reason, message
        Why it is impossible.
    unit
        Profile that ``nvidia.com/gpu`` must be there; empty where any will do.
    """

    eligible: frozenset[str] = frozenset()
    reason: Reason = Reason.NO_ELIGIBLE_NODE
    message: str = ""
    unit: str = ""


class Possibilities:
    """The nodes of one moment and what each could be made to offer.

    Parameters
    ----------
    snapshot
        The fleet.
    pools
        Which profiles each pool may hold.
    taken
        CPU and memory that pods without GPUs take, by node name.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        pools: Iterable[Pool],
        taken: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        everyone = (*snapshot.nodes, *snapshot.outsiders)
        gone = [n for n in everyone if _is_gone(n)]
        left = [n for n in everyone if not _is_gone(n)]
        self._nodes: Mapping[str, FleetNode] = {n.name: n for n in left}
        self._num_gone = len(gone)
        self._pools = {pool.name: pool for pool in pools}
        self._eligibility = Eligibility(left, taken)
        self._changing = [node for node in left if may_change(node)]
        self._objections: dict[tuple[str, str], Reason | None] = {}
        self._verdicts: dict[tuple[Counts, Needs], Verdict] = {}

    def judge(self, bundle: Counts, needs: Needs) -> Verdict:
        """Return where a pod with this bundle could be served."""
        key = (bundle, needs)
        if key not in self._verdicts:
            self._verdicts[key] = self._judge(bundle, needs)
        return self._verdicts[key]

    def _judge(self, bundle: Counts, needs: Needs) -> Verdict:
        placed, unit = self._eligibility.nodes_for(needs), ""
        if bundle[GPU] and self._changing and selects_product(needs):
            # Of nodes of one kind of instance, those count that could have the kind.
            steady = placed - {node.name for node in self._changing}
            unit, able = takers(needs, self._changing, self._pools, self._eligibility)
            placed, unit = (steady, "") if steady else (able, unit)
        if not placed:
            leaving = f"; {self._num_gone} more are leaving" if self._num_gone else ""
            text = f"{self._eligibility.explain(needs)}{leaving}"
            return Verdict(reason=Reason.NO_ELIGIBLE_NODE, message=text)
        offering = placed
        for resource in bundle:
            able = frozenset(n for n in placed if self._objection(n, resource) is None)
            if not able:
                return self._impossible(resource, placed)
            offering &= able
        large_enough = frozenset(n for n in offering if self._holds(n, bundle, unit))
        if not large_enough:
            text = f"no node it may run on can ever offer {bundle} at once"
            return Verdict(reason=Reason.BUNDLE_TOO_LARGE, message=text)
        return Verdict(large_enough, unit=unit)

    def _objection(self, name: str, resource: str) -> Reason | None:
        """Return why a node can never offer a resource, ``None`` when it can."""
        key = (name, resource)
        if key not in self._objections:
            self._objections[key] = self._objection_of(self._nodes[name], resource)
        return self._objections[key]

    def _objection_of(self, node: FleetNode, resource: str) -> Reason | None:
        coming = node.target_supply or Counts()
        if node.node.allocatable[resource] or node.node.capacity[resource] or coming[resource]:
            return None
        if node.model is None and node.pool:
            # Nothing is known of its GPUs, so nothing is impossible.
            return None
        if resource == GPU and may_change(node):
            return None
        if resource == GPU:
            return None if any(not g.mig_enabled for g in node.gpus) else Reason.WHOLE_GPU
        if is_shared(resource) or node.model is None or not node.pool:
            return Reason.IMPOSSIBLE_PROFILE
        return self._profile_objection(node, node.model, resource)

    def _profile_objection(
        self, node: FleetNode, model: GpuModel, resource: str
    ) -> Reason | None:
        profile = parse_resource(model, resource)
        # The device plugin writes no plus into a name, and no API server takes one.
        if profile is None or "+" in resource or node.strategy is not Strategy.MIXED:
            return Reason.IMPOSSIBLE_PROFILE
        if node.gpus and not any(gpu.mig_enabled for gpu in node.gpus):
            return Reason.MIG_OFF
        if profile != plain_profile(profile) and folds(node):
            return Reason.FOLDED_PROFILE
        allowed = self._pools[node.pool].profiles
        return None if allowed is None or profile in allowed else Reason.NOT_ALLOWED

    def _holds(self, name: str, bundle: Counts, unit: str) -> bool:
        """Say whether a node is large enough for all of a bundle at once."""
        node = self._nodes[name]
        coming = node.target_supply or Counts()
        if node.node.allocatable.covers(bundle) or coming.covers(bundle):
            return True
        if not node.pool:
            return False
        if node.model is None or not node.gpus:
            # Nothing is known of its GPUs, so nothing is impossible.
            return True
        if may_change(node):
            profiles = units_in(self._pools[node.pool], node.model)
            most = [p.max_instances for p in profiles if unit in {"", p.name}]
            return set(bundle) == {GPU} and bundle[GPU] <= len(node.gpus) * max(most, default=0)
        whole = sum(1 for gpu in node.gpus if not gpu.mig_enabled)
        counts = Counts(
            {
                parse_resource(node.model, resource) or resource: number
                for resource, number in bundle.items()
                if resource != GPU
            }
        )
        needed = fewest_boards(node.model, counts)
        return bundle[GPU] <= whole and needed <= len(node.gpus) - whole

    def _impossible(self, resource: str, placed: Iterable[str]) -> Verdict:
        nodes = [self._nodes[name] for name in sorted(placed)]
        reasons = frozenset(self._objection(node.name, resource) for node in nodes)
        reason, message = why_impossible(resource, nodes, reasons)
        return Verdict(reason=reason, message=message)


def _is_gone(node: FleetNode) -> bool:
    return any(hold.reason is Reason.NODE_LEAVING for hold in node.holds)
