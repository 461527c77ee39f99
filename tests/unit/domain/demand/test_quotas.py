"""Pending pods beyond what their namespace may use."""

from autoscaler.domain.cluster.objects import Quota
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.quotas import pods_over_quota
from tests.builders import NOW_S, pod

R = "nvidia.com/mig-1g.5gb"


def over(*pods, hard=4, forbidden=(), namespace="default"):
    """Return the names of the pods beyond a quota."""
    limits = Counts({R: hard} if hard else {})
    quota = Quota(namespace, "gpus", hard=limits, used=Counts(), forbidden=forbidden)
    return [ref.name for ref in pods_over_quota(pods, (quota,))]


def waiting(name, age_s, number=1):
    """Return a pending pod."""
    return pod(name, {R: number}, created_s=NOW_S - age_s)


def test_what_a_quota_counts_as_used_includes_pending_pods():
    """Four pods within four are all demand, though the quota is exhausted."""
    bound = [pod(f"r{i}", node="a") for i in range(3)]
    assert over(*bound, waiting("w", 10.0)) == []


def test_the_youngest_pods_are_beyond_a_lowered_quota():
    """Order of age, not of the list."""
    pods = [waiting("young", 10.0), waiting("old", 99.0), pod("r", node="a")]
    assert over(*pods, hard=2) == ["young"]


def test_a_large_pod_that_is_beyond_lets_smaller_ones_pass():
    """They are within what is left."""
    assert over(waiting("large", 99.0, 5), waiting("small", 10.0)) == ["large"]


def test_ended_pods_and_other_namespaces_use_nothing():
    """A quota is of its own namespace."""
    ended = [pod(f"e{i}", node="a", phase="Succeeded") for i in range(9)]
    assert over(*ended, waiting("w", 10.0)) == []
    assert over(waiting("w", 10.0, 9), namespace="other") == []


def test_a_quota_that_forbids_a_resource_lets_nothing_pass():
    """Zero is a limit; a resource that is not named has none."""
    assert over(waiting("w", 10.0), hard=0, forbidden=(R,)) == ["w"]
    assert over(waiting("w", 10.0, 9), hard=0) == []


def test_the_sentence_has_the_numbers():
    """What is allowed, taken and asked for."""
    quota = Quota("default", "gpus", hard=Counts({R: 1}), used=Counts())
    found = pods_over_quota([pod("r", node="a"), waiting("w", 10.0, 2)], (quota,))
    (text,) = found.values()
    assert f"quota gpus of namespace default allows 1 {R}, 1 are taken" in text
    assert text.endswith("asks for 2")
