"""Objects that announce demand: Namespaces, Jobs and CronJobs, as far as they do."""

from collections.abc import Mapping

from autoscaler.adapters.kubernetes.containers import containers_from
from autoscaler.adapters.kubernetes.reading import (
    GPU_PREFIX,
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
    faults: list[str] = []
    requests = requests_of_job(job, faults)
    if not (text or requests or faults):
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
        fault=faults[0] if faults else "",
    )


def is_over(raw: Mapping[str, object]) -> bool:
    """Say whether a Job has ended."""
    conditions = sequence_at(mapping_at(raw, "status", []), "conditions", [])
    return any(c.get("type") in OVER and c.get("status") == "True" for c in conditions)


def requests_of_job(spec: Mapping[str, object], faults: list[str]) -> Counts:
    """Return what the pods of a Job ask for at once, nothing where that cannot be told.

    ``faults`` takes what is wrong with Jobs that are about GPUs; others are no business of
    ours.
    """
    found: list[str] = []
    one = requests_of_template(mapping_at(spec, "template", []), found)
    faults += [own for own in found if GPU_PREFIX in own]
    if not one or faults:
        return Counts()
    parallel = _number_at(spec, "parallelism", faults)
    completions = _number_at(spec, "completions", faults)
    pods = 1 if parallel is None else parallel
    if completions is not None:
        pods = min(pods, completions)
    return Counts() if faults else Counts().plus(one, pods)


def _number_at(spec: Mapping[str, object], key: str, faults: list[str]) -> int | None:
    """Return a number of pods, ``None`` where none is given."""
    if spec.get(key) is None:
        return None
    number = integer_at(spec, key, faults, "spec.")
    if number < 0:
        faults.append(f"spec.{key}: {number} is below zero")
    return max(0, number)


def requests_of_template(template: Mapping[str, object], faults: list[str]) -> Counts:
    """Return what one pod of a template asks for."""
    spec = mapping_at(template, "spec", [])
    return effective_request(Pod("", "", containers=containers_from(spec, faults)))
