"""What holds of the store under any sequence of requests."""

import threading
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from autoscaler.domain.errors import Conflict, NotFound, Refused
from autoscaler.ports import CONFIG_MAPS, PODS, QUOTAS, RawObject
from autoscaler.simulation.apiserver.request import Query, Request, Verb
from autoscaler.simulation.apiserver.selectors import label_matcher
from autoscaler.simulation.apiserver.watching import Watch
from tests.api import NS, Api, named
from tests.builders import raw_pod

NAMES = st.sampled_from(["a", "b", "c"])
NODES_OF_PODS = st.sampled_from(["gpu-1", "gpu-2"])
APPS = st.sampled_from(["train", "serve", None])
SELECTORS = ("", "app=train", "app!=train", "!app")
MIG = "nvidia.com/mig-1g.5gb"


class Requests(RuleBasedStateMachine):
    """Random requests; after each, every watcher and every total must agree with the list."""

    @initialize()
    def start(self) -> None:
        """Open a watch for each selector, before anything is there."""
        self.api = Api()
        quota = named("q", spec={"hard": {f"requests.{MIG}": "5", "pods": "9"}})
        self.api.client.create(QUOTAS, NS, quota)
        self.watches: dict[str, tuple[Watch, dict[str, RawObject]]] = {
            selector: (self.open(selector), {}) for selector in SELECTORS
        }
        self.versions = [int(self.api.store.version)]

    def open(self, selector: str) -> Watch:
        query = Query(label_selector=selector, resource_version=self.api.store.version)
        return self.api.store.watch(Request(Verb.WATCH, PODS, NS, query=query))

    def attempt(self, call: Any, *arguments: Any) -> None:
        """Send a request that may be refused."""
        try:
            call(*arguments)
        except (Conflict, NotFound, Refused):
            return

    @rule(name=NAMES, number=st.integers(0, 3))
    def create(self, name: str, number: int) -> None:
        self.attempt(self.api.client.create, PODS, NS, raw_pod(name, {MIG: number}))

    @rule(name=NAMES, app=APPS)
    def label(self, name: str, app: str | None) -> None:
        body = {"metadata": {"labels": {"app": app}}}
        self.attempt(self.api.client.patch, PODS, NS, name, body)

    @rule(name=NAMES, node=NODES_OF_PODS)
    def bind(self, name: str, node: str) -> None:
        body = {"target": {"name": node}}
        self.attempt(self.api.client.post, PODS, NS, name, "binding", body)

    @rule(name=NAMES, phase=st.sampled_from(["Running", "Succeeded", "Failed"]))
    def run(self, name: str, phase: str) -> None:
        body = {"status": {"phase": phase}}
        self.attempt(self.api.client.patch, PODS, NS, name, body, "status")

    @rule(name=NAMES, grace=st.sampled_from([None, 0, 5]))
    def delete(self, name: str, grace: int | None) -> None:
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        self.attempt(self.api.client.delete, PODS, NS, name, options)

    @rule(name=NAMES)
    def evict(self, name: str) -> None:
        body = {"metadata": {"name": name}}
        self.attempt(self.api.client.post, PODS, NS, name, "eviction", body)

    @precondition(lambda self: hasattr(self, "api"))
    @invariant()
    def watchers_know_what_a_list_shows(self) -> None:
        """Replaying the changes gives the list, through every selector."""
        pods = self.api.client.list(PODS, NS).items
        for selector, (watching, known) in self.watches.items():
            for change in watching.take(0):
                name = change.object["metadata"]["name"]
                assert (change.type == "ADDED") is (name not in known)
                if change.type == "DELETED":
                    del known[name]
                else:
                    known[name] = change.object
            matches = label_matcher(selector)
            shown = {
                p["metadata"]["name"]: p
                for p in pods
                if matches(p["metadata"].get("labels") or {})
            }
            assert known == shown

    @precondition(lambda self: hasattr(self, "api"))
    @invariant()
    def quotas_are_exact_and_never_exceeded(self) -> None:
        """The running total is the sum over the pods that have not ended."""
        pods = self.api.client.list(PODS, NS).items
        alive = [p for p in pods if p["status"]["phase"] not in {"Succeeded", "Failed"}]
        asked = sum(
            int(p["spec"]["containers"][0]["resources"].get("requests", {}).get(MIG, 0))
            for p in alive
        )
        used = self.api.client.get(QUOTAS, NS, "q")["status"]["used"]
        assert used == {f"requests.{MIG}": str(asked), "pods": str(len(alive))}
        assert asked <= 5

    @precondition(lambda self: hasattr(self, "api"))
    @invariant()
    def versions_only_grow(self) -> None:
        """No object is newer than the store, and the store never goes back."""
        version = int(self.api.store.version)
        assert version >= self.versions[-1]
        self.versions.append(version)
        for pod in self.api.client.list(PODS, NS).items:
            assert int(pod["metadata"]["resourceVersion"]) <= version


Requests.TestCase.settings = settings(max_examples=40, stateful_step_count=25)
TestRequests = Requests.TestCase


def test_no_update_is_lost_between_threads() -> None:
    """Read, add one, write with the version, try again on conflict: all arrive."""
    api = Api()
    api.client.create(CONFIG_MAPS, NS, named("counter", data={"n": "0"}))

    def count() -> None:
        done = 0
        while done < 50:
            item = api.client.get(CONFIG_MAPS, NS, "counter")
            version = {"resourceVersion": item["metadata"]["resourceVersion"]}
            body = {"metadata": version, "data": {"n": str(int(item["data"]["n"]) + 1)}}
            try:
                api.client.patch(CONFIG_MAPS, NS, "counter", body)
            except Conflict:
                continue
            done += 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert api.client.get(CONFIG_MAPS, NS, "counter")["data"] == {"n": "200"}
