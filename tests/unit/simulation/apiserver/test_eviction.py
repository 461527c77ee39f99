"""Evictions: the arithmetic of disruption budgets, and its odd cases."""

from typing import Any

import pytest

from autoscaler.ports import DISRUPTION_BUDGETS, PODS
from autoscaler.simulation.apiserver.request import Verb
from autoscaler.simulation.apiserver.status import StatusError
from tests.api import NS, Api
from tests.builders import raw_budget, raw_pod


def add_budget(api: Api, name: str = "guard", allowed: int = 1, **spec: Any) -> None:
    """Create a budget that its controller has looked at."""
    body = raw_budget(name, allowed, **spec)
    api.client.create(DISRUPTION_BUDGETS, NS, body)
    api.client.patch(DISRUPTION_BUDGETS, NS, name, {"status": body["status"]}, "status")


def evict(api: Api, name: str = "a", **more: Any) -> dict:
    """Send an eviction."""
    body = {"metadata": {"name": name}, **more.pop("body", {})}
    return api.ask(Verb.CREATE, PODS, name, subresource="eviction", body=body, **more)


def refusal(api: Api, name: str = "a", **more: Any) -> StatusError:
    """Return why an eviction is refused."""
    with pytest.raises(StatusError) as refused:
        evict(api, name, **more)
    return refused.value


def is_going(api: Api, name: str = "a") -> bool:
    return "deletionTimestamp" in api.client.get(PODS, NS, name)["metadata"]


def allowed(api: Api, name: str = "guard") -> int:
    return api.client.get(DISRUPTION_BUDGETS, NS, name)["status"]["disruptionsAllowed"]


