"""Why a pod stays unserved: each one gets a reason with numbers a person can check."""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand import DemandGroup
from autoscaler.domain.policy import Driver
from autoscaler.domain.reasons import PodNote, Reason
from autoscaler.domain.resource import GPU, parse_resource
from autoscaler.domain.snapshot import FleetNode
from autoscaler.planning.fleet import is_movable, potential_of
from autoscaler.planning.mix import Choice, NodeKind, Want
from autoscaler.planning.problem import Problem


def unserved_pods(problem: Problem, choice: Choice) -> tuple[PodNote, ...]:
    """Return the pods that a plan does not serve, sorted, each with the reason.

    Parameters
    ----------
    problem
        The problem of the moment.
    choice
        What the plan does. Of a group the oldest pods are served first.
    """
    explainer = _Explainer(problem, choice)
    notes = []
    for index, group in enumerate(problem.groups):
        left = group.pods[choice.served[index] :]
        if left:
            reason, message = explainer.explain(index, group)
            notes += [PodNote(pod, reason, message) for pod in left]
    return tuple(sorted(notes))


def obstacles(nodes: Iterable[FleetNode]) -> str:
    """Return what keeps nodes from being changed, one clause; empty when nothing does."""
    held = busy = total = 0
    for node in nodes:
        if not is_movable(node):
            held += 1
            continue
        total += len(node.gpus)
        busy += sum(1 for gpu in node.gpus if gpu.held)
    parts = []
    if busy:
        parts.append(f"{busy} of {total} GPUs that may change are in use")
    if held:
        parts.append(f"{held} {'nodes' if held > 1 else 'node'} may not be changed")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class _Explainer:
    problem: Problem
    choice: Choice

    def explain(self, index: int, group: DemandGroup) -> tuple[Reason, str]:
        """Return why not all pods of a group are served."""
        want = self.problem.mix.wants[index]
        nodes = [n for own in self.problem.fleet.members for n in own.nodes]
        nodes = sorted((n for n in nodes if n.name in group.eligible), key=lambda n: n.name)
        if not nodes:
            return Reason.NO_ELIGIBLE_NODE, "no GPU node may take it"
        impossible = _unknown(group.bundle, nodes)
        if impossible:
            models = ", ".join(sorted({n.model.key for n in nodes if n.model is not None}))
            text = f"{impossible} is offered nowhere it may run and is no profile of {models}"
            return Reason.IMPOSSIBLE_PROFILE, text
        if want.gang:
            best = self._most_of_gang(want.gang)
            if best < want.gang_min:
                text = f"gang {want.gang} needs {want.gang_min} pods at once, best {best}"
                return Reason.GANG_TOO_LARGE, f"{text}; {obstacles(nodes) or 'no more fit'}"
        kinds = self._kinds_for(want)
        if not any(potential_of(kind).covers(want.bundle) for kind in kinds):
            return _no_way(group, nodes)
        return self._not_chosen(want, kinds)

    def _kinds_for(self, want: Want) -> list[NodeKind]:
        return [kind for kind in self.problem.mix.kinds if kind.zone in want.zones]

    def _most_of_gang(self, gang: str) -> int:
        """Return how many pods of a gang could start if it had everything for itself."""
        most = 0
        for want in self.problem.mix.wants:
            if want.gang == gang:
                room = sum(k.number * _times(k, want) for k in self._kinds_for(want))
                most += min(want.number, room)
        return most

    def _not_chosen(self, want: Want, kinds: list[NodeKind]) -> tuple[Reason, str]:
        cheapest = min((c for k in kinds for c in _costs(k, want)), default=None)
        number = want.gang_min if want.gang else 1
        if cheapest is not None and number * want.value < cheapest:
            text = (
                f"serving it is worth {number * want.value:.0f} slice-seconds and the"
                f" cheapest change costs {cheapest:.0f}"
            )
            return Reason.NOT_WORTH_IT, text
        parts = []
        for name in want.bundle:
            users = [
                (own, self.choice.served[place])
                for place, own in enumerate(self.problem.mix.wants)
                if own.bundle[name]
                and own.zones & want.zones
                and place < len(self.problem.groups)
            ]
            asked = sum(own.bundle[name] * own.number for own, _ in users)
            served = sum(own.bundle[name] * number for own, number in users)
            parts.append(f"{asked} x {name} are asked for, {served} can be had")
        text = " and ".join(parts) + " beside all that is worth more"
        return Reason.NO_CAPACITY, text


def _times(kind: NodeKind, want: Want) -> int:
    most = potential_of(kind)
    fits = min((most[name] // number for name, number in want.bundle.items()), default=0)
    return fits if want.per_node is None else min(fits, want.per_node)


def _costs(kind: NodeKind, want: Want) -> Iterable[float]:
    """Yield the price of each change of a node that adds what a request needs."""
    options = [option for gpu in kind.gpus for option in gpu.options]
    for option in (*options, *kind.node_options):
        if any(gain > 0 and want.bundle[name] for name, gain in option.gains):
            yield kind.closing_cost + option.cost


def _unknown(bundle: Counts, nodes: Iterable[FleetNode]) -> str:
    """Return a resource that no node offers or could be cut into, if there is one."""
    own = list(nodes)
    for name in bundle:
        offered = any(n.supply[name] or (n.target_supply or Counts())[name] for n in own)
        cut = any(n.model is not None and parse_resource(n.model, name) for n in own)
        if name != GPU and not offered and not cut and any(n.model is not None for n in own):
            return name
    return ""


def _no_way(group: DemandGroup, nodes: list[FleetNode]) -> tuple[Reason, str]:
    """Say why no node can offer the bundle of a group now, whatever it costs."""
    if group.bundle[GPU]:
        taken = sum(1 for n in nodes for gpu in n.gpus if not gpu.mig_enabled)
        text = (
            f"it asks for whole GPUs with MIG off; the {taken} on its nodes are taken, and"
            " MIG mode is for people to change"
        )
        return Reason.WHOLE_GPU, text
    movable = [node for node in nodes if is_movable(node)]
    if not movable:
        reasons = sorted({hold.reason.value for node in nodes for hold in node.holds})
        why = f" ({', '.join(reasons)})" if reasons else ""
        text = f"none of its {len(nodes)} nodes has it free, and none may be changed{why}"
        return Reason.NO_CAPACITY, text
    if any(_could_hold(node) for node in movable):
        text = f"no node has room for {group.bundle} at once; {obstacles(nodes)}"
        return Reason.GPUS_BUSY if "in use" in text else Reason.NO_CAPACITY, text
    return Reason.GPUS_BUSY, f"every GPU that could hold it is in use: {obstacles(nodes)}"


def _could_hold(node: FleetNode) -> bool:
    """Say whether a GPU of the node may be cut at all."""
    return any(
        gpu.mig_enabled and (gpu.is_idle or node.driver is Driver.AGENT) for gpu in node.gpus
    )
