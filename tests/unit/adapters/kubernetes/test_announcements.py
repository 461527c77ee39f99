"""Raw Namespaces, Jobs and CronJobs, as far as they announce demand."""

import pytest

from autoscaler.adapters.kubernetes.announcements import announcement_from
from autoscaler.domain.cluster.marks import PEAK
from autoscaler.domain.counts import Counts

ONE = "nvidia.com/mig-1g.5gb"


def template(**limits):
    """Return a pod template with these limits."""
    resources = {"limits": limits or {ONE: "1"}}
    return {"spec": {"containers": [{"name": "main", "resources": resources}]}}


def raw(text="", spec=None, **status):
    """Return an object with or without the annotation."""
    annotations = {PEAK: text} if text else {}
    metadata = {"name": "a", "namespace": "team", "annotations": annotations}
    metadata["creationTimestamp"] = "2030-01-10T08:00:00Z"
    return {"metadata": metadata, "spec": spec or {}, "status": status}


def cron(job, **spec):
    """Return the spec of a CronJob."""
    return {"schedule": "0 9 * * *", "jobTemplate": {"spec": job}, **spec}


@pytest.mark.parametrize(
    ("job", "number"),
    [
        ({}, 1),
        ({"parallelism": 4}, 4),
        ({"parallelism": 4, "completions": 3}, 3),
        ({"parallelism": 2, "completions": 9}, 2),
        ({"parallelism": 0}, 0),
        ({"parallelism": None, "completions": None}, 1),
    ],
)
def test_a_cron_job_asks_for_what_its_pods_need_at_once(job, number):
    """Not for what all of its completions need one after another."""
    own = announcement_from("CronJob", raw(spec=cron({**job, "template": template()})))
    assert (own.requests if own else Counts()) == Counts({ONE: number})


def test_a_cron_job_tells_its_times():
    """Schedule, zone, and whether it is suspended."""
    spec = cron({"template": template()}, timeZone="Asia/Shanghai", suspend=True)
    own = announcement_from("CronJob", raw(spec=spec))
    assert (own.schedule, own.time_zone) == ("0 9 * * *", "Asia/Shanghai")
    assert own.is_suspended
    assert own.title == "CronJob team/a"


def test_who_announces_nothing_is_left_out():
    """Most Jobs and Namespaces, and CronJobs without GPUs."""
    assert announcement_from("Namespace", raw()) is None
    assert announcement_from("Job", raw(spec={"template": template()})) is None
    assert announcement_from("CronJob", raw(spec=cron({"template": template(cpu="1")}))) is None


def test_a_job_that_has_ended_announces_nothing_more():
    """Whatever its annotation says."""
    ended = [{"type": "Complete", "status": "True"}]
    assert announcement_from("Job", raw("3g.20gb=1", conditions=ended)) is None
    running = [{"type": "Complete", "status": "False"}]
    assert announcement_from("Job", raw("3g.20gb=1", conditions=running)) is not None


def test_a_namespace_is_its_own_namespace():
    """So that its pods can be told."""
    own = announcement_from(
        "Namespace", {"metadata": {"name": "t", "annotations": {PEAK: "x"}}}
    )
    assert (own.namespace, own.name, own.text) == ("t", "t", "x")


@pytest.mark.parametrize("kind", ["Namespace", "Job", "CronJob"])
@pytest.mark.parametrize(
    "odd",
    [{}, {"metadata": None, "spec": 7}, {"metadata": [], "status": {"conditions": "x"}}],
)
def test_odd_objects_announce_nothing(kind, odd):
    """And break no list."""
    assert announcement_from(kind, odd) is None


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"parallelism": -5}, "spec.parallelism: -5 is below zero"),
        ({"parallelism": "x"}, "spec.parallelism = 'x'"),
        ({"completions": 1.5}, "spec.completions = 1.5"),
        ({"template": template(**{ONE: "-1"})}, "negative"),
        ({"template": template(**{ONE: "NaN"})}, "not a quantity"),
    ],
)
def test_what_a_cron_job_asks_for_in_odd_numbers_is_not_known(job, said):
    """It announces nothing, and that is told."""
    own = announcement_from("CronJob", raw(spec=cron({"template": template(), **job})))
    assert own.requests == Counts()
    assert said in own.fault


def test_odd_numbers_of_jobs_without_gpus_are_no_business_of_ours():
    """Whatever else is wrong with them."""
    job = {"template": template(cpu="x"), "parallelism": -1}
    assert announcement_from("CronJob", raw(spec=cron(job))) is None
