"""Why a pod stays unserved: each one gets a reason with numbers a person can check."""

from collections.abc import Iterable
from math import inf

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.resource import GPU, parse_resource
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.reasons import PodNote, Reason
from autoscaler.planning.program.fleet import is_movable, potential_of
from autoscaler.planning.program.mix import ALL_GPUS, Choice, Mix, NodeKind, Rule, Want
from autoscaler.planning.program.problem import Problem
from autoscaler.planning.program.rules import RuleKind
from autoscaler.planning.program.units import MARK

# Rules that leave no more of an instance, and what people call them.
LIMITS = (
    (RuleKind.CEILING, Reason.CEILING, "the pool's ceiling"),
    (
        RuleKind.CAP,
        Reason.WHOLE_GPU_CAP,
        "the home mix and some (planning.wholeGpuCap)",
    ),
)


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


class _Explainer:
    def __init__(self, problem: Problem, choice: Choice) -> None:
        self._problem = problem
        self._choice = choice
        self._potentials = [potential_of(kind) for kind in problem.mix.kinds]
        self._cheapest = _cheapest_changes(problem.mix.kinds)
        self._nodes = sorted(
            (node for own in problem.fleet.members for node in own.nodes), key=lambda n: n.name
        )
        # Many groups ask for the same on the same nodes: each of that is looked up once.
        self._nodes_of: dict[frozenset[str], list[FleetNode]] = {}
        self._unknown_of: dict[tuple[Counts, frozenset[str]], str] = {}
        self._found: dict[frozenset[int], list[tuple[NodeKind, Counts]]] = {}
        self._rooms: dict[tuple[Counts, frozenset[int], int | None], int] = {}
        self._gangs: dict[str, list[Want]] = {}
        for want in problem.mix.wants:
            self._gangs.setdefault(want.gang, []).append(want)
        self._asked = _asked(problem.mix.wants[: len(problem.groups)], choice)

    def explain(self, index: int, group: DemandGroup) -> tuple[Reason, str]:
        """Return why not all pods of a group are served."""
        want = self._problem.mix.wants[index]
        nodes = self._nodes_for(group.eligible)
        if not nodes:
            return Reason.NO_ELIGIBLE_NODE, "no GPU node may take it"
        impossible = self._impossible(group)
        if impossible:
            models = ", ".join(sorted({n.model.key for n in nodes if n.model is not None}))
            text = f"{impossible} is offered nowhere it may run and is no profile of {models}"
            return Reason.IMPOSSIBLE_PROFILE, text
        if want.gang:
            best = self._most_of_gang(want.gang)
            if best < want.gang_min:
                text = f"gang {want.gang} needs {want.gang_min} pods at once, best {best}"
                return Reason.GANG_TOO_LARGE, f"{text}; {obstacles(nodes) or 'no more fit'}"
        if not self._room_for(want):
            return _no_way(group, nodes)
        return self._not_chosen(want)

    def _nodes_for(self, eligible: frozenset[str]) -> list[FleetNode]:
        if eligible not in self._nodes_of:
            self._nodes_of[eligible] = [n for n in self._nodes if n.name in eligible]
        return self._nodes_of[eligible]

    def _impossible(self, group: DemandGroup) -> str:
        key = (group.bundle, group.eligible)
        if key not in self._unknown_of:
            self._unknown_of[key] = _unknown(group.bundle, self._nodes_for(group.eligible))
        return self._unknown_of[key]

    def _potentials_for(self, want: Want) -> list[tuple[NodeKind, Counts]]:
        if want.zones not in self._found:
            own = zip(self._problem.mix.kinds, self._potentials, strict=True)
            self._found[want.zones] = [(k, most) for k, most in own if k.zone in want.zones]
        return self._found[want.zones]

    def _room_for(self, want: Want) -> int:
        """Return how many such requests all nodes together may take some day."""
        key = (want.bundle, want.zones, want.per_node)
        if key not in self._rooms:
            own = self._potentials_for(want)
            self._rooms[key] = sum(kind.number * _times(most, want) for kind, most in own)
        return self._rooms[key]

    def _most_of_gang(self, gang: str) -> int:
        """Return how many pods of a gang could start if it had everything for itself."""
        return sum(min(want.number, self._room_for(want)) for want in self._gangs[gang])

    def _reached(self, want: Want, kind: RuleKind, why: str) -> str:
        """Return which rule of a kind leaves no more for a want, empty for none."""
        for own, rule in zip(self._problem.rules, self._problem.mix.rules, strict=True):
            if own.kind is not kind or not want.bundle[rule.name]:
                continue
            after = rule.present + created(self._problem.mix, self._choice, rule)
            if want.zones <= rule.zones and after + want.bundle[rule.name] > own.limit:
                return (
                    f"pool {own.pool} has {after} x {own.name}, and no more than {own.limit}"
                    f" are made: {why}"
                )
        return ""

    def _floors_beside(self, want: Want) -> str:
        """Name the floors of other profiles where a want may be served, if any."""
        rules = zip(self._problem.rules, self._problem.mix.rules, strict=True)
        floors = [
            f"{own.limit} x {own.name}"
            for own, rule in rules
            if own.kind is RuleKind.FLOOR
            and own.limit
            and rule.zones & want.zones
            and not want.bundle[rule.name]
        ]
        return f"; floors ask for {', '.join(floors)}" if floors else ""

    def _not_chosen(self, want: Want) -> tuple[Reason, str]:
        prices = [
            min((self._cheapest.get((zone, name), inf) for zone in want.zones), default=inf)
            for name in want.bundle
        ]
        least = max((price for price in prices if price < inf), default=0.0)
        worth = want.value * (want.gang_min if want.gang else 1)
        if worth < least:
            text = (
                f"serving it is worth {worth:.0f} slice-seconds and the cheapest change"
                f" must gain {least:.0f}, which is planning.minGain times its cost"
            )
            return Reason.NOT_WORTH_IT, text
        for kind, reason, why in LIMITS:
            reached = self._reached(want, kind, why)
            if reached:
                return reason, reached
        parts = []
        for name in want.bundle:
            users = [n for zones, n in self._asked[name].items() if zones & want.zones]
            asked, served = sum(n for n, _ in users), sum(n for _, n in users)
            parts.append(f"{asked} x {name} are asked for, {served} can be had")
        text = " and ".join(parts) + " beside all that is worth more"
        text += self._floors_beside(want)
        if want.bundle[GPU] and not any(name.startswith(MARK) for name in want.bundle):
            text += "; MIG mode is for people to change"
        return Reason.NO_CAPACITY, text


