"""An API in memory for tests: a store whose clock the test turns, and short requests."""

from dataclasses import dataclass, field
from typing import Any

from autoscaler.ports import NAMESPACES, PODS, Kind, RawObject
from autoscaler.simulation.apiserver.request import PatchType, Query, Request, Verb
from autoscaler.simulation.apiserver.status import StatusError
from autoscaler.simulation.store import Store, StoreClient
from tests.builders import NOW_S, raw_pod

NS = "default"


@dataclass(slots=True)
class Hand:
    """A clock that stands until it is moved."""

    now_s: float = NOW_S

    def __call__(self) -> float:
        return self.now_s


@dataclass(slots=True)
class Api:
    """A store with its clock and a client."""

    clock: Hand = field(default_factory=Hand)
    store: Store = field(init=False)
    client: StoreClient = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.clock)
        self.client = StoreClient(self.store, "test/1.0")

    def ask(self, verb: Verb, kind: Kind, name: str = "", **more: Any) -> RawObject:
        """Send one request; ``namespace`` is the default one where there are any."""
        namespace = more.pop("namespace", NS if kind.namespaced else "")
        return self.store.handle(Request(verb, kind, namespace, name, **more))

    def code(self, verb: Verb, kind: Kind, name: str = "", **more: Any) -> int:
        """Return the code of the refusal of a request; 0 when it is not refused."""
        try:
            self.ask(verb, kind, name, **more)
        except StatusError as error:
            return error.code
        return 0

    def names(self, kind: Kind, **query: Any) -> list[str]:
        """Return the names of a list."""
        return [i["metadata"]["name"] for i in self.page(kind, **query).items]

    def page(self, kind: Kind, namespace: str = "", **query: Any) -> Any:
        """Return one page of a list."""
        return self.store.list(Request(Verb.LIST, kind, namespace, query=Query(**query)))

    def run_pod(self, name: str = "a", *, ready: bool = True, **spec: Any) -> RawObject:
        """Create a pod that runs on a node."""
        self.client.create(PODS, NS, raw_pod(name, **spec))
        self.client.post(PODS, NS, name, "binding", {"target": {"name": "gpu-1"}})
        condition = {"type": "Ready", "status": "True" if ready else "False"}
        status = {"phase": "Running", "conditions": [condition]}
        return self.client.patch(PODS, NS, name, {"status": status}, "status")

    def add_namespace(self, name: str) -> None:
        """Create a namespace."""
        self.client.create(NAMESPACES, None, {"metadata": {"name": name}})


def named(name: str, **fields: Any) -> RawObject:
    """Return an object with nothing but a name and what is given."""
    return {"metadata": {"name": name}, **fields}


def json_patch(*operations: RawObject) -> dict[str, Any]:
    """Return the fields of a request that is a JSON patch."""
    return {"operations": operations, "patch_type": PatchType.JSON}
