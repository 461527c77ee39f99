"""An API server on loopback, loaded with a dump, for commands that go to a cluster."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoscaler.ports import CONFIG_MAPS, NODES, RawObject
from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.store import Store, StoreClient

OWN = "mig-autoscaler"
# Shortly before the moment that dumps are looked at.
NOW_S = 1_894_276_800.0


@dataclass(frozen=True)
class Api:
    """A running API server and the store behind it."""

    store: Store
    kubeconfig: str

    @property
    def client(self) -> StoreClient:
        """A client that is not the product's."""
        return StoreClient(self.store, "test")

    def node(self, name: str = "gpu-1") -> RawObject:
        """Return a node."""
        return self.client.get(NODES, None, name)

    def annotations(self, name: str = "gpu-1") -> Mapping[str, str]:
        """Return the annotations of a node."""
        return self.node(name)["metadata"].get("annotations") or {}

    def status_map(self) -> RawObject:
        """Return the product's status ConfigMap."""
        return self.client.get(CONFIG_MAPS, OWN, "mig-autoscaler-status")

    def mutations(self) -> list[str]:
        """Return every mutating request of anyone but this test."""
        entries = self.store.requests.entries(lambda e: e.mutating and e.user_agent != "test")
        return [f"{e.verb} {e.resource} {e.name}" for e in entries]

    def fail_writes(self, code: int, reason: str, times: int | None = 1) -> None:
        """Let the next mutating requests fail."""

        def is_write(request: Request) -> bool:
            return request.is_mutating

        fault = Fault(code=code, reason=reason)
        self.store.faults.add(Rule(Point.BEFORE_APPLY, fault, is_write, times=times))


def namespace(name: str) -> dict[str, Any]:
    """Return a namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@contextmanager
def serving(folder: Path, *objects: Mapping[str, Any]) -> Iterator[Api]:
    """Serve some objects; the kubeconfig is in the folder."""
    store = Store(lambda: NOW_S)
    names = ("gpu-operator", OWN, "team")
    store.load([*map(namespace, names), *map(dict, objects)])
    kubeconfig = folder / "kubeconfig"
    with ApiServer(store) as server:
        write_kubeconfig(kubeconfig, server.url)
        yield Api(store, str(kubeconfig))
