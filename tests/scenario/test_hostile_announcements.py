"""Announcements that anybody may write: what cannot be read is told and does not count."""

import pytest

from autoscaler.domain.cluster.marks import PEAK
from tests.commands import Shell
from tests.dumps import (
    AT,
    LONG_AGO,
    SEVEN,
    dump_configurations,
    dump_node,
    dump_pod,
    write_dump,
)

SMALLS = [SEVEN, SEVEN]
HALF = "nvidia.com/mig-3g.20gb"
TITLES = {
    "Namespace": "Namespace team",
    "Job": "Job team/nightly",
    "CronJob": "CronJob team/nightly",
}


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def announcing(kind, text, schedule="*/5 * * * *", **spec):
    """Return an object with the annotation; its pods ask for halves."""
    container = {"name": "main", "resources": {"limits": {HALF: "1"}}}
    job = {"template": {"spec": {"containers": [container]}}}
    specs = {
        "Namespace": {},
        "Job": {"suspend": True, **job},
        "CronJob": {"schedule": schedule, "jobTemplate": {"spec": job}, **spec},
    }
    metadata = {"name": TITLES[kind].split()[-1].split("/")[-1], "creationTimestamp": LONG_AGO}
    if kind != "Namespace":
        metadata["namespace"] = "team"
    metadata["annotations"] = {PEAK: text} if text else {}
    version = "v1" if kind == "Namespace" else "batch/v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": specs[kind]}


def planned(shell, tmp_path, *objects):
    """Return the plan of two idle nodes of small instances, and the notices on peaks."""
    nodes = [dump_node(name, layout=SMALLS) for name in ("gpu-1", "gpu-2")]
    path = write_dump(
        tmp_path, *nodes, dump_pod("w", "1g.5gb"), dump_configurations([SMALLS]), *objects
    )
    data = shell.plan(path, at=AT).json
    return data, [notice for notice in data["notices"] if "does not count" in notice]


@pytest.mark.parametrize("kind", TITLES)
@pytest.mark.parametrize(
    "text",
    [
        "   ",
        ";;;",
        "null",
        "[]",
        "[" * 4000,
        "\x00",
        "x" * 5000,
        "3g.20gb=-2 11:00-13:00",
        "3g.20gb=0 11:00-13:00",
        "3g.20gb=999999999 11:00-13:00",
        f"3g.20gb={'9' * 3000} 11:00-13:00",
        "3g.20gb=1 12:00-12:00",
        "3g.20gb=1 25:00-26:00",
        "3g.20gb=1 11:00-13:00 Mars/Olympus",
        "3g.20gb=1 11:00-13:00 ../../etc/passwd",
        "3g.20gb=1 11:00-13:00 UTC UTC",
        "3g.20gb=1 mon,someday 11:00-13:00",
        "9g.90gb=1 11:00-13:00",
        "3g.20gb=1 for=1e999h",
        "3g.20gb=1 for=-1h",
        '{"profiles": {"3g.20gb": NaN}}',
        '{"profiles": {"3g.20gb": 1e400}, "start": "11:00", "end": "13:00"}',
    ],
)
def test_an_annotation_that_cannot_be_read_is_told(shell, tmp_path, kind, text):
    """By the object's kind and name; nothing is made ready for it."""
    data, told = planned(shell, tmp_path, announcing(kind, text))
    assert "scheduled" not in data["terms"]["avoided"]
    assert len(told) == 1
    assert TITLES[kind] in told[0]


@pytest.mark.parametrize(
    ("schedule", "zone"),
    [
        ("", "UTC"),
        ("@every 1h", "UTC"),
        ("@reboot", "UTC"),
        ("61 * * * *", "UTC"),
        ("* * * *", "UTC"),
        ("0 0 31 2 *", "UTC"),
        ("*/0 * * * *", "UTC"),
        ("CRON_TZ=Asia/Tokyo 0 12 * * *", "UTC"),
        ("*" * 5000, "UTC"),
        ("*/5 * * * *", "Mars/Phobos"),
        ("*/5 * * * *", "../../../etc/passwd"),
        ("*/5 * * * *", "utc\x00"),
    ],
)
def test_a_cron_job_whose_times_cannot_be_foreseen_is_told(shell, tmp_path, schedule, zone):
    """It may run all the same; its pods are demand as soon as they are there."""
    own = announcing("CronJob", "", schedule, timeZone=zone)
    data, told = planned(shell, tmp_path, own)
    assert "scheduled" not in data["terms"]["avoided"]
    assert len(told) == 1
    assert "CronJob team/nightly" in told[0]


def test_one_that_can_be_read_counts_beside_those_that_cannot(shell, tmp_path):
    """So the parts of this file prove something."""
    good = announcing("Namespace", "3g.20gb=2 11:00-13:00")
    bad = announcing("CronJob", "nonsense")
    data, told = planned(shell, tmp_path, good, bad)
    assert set(data["terms"]["avoided"]["scheduled"]) == {HALF}
    assert len(told) == 1


@pytest.mark.parametrize("quota", ["2", "0", "-3", "NaN", "1e30", None, "x"])
def test_queued_work_counts_as_far_as_quota_is_free(shell, tmp_path, quota):
    """Four workloads of one half each wait in a queue of Kueue with some quota."""
    resource = {"name": HALF, "nominalQuota": quota}
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": "gpus"},
        "spec": {
            "resourceGroups": [
                {
                    "coveredResources": [HALF],
                    "flavors": [{"name": "f", "resources": [resource]}],
                }
            ]
        },
    }
    local = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": "jobs", "namespace": "team"},
        "spec": {"clusterQueue": "gpus"},
    }
    data, _ = planned(shell, tmp_path, queue, local, *(workload(i) for i in range(4)))
    worth = data["terms"]["avoided"].get("queued", {}).get(HALF, 0.0)
    counted = {"2": 2, "1e30": 4}.get(str(quota), 0)
    assert worth == pytest.approx(counted * one_queued(shell, tmp_path, queue, local))


def workload(number):
    """Return a workload of Kueue that waits."""
    container = {"name": "main", "resources": {"requests": {HALF: "1"}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": f"w-{number}", "namespace": "team", "creationTimestamp": LONG_AGO},
        "spec": {"queueName": "jobs", "podSets": [pods]},
    }


def one_queued(shell, tmp_path, queue, local):
    """Return what one workload with free quota is worth."""
    flavors = [{"name": "f", "resources": [{"name": HALF, "nominalQuota": "9"}]}]
    groups = [{"coveredResources": [HALF], "flavors": flavors}]
    able = {**queue, "spec": {"resourceGroups": groups}}
    data, _ = planned(shell, tmp_path, able, local, workload(0))
    return data["terms"]["avoided"]["queued"][HALF]
