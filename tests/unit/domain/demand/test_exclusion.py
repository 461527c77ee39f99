"""Why a pod that asks for GPUs is not demand."""

import pytest

from autoscaler.domain.demand.exclusion import Rules, concerns_gpus, exclude
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, pod

FAULT = "spec.containers[0].resources.limits[nvidia.com/mig-1g.5gb] = '-1': negative"


def rules(**changes):
    """Return the usual rules."""
    base = {"operator_namespace": "gpu-operator", "min_age_s": 0.0, "now_s": NOW_S}
    return Rules(**{**base, **changes})


def reason(own, **changes):
    """Return why a pod is excluded, if it is."""
    note = exclude(own, rules(**changes))
    return None if note is None else note.reason


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        ({"namespace": "gpu-operator"}, Reason.OPERATOR_POD),
        ({"annotations": {"kubernetes.io/config.mirror": "x"}, "node": "a"}, Reason.MIRROR_POD),
        ({"phase": "Succeeded", "node": "a"}, Reason.FINISHED),
        ({"phase": "Failed"}, Reason.FINISHED),
        ({"node": "a"}, Reason.BOUND),
        ({"node": "a", "deletion_s": NOW_S}, Reason.BOUND),
        ({"deletion_s": NOW_S}, Reason.TERMINATING),
        ({"faults": (FAULT,)}, Reason.UNREADABLE),
        ({"requests": {}, "claims": True}, Reason.CLAIMS),
        ({"claims": True}, None),
        ({"gates": ("kueue.x-k8s.io/admission",)}, Reason.GATED),
    ],
)
def test_the_first_reason_that_applies_is_told(changes, expected):
    """A pod that asks for an instance beside a claim of something else is demand."""
    assert reason(pod(**changes)) is expected


def test_young_pods_do_not_count_yet():
    """Age is that of the pod; the least age counts already."""
    own = pod(created_s=NOW_S - 60.0)
    assert reason(own, min_age_s=60.0) is None
    assert reason(own, min_age_s=61.0) is Reason.TOO_YOUNG
    note = exclude(own, rules(min_age_s=90.0))
    assert note is not None
    assert note.message == "pending for 1m, counts from 1m30s"


def test_nominated_and_over_quota_pods_are_told_with_their_sentence():
    """Both are found elsewhere."""
    own = pod(nominated_node="node-a")
    assert reason(own, nominated=frozenset({own.ref})) is Reason.NOMINATED
    note = exclude(own, rules(over_quota={own.ref: "quota gpus allows 4"}))
    assert note is not None
    assert (note.reason, note.message) == (Reason.OVER_QUOTA, "quota gpus allows 4")


@pytest.mark.parametrize(
    ("changes", "concerns"),
    [
        ({}, True),
        ({"requests": {"nvidia.com/hostdev": 1}}, False),
        ({"requests": {}}, False),
        ({"requests": {}, "faults": (FAULT,)}, True),
        ({"requests": {}, "faults": ("metadata.labels: not an object",)}, False),
        ({"requests": {}, "claims": True}, True),
        ({"requests": {}, "claims": True, "node": "a"}, False),
    ],
)
def test_pods_without_any_word_of_gpus_are_not_ours(changes, concerns):
    """An amount that cannot be read may be of a GPU."""
    assert concerns_gpus(pod(**changes)) is concerns
