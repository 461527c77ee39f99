"""One pass over the API server: all objects that a cycle looks at.

A list that failed is never an empty list: the pass ends in an error that names it.
Kinds that a cluster does not serve are absent; those we may not read are noticed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from autoscaler.adapters.kubernetes.announcements import announcement_from
from autoscaler.adapters.kubernetes.gangs import with_members
from autoscaler.adapters.kubernetes.kinds import (
    CLUSTER_POLICIES,
    CRON_JOBS,
    KUEUE_VERSIONS,
    POD_GROUPS,
    RESOURCE_SLICES,
    kueue_kinds,
)
from autoscaler.adapters.kubernetes.kueue import kueue_from
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
from autoscaler.domain.cluster.announcement import Announcement
from autoscaler.domain.cluster.mig_manager import COMPONENT, MANAGER
from autoscaler.domain.cluster.objects import (
    ClaimDriver,
    ConfigMap,
    Node,
    Observation,
    Pod,
    PodGroup,
)
from autoscaler.domain.cluster.placeholder import without_placeholders
from autoscaler.domain.cluster.queueing import Kueue
from autoscaler.domain.errors import ActuationError, NotFound, ObservationError, Refused
from autoscaler.ports import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTAS,
    Kind,
    ObjectClient,
    RawObject,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass; ``notices`` fills while it runs.

    Parameters
    ----------
    reads_announcements
        Whether Namespaces, Jobs and CronJobs are looked at for peaks.
    read_node, read_pod
        Turn a node, and a pod, into a value.
    own_namespace
        Where our own pods are.
    """

    client: ObjectClient
    reads_announcements: bool = True
    read_node: Callable[[RawObject], Node] = node_from
    read_pod: Callable[[RawObject], Pod] = pod_from
    own_namespace: str = ""
    notices: list[str] = field(default_factory=list)

    def observe(
        self, observed_at_s: float, config_maps: Iterable[tuple[str, str]], namespace: str
    ) -> Observation:
        """Return everything, with ConfigMaps by namespace and name.

        ``namespace`` is the operator's: what MIG managers generated is looked for there.
        Nodes come first and pods last: a pod that is bound in between is then seen as
        a holder, and never the other way round.
        """
        nodes = self._required(NODES, self.read_node)
        budgets = self._required(DISRUPTION_BUDGETS, self._noticing(budget_from))
        policy = self._mig_config_map()
        wanted = dict.fromkeys(config_maps)
        if policy is not None:
            wanted[namespace, policy] = None
        maps = [*self._named_maps(wanted), *self._generated_maps(namespace)]
        groups = self._pod_groups()
        slices = self._claim_drivers()
        quotas = self._optional(QUOTAS, self._noticing(quota_from)) or ()
        announcements = self._announcements() if self.reads_announcements else ()
        kueue = self._kueue()
        classes = self._optional(PRIORITY_CLASSES, self._noticing(priority_class_from)) or ()
        pods = self._required(PODS, self.read_pod)
        ours, others = without_placeholders(pods, self.own_namespace)
        return Observation(
            observed_at_s=observed_at_s,
            nodes=tuple(sorted(nodes, key=lambda node: node.name)),
            pods=tuple(sorted(with_members(others, groups), key=lambda pod: pod.ref)),
            budgets=tuple(sorted(budgets, key=lambda b: (b.namespace, b.name))),
            config_maps=tuple(sorted(maps, key=lambda m: (m.namespace, m.name))),
            pod_groups=groups,
            quotas=tuple(sorted(quotas, key=lambda q: (q.namespace, q.name))),
            claim_drivers=slices,
            priority_classes=dict(sorted(classes)),
            mig_config_map=policy,
            manager_nodes=manager_nodes_of(pods),
            announcements=announcements,
            kueue=kueue,
            placeholders=ours,
            notices=tuple(self.notices),
        )

    def _required(self, kind: Kind, convert: Callable[[RawObject], T]) -> tuple[T, ...]:
        try:
            return self._listed(kind, convert)
        except ActuationError as error:
            raise _incomplete(kind, error) from error

    def _optional(self, kind: Kind, convert: Callable[[RawObject], T]) -> tuple[T, ...] | None:
        """Return the objects of a kind, ``None`` when it is not served or not readable."""
        try:
            return self._listed(kind, convert)
        except NotFound:
            return None
        except Refused as error:
            self.notices.append(f"{kind.plural} are not read: {error}")
            return None
        except ActuationError as error:
            raise _incomplete(kind, error) from error

    def _listed(self, kind: Kind, convert: Callable[[RawObject], T]) -> tuple[T, ...]:
        return tuple(convert(raw) for raw in self.client.list(kind).items)

    def _noticing(
        self, convert: Callable[[RawObject, list[str]], T]
    ) -> Callable[[RawObject], T]:
        return lambda raw: convert(raw, self.notices)

    def _mig_config_map(self) -> str | None:
        policies = self._optional(CLUSTER_POLICIES, mig_config_map_of)
        return policies[0] if policies else None

    def _pod_groups(self) -> tuple[PodGroup, ...]:
        found: list[PodGroup] = []
        for kind in POD_GROUPS:
            found.extend(self._optional(kind, self._noticing(pod_group_from)) or ())
        return tuple(sorted(found, key=lambda group: (group.namespace, group.name)))

    def _claim_drivers(self) -> tuple[ClaimDriver, ...]:
        for kind in RESOURCE_SLICES:
            found = self._optional(kind, claim_driver_from)
            if found is not None:
                return tuple(
                    sorted(set(found), key=lambda slice_: (slice_.node, slice_.driver))
                )
        return ()

    def _announcements(self) -> tuple[Announcement, ...]:
        found: list[Announcement] = []
        for kind in (NAMESPACES, JOBS, CRON_JOBS):
            own = self._optional(kind, partial(announcement_from, kind.name)) or ()
            found += [announcement for announcement in own if announcement is not None]
        return tuple(sorted(found, key=lambda a: (a.kind, a.namespace, a.name)))

    def _kueue(self) -> Kueue | None:
        """Return what Kueue holds back; its trouble is not ours, so no error ends the pass."""
        for version in KUEUE_VERSIONS:
            try:
                workloads, locals_, queues = (
                    self.client.list(kind).items for kind in kueue_kinds(version)
                )
            except NotFound:
                continue
            except ActuationError as error:
                self.notices.append(f"the queues of Kueue are not read: {error}")
                return None
            return kueue_from(workloads, locals_, queues, self.notices)
        return None

    def _named_maps(self, wanted: Mapping[tuple[str, str], None]) -> list[ConfigMap]:
        found = []
        for namespace, name in wanted:
            try:
                raw = self.client.get(CONFIG_MAPS, namespace, name)
            except NotFound:
                continue
            except ActuationError as error:
                raise _incomplete(CONFIG_MAPS, error) from error
            found.append(config_map_from(raw, self.notices))
        return found

    def _generated_maps(self, namespace: str) -> list[ConfigMap]:
        """Return what MIG managers wrote about their own nodes."""
        try:
            page = self.client.list(CONFIG_MAPS, namespace, f"{COMPONENT}={MANAGER}")
        except Refused as error:
            self.notices.append(f"generated configurations are not read: {error}")
            return []
        except ActuationError as error:
            raise _incomplete(CONFIG_MAPS, error) from error
        return [config_map_from(raw, self.notices) for raw in page.items]


def _incomplete(kind: Kind, error: ActuationError) -> ObservationError:
    return ObservationError(f"the list of {kind.plural} is incomplete: {error}")
