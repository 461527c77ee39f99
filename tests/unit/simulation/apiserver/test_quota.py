"""Quotas: what counts, what is refused, and a status that is always right."""

import pytest

from autoscaler.ports import PODS, QUOTAS
from autoscaler.simulation.apiserver.request import Verb
from autoscaler.simulation.apiserver.status import StatusError
from tests.api import NS, Api, named
from tests.builders import raw_pod

MIG = "nvidia.com/mig-1g.5gb"
KEY = f"requests.{MIG}"


def limited(**hard: str) -> Api:
    """Return an API with one quota."""
    api = Api()
    api.client.create(QUOTAS, NS, named("q", spec={"hard": hard}))
    return api


def used(api: Api) -> dict:
    return api.client.get(QUOTAS, NS, "q")["status"]["used"]


def test_the_refusal_says_asked_used_and_allowed() -> None:
    """In the words of the server."""
    api = limited(**{KEY: "4"})
    api.client.create(PODS, NS, raw_pod("a", {MIG: 3}))
    with pytest.raises(StatusError) as refused:
        api.ask(Verb.CREATE, PODS, body=raw_pod("b", {MIG: 2}))
    assert refused.value.code == 403
    assert refused.value.message == (
        f'pods "b" is forbidden: exceeded quota: q, requested: {KEY}=2, used: {KEY}=3,'
        f" limited: {KEY}=4"
    )


def test_use_falls_with_deletion_and_with_the_end_of_a_pod() -> None:
    """At once in both cases."""
    api = limited(**{KEY: "9", "pods": "9"})
    assert used(api) == {"pods": "0", KEY: "0"}
    api.run_pod("a")
    api.client.create(PODS, NS, raw_pod("b", {MIG: 3}))
    assert used(api) == {"pods": "2", KEY: "4"}
    api.client.delete(PODS, NS, "b")
    assert used(api) == {"pods": "1", KEY: "1"}
    api.client.patch(PODS, NS, "a", {"status": {"phase": "Succeeded"}}, "status")
    assert used(api) == {"pods": "0", KEY: "0"}


def test_a_key_without_requests_is_never_enforced() -> None:
    """Accepted, shown, without effect."""
    api = limited(**{MIG: "1"})
    api.client.create(PODS, NS, raw_pod("a", {MIG: 5}))
    assert used(api) == {}


def test_the_effective_request_counts() -> None:
    """Steps before the containers count by the largest, sidecars with the containers."""
    api = limited(**{KEY: "9"})
    pod = raw_pod("a", {MIG: 2})

    def step(name: str, number: int, **more: str) -> dict:
        return {
            "name": name,
            "image": "x",
            "resources": {"limits": {MIG: str(number)}},
            **more,
        }

    sidecar = step("side", 1, restartPolicy="Always")
    pod["spec"]["initContainers"] = [step("first", 3), sidecar, step("second", 3)]
    api.client.create(PODS, NS, pod)
    assert used(api) == {KEY: "4"}


def test_other_namespaces_have_their_own_quotas() -> None:
    """What happens elsewhere does not count."""
    api = limited(pods="1")
    api.add_namespace("x")
    for name in "ab":
        api.client.create(PODS, "x", raw_pod(name))
    assert used(api) == {"pods": "0"}


def test_fractions_are_added_up() -> None:
    """Cpu in thousandths."""
    api = limited(cpu="1")
    for name in "ab":
        api.client.create(PODS, NS, raw_pod(name, {"cpu": "300m"}))
    assert used(api) == {"cpu": "600m"}
    assert api.code(Verb.CREATE, PODS, body=raw_pod("c", {"cpu": "500m"})) == 403
