"""Announcements: objects of the cluster that may say something of demand to come."""

from dataclasses import dataclass

from autoscaler.domain.counts import Counts

NAMESPACE, JOB, CRON_JOB = "Namespace", "Job", "CronJob"


@dataclass(frozen=True, slots=True)
class Announcement:
    """An object that may say something of demand to come.

    Parameters
    ----------
    kind
        ``Namespace``, ``Job`` or ``CronJob``.
    namespace, name
        The object; of a Namespace both are its name.
    text
        The annotation; empty for none.
    requests
        What its pods together ask for, by resource name.
    schedule, time_zone
        Of a CronJob; the zone is empty where it says none.
    is_suspended
        Whether it creates no pods for now.
    created_s
        Epoch seconds.
    fault
        Why what its pods ask for cannot be told; empty where it can.
    """

    kind: str
    namespace: str
    name: str
    text: str = ""
    requests: Counts = Counts()
    schedule: str = ""
    time_zone: str = ""
    is_suspended: bool = False
    created_s: float = 0.0
    fault: str = ""

    @property
    def title(self) -> str:
        """Kind and name, for people."""
        if self.kind == NAMESPACE:
            return f"Namespace {self.name}"
        return f"{self.kind} {self.namespace}/{self.name}"