def _asked(
    wants: Iterable[Want], choice: Choice
) -> dict[str, dict[frozenset[int], tuple[int, int]]]:
    """Return how many instances of a name are asked for and served, by name and zones."""
    found: dict[str, dict[frozenset[int], tuple[int, int]]] = {}
    for want, served in zip(wants, choice.served, strict=False):
        for name, each in want.bundle.items():
            own = found.setdefault(name, {})
            before = own.get(want.zones, (0, 0))
            own[want.zones] = (before[0] + each * want.number, before[1] + each * served)
    return found


def created(mix: Mix, choice: Choice, rule: Rule) -> int:
    """Return how many instances of a rule's name a choice adds where it holds."""
    total = 0
    for (kind, gpu, option), number in choice.taken.items():
        own = mix.kinds[kind]
        options = own.node_options if gpu == ALL_GPUS else own.gpus[gpu].options
        if own.zone in rule.zones and not options[option].makes_whole:
            total += number * dict(options[option].gains).get(rule.name, 0)
    return total


def _times(most: Counts, want: Want) -> int:
    fits = min((most[name] // number for name, number in want.bundle.items()), default=0)
    return fits if want.per_node is None else min(fits, want.per_node)


def _cheapest_changes(kinds: Iterable[NodeKind]) -> dict[tuple[int, str], float]:
    """Return the price of the cheapest change that adds an instance, by zone and name."""
    cheapest: dict[tuple[int, str], float] = {}
    for kind in kinds:
        options = [option for gpu in kind.gpus for option in gpu.options]
        for option in (*options, *kind.node_options):
            price = kind.closing_cost + option.cost
            for name, gain in option.gains:
                if gain > 0 and price < cheapest.get((kind.zone, name), inf):
                    cheapest[kind.zone, name] = price
    return cheapest


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
    if group.bundle[GPU] and not any(node.unit for node in nodes):
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
        why = obstacles(nodes)
        text = f"no node has room for {group.bundle} at once{f'; {why}' if why else ''}"
        return Reason.GPUS_BUSY if "in use" in text else Reason.NO_CAPACITY, text
    return Reason.GPUS_BUSY, f"every GPU that could hold it is in use: {obstacles(nodes)}"


def _could_hold(node: FleetNode) -> bool:
    """Say whether a GPU of the node may be cut at all."""
    if node.strategy is Strategy.SINGLE:
        return all(gpu.mig_enabled and gpu.is_idle for gpu in node.gpus)
    return any(
        gpu.mig_enabled and (gpu.is_idle or node.driver is Driver.AGENT) for gpu in node.gpus
    )
