"""The Job controller: pods until enough of them have succeeded."""

from autoscaler.domain.errors import NotFound, Refused
from autoscaler.ports import JOBS, PODS, RawObject
from autoscaler.simulation.controllers.informer import Key
from autoscaler.simulation.controllers.ownership import Ownership, pod_from_template
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import (
    condition,
    is_finished,
    is_terminating,
    namespace_of,
    phase_of,
    uid_of,
)

BACKOFF_LIMIT = 6


class JobController:
    """Creates the pods of Jobs, and others for those that were evicted."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._jobs = platform.informers.of(JOBS)
        self._feed = self._jobs.subscribe()
        self._ownership = Ownership(platform, "Job")
        self._keys: dict[str, Key] = {}
        self._counted: dict[str, dict[str, str]] = {}

    def step(self) -> None:
        """Act on changed Jobs and on their pods."""
        changed: dict[str, None] = {}
        for notice in self._feed.take():
            if notice.new is not None:
                uid = uid_of(notice.new)
                self._keys[uid] = notice.key
                if notice.old is None:
                    changed[uid] = None
            elif notice.old is not None:
                self._keys.pop(uid_of(notice.old), None)
                self._counted.pop(uid_of(notice.old), None)
        changed |= dict.fromkeys(self._ownership.take_changed())
        for uid in changed:
            job = self._jobs.objects.get(self._keys.get(uid, ("", "")))
            if job is not None and uid_of(job) == uid:
                self._reconcile(job)

    def _reconcile(self, job: RawObject) -> None:
        if condition(job, "Complete") or condition(job, "Failed"):
            return
        spec, pods = job["spec"], self._ownership.pods_of(uid_of(job))
        # Finished pods count for good, also when they are cleaned up later.
        counted = self._counted.setdefault(uid_of(job), {})
        counted.update({uid_of(pod): phase_of(pod) for pod in pods if is_finished(pod)})
        succeeded = list(counted.values()).count("Succeeded")
        failed = list(counted.values()).count("Failed")
        active = sum(1 for pod in pods if not is_finished(pod) and not is_terminating(pod))
        wanted = int(spec.get("completions") or 1) - succeeded
        status: RawObject = {"active": active, "succeeded": succeeded, "failed": failed}
        if wanted <= 0:
            status |= {"completionTime": self._platform.stamp()}
            status["conditions"] = [self._condition("Complete")]
        elif failed > int(spec.get("backoffLimit", BACKOFF_LIMIT)):
            status["conditions"] = [self._condition("Failed")]
        else:
            missing = min(int(spec.get("parallelism") or 1), wanted) - active
            status["active"] += self._create(job, missing)
        self._report(job, status)

    def _create(self, job: RawObject, number: int) -> int:
        created = 0
        for _ in range(number):
            body = pod_from_template(job, "batch/v1", "Job")
            try:
                self._platform.client.create(PODS, namespace_of(job), body)
            except (NotFound, Refused):
                # The namespace is going, or a quota is used up; a later change tries again.
                break
            created += 1
        return created

    def _report(self, job: RawObject, status: RawObject) -> None:
        present = job.get("status") or {}
        if any(present.get(key) != value for key, value in status.items()):
            self._platform.try_patch(JOBS, job, {"status": status}, "status")

    def _condition(self, kind: str) -> RawObject:
        stamp = self._platform.stamp()
        return {"type": kind, "status": "True", "lastTransitionTime": stamp}
