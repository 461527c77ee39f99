"""A bundle is what the scheduler reserves for a pod."""

import pytest

from autoscaler.domain.cluster.bundle import (
    compute_of_others,
    effective_compute,
    effective_request,
)
from autoscaler.domain.cluster.objects import Container
from autoscaler.domain.counts import Counts
from tests.builders import pod

R = "nvidia.com/mig-1g.5gb"
S = "nvidia.com/mig-2g.10gb"


def main(number, resource=R):
    """Return a container that runs to the end."""
    return Container("main", Counts({resource: number}))


def init(number, resource=R):
    """Return a container that runs before."""
    return Container("init", Counts({resource: number}), init=True)


def sidecar(number, resource=R):
    """Return an init container that stays."""
    return Container("side", Counts({resource: number}), init=True, sidecar=True)


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ((), {}),
        ((main(1),), {R: 1}),
        ((main(1), main(2)), {R: 3}),
        ((init(2), main(1)), {R: 2}),
        ((init(1), init(3), main(2)), {R: 3}),
        ((sidecar(1), main(1)), {R: 2}),
        ((sidecar(1), init(3), main(1)), {R: 4}),
        ((init(3), sidecar(1), main(1)), {R: 3}),
        ((sidecar(1), sidecar(1), init(1), main(1)), {R: 3}),
        ((init(2, S), main(1)), {R: 1, S: 2}),
        ((main(1), main(1, S)), {R: 1, S: 1}),
    ],
)
def test_the_request_is_the_largest_that_runs_at_once(containers, expected):
    """Sidecars run beside every later init container and beside the main ones."""
    assert effective_request(pod(containers=containers)) == Counts(expected)


def test_other_resources_of_the_maker_are_no_gpus():
    """Network devices share the prefix."""
    amounts = Counts({"nvidia.com/hostdev": 4, "nvidia.com/gpu": 1})
    assert effective_request(pod(requests=amounts)) == Counts({"nvidia.com/gpu": 1})


def test_cpu_and_memory_follow_the_same_rule():
    """One container counts as it is."""
    small = Container("a", cpu_milli=500, memory_bytes=10)
    large = Container("b", cpu_milli=2000, memory_bytes=5, init=True)
    assert effective_compute(pod(containers=(small,))) == (500, 10)
    assert effective_compute(pod(containers=(large, small, small))) == (2000, 20)


def test_lasting_takers_of_cpu_are_pods_without_gpus():
    """Not those that have ended, are going, wait, or come and go with their GPU."""
    asks = Container("main", cpu_milli=500, memory_bytes=7)
    gpu = Container("main", Counts({R: 1}), cpu_milli=500)
    pods = (
        pod("a", node="node-a", phase="Running", containers=(asks,)),
        pod("b", node="node-a", phase="Running", containers=(asks,)),
        pod("c", node="node-a", phase="Running", containers=(gpu,)),
        pod("d", node="node-a", phase="Succeeded", containers=(asks,)),
        pod("e", node="node-a", phase="Running", containers=(asks,), deletion_s=1.0),
        pod("f", containers=(asks,)),
    )
    assert compute_of_others(pods) == {"node-a": (1000, 14)}
