"""Possibility: which nodes could ever offer what a pod needs, under any layout.

A pod that no layout of the fleet can serve is told so once, with the nearest thing it
could ask for instead; it never pulls at plans, however long it waits.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.domain.counts import Counts
from autoscaler.domain.eligibility import Eligibility, Needs
from autoscaler.domain.hardware import fewest_boards
from autoscaler.domain.holding import folds
from autoscaler.domain.pool import Pool, Strategy
from autoscaler.domain.profile import GpuModel, Profile
from autoscaler.domain.reasons import Reason
from autoscaler.domain.resource import GPU, PREFIX, is_shared, parse_resource
from autoscaler.domain.snapshot import FleetNode, Snapshot

NAME = re.compile(r"(\d+)g\.(\d+)gb")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where a pod could be served.

    Parameters
    ----------
    eligible
        Names of nodes; empty when it is impossible.
    reason, message
        Why it is impossible.
    """

    eligible: frozenset[str] = frozenset()
    reason: Reason = Reason.NO_ELIGIBLE_NODE
    message: str = ""


class Possibilities:
    """The nodes of one moment and what each could be made to offer.

    Parameters
    ----------
    snapshot
        The fleet.
    pools
        Which profiles each pool may hold.
    """

    def __init__(self, snapshot: Snapshot, pools: Iterable[Pool]) -> None:
        everyone = (*snapshot.nodes, *snapshot.outsiders)
        gone = [n for n in everyone if _is_gone(n)]
        left = [n for n in everyone if not _is_gone(n)]
        self._nodes: Mapping[str, FleetNode] = {n.name: n for n in left}
        self._num_gone = len(gone)
        self._pools = {pool.name: pool for pool in pools}
        self._eligibility = Eligibility(left)
        self._objections: dict[tuple[str, str], Reason | None] = {}
        self._verdicts: dict[tuple[Counts, Needs], Verdict] = {}

    def judge(self, bundle: Counts, needs: Needs) -> Verdict:
        """Return where a pod with this bundle could be served."""
        key = (bundle, needs)
        if key not in self._verdicts:
            self._verdicts[key] = self._judge(bundle, needs)
        return self._verdicts[key]

    def _judge(self, bundle: Counts, needs: Needs) -> Verdict:
        placed = self._eligibility.nodes_for(needs)
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
        large_enough = frozenset(n for n in offering if self._holds(n, bundle))
        if not large_enough:
            text = f"no node it may run on can ever offer {bundle} at once"
            return Verdict(reason=Reason.BUNDLE_TOO_LARGE, message=text)
        return Verdict(large_enough)

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
        if resource == GPU:
            return None if any(not g.mig_enabled for g in node.gpus) else Reason.WHOLE_GPU
        if is_shared(resource) or node.model is None or not node.pool:
            return Reason.IMPOSSIBLE_PROFILE
        return self._profile_objection(node, node.model, resource)

    def _profile_objection(
        self, node: FleetNode, model: GpuModel, resource: str
    ) -> Reason | None:
        profile = parse_resource(model, resource)
        if profile is None or node.strategy is not Strategy.MIXED:
            return Reason.IMPOSSIBLE_PROFILE
        if ("+" in profile or "-" in profile) and folds(node):
            return Reason.FOLDED_PROFILE
        allowed = self._pools[node.pool].profiles
        return None if allowed is None or profile in allowed else Reason.NOT_ALLOWED

    def _holds(self, name: str, bundle: Counts) -> bool:
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
        reasons = {self._objection(node.name, resource) for node in nodes}
        if Reason.WHOLE_GPU in reasons:
            text = f"no node it may run on has a GPU with MIG off, and only such are {GPU}"
            return Verdict(reason=Reason.WHOLE_GPU, message=text)
        profile = resource.removeprefix(PREFIX)
        if Reason.FOLDED_PROFILE in reasons:
            text = (
                f"the device plugin of its nodes offers {profile} under the plain name, so"
                f" {resource} never appears there"
            )
            return Verdict(reason=Reason.FOLDED_PROFILE, message=text)
        if Reason.NOT_ALLOWED in reasons:
            pools = sorted({node.pool for node in nodes if node.pool})
            text = f"{profile} is not among the profiles of pool {', '.join(pools)}"
            return Verdict(reason=Reason.NOT_ALLOWED, message=text)
        models = {node.model for node in nodes if node.model is not None and node.pool}
        return Verdict(
            reason=Reason.IMPOSSIBLE_PROFILE, message=_no_such_profile(resource, models)
        )


def _is_gone(node: FleetNode) -> bool:
    return any(hold.reason is Reason.NODE_LEAVING for hold in node.holds)


def _no_such_profile(resource: str, models: Iterable[GpuModel]) -> str:
    if is_shared(resource):
        return f"no node it may run on shares its devices as {resource}"
    ordered = sorted(models, key=lambda model: model.key)
    near = [f"{nearest_profile(m, resource).name} on {m.key}" for m in ordered]
    text = f"no GPU model it may run on has the profile of {resource}"
    return f"{text}; nearest is {', '.join(near)}" if near else text


def nearest_profile(model: GpuModel, resource: str) -> Profile:
    """Return the smallest standard profile with at least what a name asks for.

    Parameters
    ----------
    resource
        Its name says compute slices and memory. When nothing is as large, or the name
        cannot be read, the whole GPU is nearest.
    """
    match = NAME.search(resource)
    plain = [profile for profile in model.profiles if profile.is_plain]
    if match is None or not plain:
        return model.whole_gpu
    compute, memory_gb = int(match[1]), int(match[2])
    enough = [
        profile
        for profile in plain
        if profile.compute_slices >= compute and _gigabytes(profile) >= memory_gb
    ]
    if not enough:
        return model.whole_gpu
    return min(enough, key=lambda p: (p.compute_slices, p.memory_slices))


def _gigabytes(profile: Profile) -> int:
    match = NAME.search(profile.name)
    return int(match[2]) if match is not None else 0
