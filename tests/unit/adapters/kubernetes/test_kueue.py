"""Raw objects of Kueue, and a pass over an API that has them, or not."""

import pytest

from autoscaler.adapters.kubernetes.kinds import KUEUE
from autoscaler.adapters.kubernetes.kueue import cluster_queue_from, kueue_from
from autoscaler.adapters.kubernetes.listing import Pass
from autoscaler.domain.cluster.queueing import instances_to_come
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import NotFound, Unavailable
from autoscaler.ports import Page

ONE = "nvidia.com/mig-1g.5gb"
LOCAL = {"metadata": {"namespace": "team", "name": "lq"}, "spec": {"clusterQueue": "cq"}}


def workload(name="w", count=2, **changes):
    """Return a workload that waits for instances."""
    resources = {"requests": {ONE: "1", "cpu": "4"}}
    pod = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
    spec = {"queueName": "lq", "podSets": [{"name": "main", "count": count, "template": pod}]}
    conditions = [{"type": kind, "status": "True"} for kind in changes.pop("conditions", ())]
    return {
        "metadata": {"namespace": "team", "name": name},
        "spec": {**spec, **changes},
        "status": {"conditions": conditions},
    }


def cluster_queue(nominal="4", reserved=None, **spec):
    """Return a ClusterQueue with one flavor."""
    flavor = {"name": "a100", "resources": [{"name": ONE, "nominalQuota": nominal}]}
    group = {"coveredResources": ["cpu", ONE], "flavors": [flavor]}
    used = [{"name": "a100", "resources": [{"name": ONE, "total": reserved}]}]
    return {
        "metadata": {"name": "cq"},
        "spec": {"resourceGroups": [group], **spec},
        "status": {"flavorsReservation": used} if reserved is not None else {},
    }


def read(*workloads, queue=None):
    """Return what is read, and the notices."""
    notices = []
    found = kueue_from(workloads, [LOCAL], [queue or cluster_queue()], notices)
    return found, notices


def test_a_workload_that_waits_counts_with_all_its_pods():
    """By way of its LocalQueue."""
    found, notices = read(workload())
    (own,) = found.workloads
    assert (own.queue, own.requests, own.has_quota) == ("cq", Counts({ONE: 2}), False)
    assert notices == []
    assert instances_to_come(found)[0] == Counts({ONE: 2})


@pytest.mark.parametrize(
    "own",
    [
        workload(conditions=("QuotaReserved", "Admitted")),
        workload(conditions=("Finished",)),
        workload(active=False),
        workload(count=0),
        workload(podSets=[]),
    ],
    ids=["admitted", "finished", "deactivated", "no pods", "no pod sets"],
)
def test_a_workload_that_does_not_wait_for_gpus_is_left_out(own):
    """Its pods, if it has any, speak for themselves."""
    assert read(own)[0].workloads == ()


def test_a_workload_with_quota_waits_for_checks_only():
    """It will start whatever else is queued."""
    (own,) = read(workload(conditions=("QuotaReserved",)))[0].workloads
    assert own.has_quota


def test_quotas_of_all_flavors_add_up():
    """Nominal less reserved is what is left."""
    own = cluster_queue(5, "2")
    own["spec"]["resourceGroups"][0]["flavors"] *= 2
    queue = cluster_queue_from(own, [])
    assert (queue.nominal, queue.reserved) == (Counts({ONE: 10}), Counts({ONE: 2}))
    assert queue.covered == {ONE}


def test_strategy_and_stops_are_read():
    """As the API names them."""
    strict = cluster_queue_from(cluster_queue(queueingStrategy="StrictFIFO"), [])
    held = cluster_queue_from(cluster_queue(stopPolicy="HoldAndDrain"), [])
    assert (strict.is_strict, strict.is_stopped) == (True, False)
    assert (held.is_strict, held.is_stopped) == (False, True)


def test_what_cannot_be_read_is_left_out_and_said():
    """One odd object does not cost the others."""
    found, notices = read(workload("odd", podSets="x"), workload(), queue=cluster_queue("many"))
    assert [own.name for own in found.workloads] == ["w"]
    assert found.queues == ()
    assert [notice.split(" is not counted")[0] for notice in sorted(notices)] == [
        "ClusterQueue cq",
        "Workload team/odd",
    ]


class Served:
    """A client of an API that serves Kueue's kinds in one version, and nothing else."""

    def __init__(self, version, items, error=None):
        self.version, self.items, self.error = version, items, error

    def list(self, kind, namespace=None, label_selector="", field_selector=""):
        if kind.group != KUEUE or kind.version != self.version:
            raise NotFound(f"{kind.plural} are not served")
        if self.error is not None:
            raise self.error
        return Page(tuple(self.items[kind.name]), "1")


ITEMS = {"Workload": [workload()], "LocalQueue": [LOCAL], "ClusterQueue": [cluster_queue()]}


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_the_newest_version_that_is_served_is_read(version):
    """Clusters move on at their own pace."""
    found = Pass(Served(version, ITEMS))._kueue()
    assert instances_to_come(found)[0] == Counts({ONE: 2})


def test_a_cluster_without_kueue_has_no_queues():
    """Not empty ones: then metrics may know of others."""
    own = Pass(Served("none", ITEMS))
    assert own._kueue() is None
    assert own.notices == []


def test_trouble_of_kueue_is_a_notice_and_no_more():
    """Its conversion webhook is down; nodes and pods can still be read."""
    own = Pass(Served("v1beta2", ITEMS, Unavailable("webhook down")))
    assert own._kueue() is None
    assert own.notices == ["the queues of Kueue are not read: webhook down"]
