"""What dumps say of demand to come: announcements, and the queues of Kueue."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaler.adapters.kubernetes.announcements import announcement_from
from autoscaler.adapters.kubernetes.kinds import KUEUE
from autoscaler.adapters.kubernetes.kueue import kueue_from
from autoscaler.domain.cluster.announcement import CRON_JOB, JOB, NAMESPACE, Announcement
from autoscaler.domain.cluster.queueing import Kueue
from autoscaler.ports import RawObject

WORKLOAD, LOCAL_QUEUE, CLUSTER_QUEUE = "Workload", "LocalQueue", "ClusterQueue"
OF_KUEUE = (WORKLOAD, LOCAL_QUEUE, CLUSTER_QUEUE)
OUTLOOK_GROUPS: Mapping[str, frozenset[str]] = {
    NAMESPACE: frozenset({""}),
    JOB: frozenset({"batch"}),
    CRON_JOB: frozenset({"batch"}),
    **dict.fromkeys(OF_KUEUE, frozenset({KUEUE})),
}


@dataclass(slots=True)
class OutlookDump:
    """Objects found so far, by kind and name; of several of one name the last counts."""

    found: dict[tuple[str, str, str], RawObject] = field(default_factory=dict)

    def add(self, kind: str, raw: RawObject) -> None:
        """Take an object that has a name."""
        metadata = raw["metadata"]
        self.found[kind, str(metadata.get("namespace") or ""), str(metadata["name"])] = raw

    def announcements(self) -> tuple[Announcement, ...]:
        """Return what Namespaces, Jobs and CronJobs announce."""
        read = (
            announcement_from(kind, raw)
            for (kind, _, _), raw in sorted(self.found.items(), key=lambda item: item[0])
            if kind not in OF_KUEUE
        )
        return tuple(own for own in read if own is not None)

    def kueue(self, notices: list[str]) -> Kueue | None:
        """Return what Kueue holds back, ``None`` where the input has none of it."""
        workloads, locals_, queues = (
            [
                raw
                for (own, _, _), raw in sorted(self.found.items(), key=lambda item: item[0])
                if own == kind
            ]
            for kind in OF_KUEUE
        )
        if not (workloads or queues):
            return None
        return kueue_from(workloads, locals_, queues, notices)