def test_an_eviction_marks_the_pod_and_charges_the_budget() -> None:
    """With the reason as a condition, so that its owner can tell."""
    api = Api()
    api.run_pod("a")
    add_budget(api)
    assert evict(api)["status"] == "Success"
    pod = api.client.get(PODS, NS, "a")
    assert pod["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"
    assert is_going(api)
    status = api.client.get(DISRUPTION_BUDGETS, NS, "guard")["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["a"]


def test_a_used_up_budget_is_named_without_a_time_to_wait() -> None:
    """429 with the numbers in a cause."""
    api = Api()
    api.run_pod("a")
    add_budget(api, allowed=0)
    error = refusal(api)
    assert (error.code, error.reason) == (429, "TooManyRequests")
    assert error.as_json()["details"] == {
        "causes": [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget guard needs 1 healthy pods and has 1"
                " currently",
            }
        ]
    }
    assert not is_going(api)


def test_a_budget_that_nobody_looked_at_allows_nothing() -> None:
    """Its numbers are of an older generation."""
    api = Api()
    api.run_pod("a")
    add_budget(api)
    api.client.patch(DISRUPTION_BUDGETS, NS, "guard", {"spec": {"minAvailable": 0}})
    error = refusal(api)
    assert error.code == 429
    assert "still being processed" in error.sentence()


def test_two_budgets_are_an_internal_error() -> None:
    """500 with an empty reason."""
    api = Api()
    api.run_pod("a")
    add_budget(api, "one")
    add_budget(api, "two")
    error = refusal(api)
    assert (error.code, error.reason) == (500, "")
    assert not is_going(api)


def test_an_eviction_with_a_wrong_uid_uses_the_budget_up_all_the_same() -> None:
    """409, and the next one is refused until the budget is counted again."""
    api = Api()
    api.run_pod("a")
    add_budget(api)
    options = {"deleteOptions": {"preconditions": {"uid": "other"}}}
    assert refusal(api, body=options).code == 409
    assert refusal(api).code == 429
    assert not is_going(api)


def test_the_right_uid_evicts() -> None:
    """The precondition is met although the condition was just written."""
    api = Api()
    uid = api.run_pod("a")["metadata"]["uid"]
    evict(api, body={"deleteOptions": {"preconditions": {"uid": uid}, "gracePeriodSeconds": 4}})
    assert api.client.get(PODS, NS, "a")["metadata"]["deletionGracePeriodSeconds"] == 4


@pytest.mark.parametrize("in_options", [True, False])
def test_a_trial_run_keeps_pod_and_budget(in_options) -> None:
    """Asked for in the options or in the path."""
    api = Api()
    api.run_pod("a")
    add_budget(api)
    body = {"deleteOptions": {"dryRun": ["All"]}} if in_options else {}
    evict(api, body=body, dry_run=not in_options)
    assert not is_going(api)
    assert allowed(api) == 1


@pytest.mark.parametrize(
    ("spec", "healthy", "evicted"),
    [
        ({}, 2, True),
        ({}, 0, False),
        ({"unhealthyPodEvictionPolicy": "AlwaysAllow"}, 0, True),
        ({"unhealthyPodEvictionPolicy": "IfHealthyBudget"}, 0, False),
    ],
)
def test_a_pod_that_is_not_ready(spec, healthy, evicted) -> None:
    """Goes for free when the others are enough, or when the budget says always."""
    api = Api()
    api.run_pod("a", ready=False)
    add_budget(api, allowed=0, **spec)
    status = {"status": {"currentHealthy": healthy}}
    api.client.patch(DISRUPTION_BUDGETS, NS, "guard", status, "status")
    if evicted:
        evict(api)
    else:
        assert refusal(api).code == 429
    assert is_going(api) is evicted
    assert allowed(api) == 0


def test_pods_that_no_budget_counts_go_for_free() -> None:
    """Pending ones and those that are going anyway."""
    api = Api()
    api.client.create(PODS, NS, raw_pod("pending"))
    api.run_pod("a")
    api.client.delete(PODS, NS, "a")
    add_budget(api, allowed=0)
    evict(api, "pending")
    evict(api, "a")
    assert api.names(PODS) == ["a"]


def test_budgets_of_other_pods_do_not_matter() -> None:
    """Neither another selector nor another namespace; an empty selector means all."""
    api = Api()
    api.run_pod("a")
    add_budget(api, allowed=0, selector={"matchLabels": {"app": "other"}})
    evict(api)
    api.run_pod("b")
    add_budget(api, "all", allowed=0, selector={})
    assert refusal(api, "b").code == 429


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"metadata": {"name": "other"}}, 400),
        ({"apiVersion": "policy/v1beta1", "kind": "Eviction"}, 400),
        ({"apiVersion": "policy/v1", "kind": "Exile"}, 400),
    ],
)
def test_malformed_evictions(body, code) -> None:
    """Refused before anything is looked at."""
    api = Api()
    api.run_pod("a")
    assert refusal(api, body=body).code == code
    assert refusal(api, "missing").code == 404


def test_bindings_are_checked_against_the_pod() -> None:
    """One node each, not while it goes, not while it is gated, not for another uid."""
    api = Api()
    target = {"target": {"kind": "Node", "name": "gpu-1"}}

    def bind(name: str, **more: Any) -> int:
        body = {**target, **more}
        return api.code(Verb.CREATE, PODS, name, subresource="binding", body=body)

    api.client.create(PODS, NS, raw_pod("a"))
    assert bind("a", metadata={"uid": "other"}) == 409
    assert bind("a", target={"kind": "Node"}) == 422
    assert bind("a", metadata={"annotations": {"gpu": "0"}}) == 0
    bound = api.client.get(PODS, NS, "a")
    assert bound["metadata"]["annotations"] == {"gpu": "0"}
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    assert bind("a") == 409
    api.client.create(PODS, NS, raw_pod("gated", schedulingGates=[{"name": "g"}]))
    assert bind("gated") == 409
    pod = raw_pod("going")
    pod["metadata"]["finalizers"] = ["test/x"]
    api.client.create(PODS, NS, pod)
    api.client.delete(PODS, NS, "going")
    assert bind("going") == 409
