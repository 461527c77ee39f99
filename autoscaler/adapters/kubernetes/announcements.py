"""Objects that announce demand: Namespaces, Jobs and CronJobs, as far as they do."""

from collections.abc import Mapping

from autoscaler.adapters.kubernetes.containers import containers_from
from autoscaler.adapters.kubernetes.reading import (
    integer_at,
    mapping_at,
    sequence_at,
    text_at,
    texts_at,
    time_at,
)
from autoscaler.domain.cluster.announcement import CRON_JOB, JOB, NAMESPACE, Announcement
from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.marks import PEAK
from autoscaler.domain.cluster.objects import Pod
from autoscaler.domain.counts import Counts

KINDS = frozenset({NAMESPACE, JOB, CRON_JOB})
OVER = frozenset({"Complete", "Failed"})


def announcement_from(kind: str, raw: Mapping[str, object]) -> Announcement | None:
    """Return what an object may announce, ``None`` when it does not.

    A Namespace or a Job does by its annotation only; a CronJob also by asking for GPUs.
    """
    metadata = mapping_at(raw, "metadata", [])
    text = texts_at(metadata, "annotations", []).get(PEAK, "")
    if (not text and kind != CRON_JOB) or is_over(raw):
        return None
    spec = mapping_at(raw, "spec", [])
    schedule, zone = text_at(spec, "schedule"), text_at(spec, "timeZone")
    job = spec
    if kind == CRON_JOB:
        job = mapping_at(mapping_at(spec, "jobTemplate", []), "spec", [])
    requests = requests_of_job(job)
    if not text and not requests:
        return None
    name = text_at(metadata, "name")
    return Announcement(
        kind=kind,
        namespace=name if kind == NAMESPACE else text_at(metadata, "namespace") or "default",
        name=name,
        text=text,
        requests=requests,
        schedule=schedule,
        time_zone=zone,
        is_suspended=spec.get("suspend") is True,
        created_s=time_at(metadata, "creationTimestamp", []) or 0.0,
    )


def is_over(raw: Mapping[str, object]) -> bool:
    """Say whether a Job has ended."""
    conditions = sequence_at(mapping_at(raw, "status", []), "conditions", [])
    return any(c.get("type") in OVER and c.get("status") == "True" for c in conditions)


def requests_of_job(spec: Mapping[str, object]) -> Counts:
    """Return what the pods of a Job ask for at once."""
    parallel = spec.get("parallelism")
    pods = 1 if parallel is None else max(0, integer_at(spec, "parallelism", []))
    if spec.get("completions") is not None:
        pods = min(pods, max(0, integer_at(spec, "completions", [])))
    return Counts().plus(requests_of_template(mapping_at(spec, "template", [])), pods)


def requests_of_template(template: Mapping[str, object]) -> Counts:
    """Return what one pod of a template asks for."""
    spec = mapping_at(template, "spec", [])
    return effective_request(Pod("", "", containers=containers_from(spec, [])))
