"""Dumps of ``kubectl get``: any mix of files becomes one observation.

Files say what they say: what they leave out is unknown, and what they say twice in
two ways puts the node on hold.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autoscaler.adapters.documents import Found, objects_in
from autoscaler.adapters.dump_outlook import OUTLOOK_GROUPS, OutlookDump
from autoscaler.adapters.dump_table import Table
from autoscaler.adapters.kubernetes.gangs import with_members
from autoscaler.adapters.kubernetes.kinds import CLUSTER_POLICIES, POD_GROUPS, RESOURCE_SLICES
from autoscaler.adapters.kubernetes.nodes import node_from
from autoscaler.adapters.kubernetes.objects import (
    budget_from,
    claim_driver_from,
    config_map_from,
    manager_nodes_of,
    mig_config_map_of,
    pod_group_from,
    priority_class_from,
    quota_from,
)
from autoscaler.adapters.kubernetes.pods import pod_from
from autoscaler.adapters.kubernetes.reading import mapping_at, text_at
from autoscaler.adapters.prometheus.files import read_metrics
from autoscaler.adapters.texts import source_of
from autoscaler.domain.cluster.mig_manager import is_manager
from autoscaler.domain.cluster.objects import (
    ClaimDriver,
    ConfigMap,
    Node,
    Observation,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    Quota,
)
from autoscaler.domain.cluster.placeholder import without_placeholders
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.fleet.ownership import INSTASLICE
from autoscaler.ports import RawObject

__all__ = ["read_dumps", "read_metrics"]

# Kubernetes has several kinds of one name; where a group is stated it must be ours.
GROUPS: Mapping[str, frozenset[str]] = {
    "Node": frozenset({""}),
    "Pod": frozenset({""}),
    "ConfigMap": frozenset({""}),
    "ResourceQuota": frozenset({""}),
    "PodDisruptionBudget": frozenset({"policy"}),
    "PriorityClass": frozenset({"scheduling.k8s.io"}),
    "PodGroup": frozenset(kind.group for kind in POD_GROUPS),
    "ResourceSlice": frozenset(kind.group for kind in RESOURCE_SLICES),
    # What InstaSlice and its successor keep for each of their nodes, named after it.
    "Instaslice": frozenset({INSTASLICE}),
    "NodeAccelerator": frozenset({INSTASLICE}),
    "ClusterPolicy": frozenset({CLUSTER_POLICIES.group}),
    **OUTLOOK_GROUPS,
}
OUR_MAPS = "mig-autoscaler"
CONFLICT = "appears more than once, with different contents"
SHOWN = 3


def read_dumps(paths: Iterable[str], now_s: float) -> Observation:
    """Return what the files hold; ``-`` is standard input.

    Raises
    ------
    ConfigError
        When a file cannot be read or holds nothing of use, or there is no node at all.
    """
    dump = Dump()
    for path in paths:
        used, unused = dump.used, Counter(dump.unused)
        for found in objects_in(path):
            dump.take(found, source_of(path))
        other = dump.unused - unused
        if dump.used == used and other:
            kinds = ", ".join(sorted(other))
            raise ConfigError(
                f"{source_of(path)}: holds only {kinds}; expected nodes, pods, pdb, configmaps"
            )
    if not dump.nodes.items:
        raise ConfigError("there is no node in the input; add the output of kubectl get nodes")
    return dump.observation(now_s)


@dataclass(slots=True)
class Dump:
    """What was found so far."""

    nodes: Table[Node] = field(
        default_factory=lambda: Table(
            "Node", lambda node: replace(node, resource_version="", config_writer="")
        )
    )
    pods: Table[Pod] = field(default_factory=lambda: Table("Pod"))
    budgets: Table[PodDisruptionBudget] = field(
        default_factory=lambda: Table("PodDisruptionBudget")
    )
    config_maps: Table[ConfigMap] = field(
        default_factory=lambda: Table(
            "ConfigMap", lambda config_map: replace(config_map, resource_version="")
        )
    )
    pod_groups: Table[PodGroup] = field(default_factory=lambda: Table("PodGroup"))
    quotas: Table[Quota] = field(default_factory=lambda: Table("ResourceQuota"))
    claim_drivers: set[ClaimDriver] = field(default_factory=set)
    priority_classes: dict[str, int] = field(default_factory=dict)
    mig_config_map: str | None = None
    outlook: OutlookDump = field(default_factory=OutlookDump)
    notices: list[str] = field(default_factory=list)
    used: int = 0
    unused: Counter[str] = field(default_factory=Counter)

    def take(self, found: Found, source: str) -> None:
        """Take one object of a file."""
        groups = GROUPS.get(found.kind, frozenset())
        if not groups or (found.group is not None and found.group not in groups):
            self.unused[found.kind] += found.kind != "List"
            return
        metadata = found.raw.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            raise ConfigError(f"{source}: a {found.kind} without metadata.name")
        self.used += 1
        if found.kind in OUTLOOK_GROUPS:
            self.outlook.add(found.kind, found.raw)
        else:
            self._readers()[found.kind](found.raw)

    def _readers(self) -> Mapping[str, Callable[[RawObject], None]]:
        return {
            "Node": self._take_node,
            "Pod": self._take_pod,
            "PodDisruptionBudget": self._take_budget,
            "ConfigMap": self._take_config_map,
            "PodGroup": self._take_pod_group,
            "ResourceQuota": self._take_quota,
            "Instaslice": self._take_partitioner,
            "NodeAccelerator": self._take_partitioner,
            "ResourceSlice": lambda raw: self.claim_drivers.add(claim_driver_from(raw)),
            "PriorityClass": self._take_priority_class,
            "ClusterPolicy": self._take_cluster_policy,
        }

    def _take_node(self, raw: RawObject) -> None:
        node = node_from(raw)
        self.nodes.add(("", node.name), node)

    def _take_pod(self, raw: RawObject) -> None:
        pod = pod_from(raw)
        self.pods.add((pod.namespace, pod.name), pod)

    def _take_budget(self, raw: RawObject) -> None:
        budget = budget_from(raw, self.notices)
        self.budgets.add((budget.namespace, budget.name), budget)

    def _take_config_map(self, raw: RawObject) -> None:
        config_map = config_map_from(raw, [])
        # A cluster has thousands, and few are about MIG.
        if config_map.name.startswith(OUR_MAPS) or any(
            "mig-configs" in text for text in config_map.data.values()
        ):
            self.config_maps.add((config_map.namespace, config_map.name), config_map)

    def _take_pod_group(self, raw: RawObject) -> None:
        group = pod_group_from(raw, self.notices)
        self.pod_groups.add((group.namespace, group.name), group)

    def _take_partitioner(self, raw: RawObject) -> None:
        name = text_at(mapping_at(raw, "metadata", []), "name")
        self.claim_drivers.add(ClaimDriver(name, INSTASLICE))

    def _take_quota(self, raw: RawObject) -> None:
        quota = quota_from(raw, self.notices)
        self.quotas.add((quota.namespace, quota.name), quota)

    def _take_priority_class(self, raw: RawObject) -> None:
        name, value = priority_class_from(raw, self.notices)
        self.priority_classes[name] = value

    def _take_cluster_policy(self, raw: RawObject) -> None:
        self.mig_config_map = mig_config_map_of(raw)

    def observation(self, now_s: float) -> Observation:
        """Return all of it, in order, with what was left out."""
        groups = tuple(self.pod_groups.agreed())
        pods = self._pods()
        managed = manager_nodes_of(pods) if any(map(is_manager, pods)) else None
        ours, others = without_placeholders(pods)
        return Observation(
            observed_at_s=now_s,
            nodes=tuple(self._nodes()),
            pods=with_members(others, groups),
            budgets=tuple(self._budgets()),
            config_maps=tuple(self.config_maps.agreed()),
            pod_groups=groups,
            quotas=tuple(self.quotas.agreed()),
            claim_drivers=tuple(sorted(self.claim_drivers, key=_place_of)),
            priority_classes=dict(sorted(self.priority_classes.items())),
            mig_config_map=self.mig_config_map,
            manager_nodes=managed,
            offline=True,
            announcements=self.outlook.announcements(),
            kueue=self.outlook.kueue(self.notices),
            placeholders=ours,
            notices=tuple(self._notices()),
        )

    def _nodes(self) -> Iterable[Node]:
        """Return the nodes, those with contradictions marked."""
        named_twice = {name for _, name in self.nodes.conflicts}
        of_pods = {pod.node for versions in self.pods.conflicts.values() for pod in versions}
        uids = Counter(node.uid for node in self.nodes.values() if node.uid)
        for node in self.nodes.values():
            faults = list(node.faults)
            if node.name in named_twice:
                faults.append(CONFLICT)
            if node.name in of_pods:
                faults.append(f"a pod of it {CONFLICT}")
            if uids[node.uid] > 1:
                faults.append(f"metadata.uid = {node.uid!r}: another node has it too")
            yield replace(node, faults=tuple(faults))

    def _pods(self) -> Sequence[Pod]:
        """Return pods that are pending or on a node of the input."""
        kept = []
        for pod in self.pods.values():
            if pod.node is not None and ("", pod.node) not in self.nodes.items:
                continue
            if (pod.namespace, pod.name) in self.pods.conflicts:
                pod = replace(pod, faults=(*pod.faults, CONFLICT))
            kept.append(pod)
        return kept

    def _budgets(self) -> Iterable[PodDisruptionBudget]:
        for budget in self.budgets.values():
            disputed = (budget.namespace, budget.name) in self.budgets.conflicts
            yield replace(budget, disruptions_allowed=0, observed=False) if disputed else budget

    def _notices(self) -> list[str]:
        notices = list(self.notices)
        tables = (
            self.nodes,
            self.pods,
            self.budgets,
            self.config_maps,
            self.pod_groups,
            self.quotas,
        )
        for table in tables:
            notices += table.notices()
        if self.unused:
            kinds = ", ".join(
                f"{number} {kind}" for kind, number in sorted(self.unused.items())
            )
            notices.append(f"not used: {kinds}")
        return notices + self._strays()

    def _strays(self) -> list[str]:
        strays = Counter(
            pod.node
            for pod in self.pods.values()
            if pod.node is not None and ("", pod.node) not in self.nodes.items
        )
        if not strays:
            return []
        names = sorted(strays)
        shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        return [
            f"{strays.total()} pods are left out: their nodes are not in the input ({shown})"
        ]


def _place_of(driver: ClaimDriver) -> tuple[str, str]:
    return driver.node, driver.driver
