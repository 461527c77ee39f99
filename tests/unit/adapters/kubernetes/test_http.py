"""Calls to an API server that answers well, badly, late, or not at all."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from autoscaler.adapters.kubernetes.credentials import connect_to
from autoscaler.adapters.kubernetes.http import HttpObjectClient, path_of
from autoscaler.adapters.kubernetes.transport import HttpLimits
from autoscaler.domain.errors import (
    ActuationError,
    Conflict,
    NotFound,
    Refused,
    Unavailable,
)
from autoscaler.ports import NODES, PODS, ObjectClient
from autoscaler.simulation.clock import VirtualClock
from tests.builders import api_node, api_pod
from tests.scripted_server import Reply, ScriptedServer, Way

LIMITS = HttpLimits(connect_s=2.0, silence_s=0.3, call_s=30.0, tries=3, page_size=2)


def client_of(server: ScriptedServer, limits: HttpLimits = LIMITS) -> HttpObjectClient:
    """Return a client that waits in virtual time between its tries."""
    return HttpObjectClient(connect_to(server.url, "secret"), VirtualClock(0.0), limits)


def status(code: int, message: str = "told so", **more: Any) -> dict[str, Any]:
    """Return the API server's own form of an error."""
    return {"kind": "Status", "status": "Failure", "code": code, "message": message, **more}


def node_list(names: list[str], version: str = "7", token: str = "") -> dict[str, Any]:
    """Return a page of nodes."""
    metadata = {"resourceVersion": version, "continue": token}
    return {"kind": "NodeList", "items": [api_node(n) for n in names], "metadata": metadata}


CALLS: dict[str, Callable[[ObjectClient], object]] = {
    "list": lambda client: client.list(NODES),
    "get": lambda client: client.get(NODES, None, "node-a"),
    "create": lambda client: client.create(PODS, "default", api_pod()),
    "patch": lambda client: client.patch(NODES, None, "node-a", {"metadata": {}}),
    "delete": lambda client: client.delete(PODS, "default", "pod-a"),
    "evict": lambda client: client.post(PODS, "default", "pod-a", "eviction", {}),
    "watch": lambda client: list(client.watch(NODES, "1", 0.0)),
}
STATUSES = {
    400: Refused,
    401: Refused,
    403: Refused,
    404: NotFound,
    405: Refused,
    409: Conflict,
    410: Conflict,
    413: Refused,
    422: Refused,
    429: Unavailable,
    500: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("code", "error"), STATUSES.items())
def test_each_status_has_its_error_in_each_call(
    call: str, code: int, error: type[ActuationError]
) -> None:
    """The class says what to do, the message names what was called."""
    reply = Reply(status(code), code)
    with ScriptedServer(reply) as server, pytest.raises(error, match=r"nodes|pods") as caught:
        CALLS[call](client_of(server))
    assert type(caught.value) is error
    assert "told so" in str(caught.value) or code == 401


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("way", [Way.HANG, Way.DROP, Way.CUT])
def test_a_broken_connection_is_unavailable_in_each_call(call: str, way: Way) -> None:
    """Silent, closed, or cut off in the body."""
    limits = HttpLimits(silence_s=0.2, call_s=30.0, tries=1, watch_margin_s=0.1)
    reply = Reply(node_list(["a"]), way=way)
    with ScriptedServer(reply) as server, pytest.raises(Unavailable, match=r"nodes|pods"):
        CALLS[call](client_of(server, limits))


@pytest.mark.parametrize("call", ["list", "get", "create", "patch", "delete"])
@pytest.mark.parametrize(
    "body", ["<html>log in</html>", "{", "", "null", "[]", '"text"', "\x00\x01"]
)
def test_a_body_that_is_no_object_is_unavailable(call: str, body: str) -> None:
    """Never an empty list, never a traceback."""
    with ScriptedServer(Reply(body)) as server, pytest.raises(Unavailable):
        CALLS[call](client_of(server))


def test_a_web_page_is_named_as_such() -> None:
    """A proxy that wants a login answers 200 too."""
    page = Reply("<html>", headers={"Content-Type": "text/html"})
    with ScriptedServer(page) as server, pytest.raises(Unavailable, match="web page"):
        client_of(server).get(NODES, None, "a")
    redirect = Reply("", 302, {"Location": "https://login.example"})
    with (
        ScriptedServer(redirect) as server,
        pytest.raises(Unavailable, match=r"login\.example"),
    ):
        client_of(server).get(NODES, None, "a")


def test_a_401_is_one_plain_line() -> None:
    """The first thing that goes wrong with wrong credentials."""
    with ScriptedServer(Reply(status(401), 401)) as server, pytest.raises(Refused) as caught:
        client_of(server).list(NODES)
    assert str(caught.value) == ("list nodes: the API server refuses our credentials (401)")


def test_a_status_is_never_an_object() -> None:
    """Also when it comes with HTTP 200."""
    for found in (status(500), {"kind": "Status", "metadata": {}}):
        with ScriptedServer(Reply(found)) as server, pytest.raises(Unavailable):
            client_of(server).get(NODES, None, "a")


def test_reads_are_tried_again_and_writes_are_not() -> None:
    """A lost answer does not say whether a write was done."""
    failures = [Reply(status(503), 503), Reply(way=Way.DROP)]
    with ScriptedServer(*failures, Reply(api_node())) as server:
        assert client_of(server).get(NODES, None, "node-a")["kind"] == "Node"
        assert len(server.seen) == 3
    with ScriptedServer(Reply(status(503), 503), Reply(api_node())) as server:
        with pytest.raises(Unavailable):
            client_of(server).patch(NODES, None, "node-a", {})
        assert len(server.seen) == 1


def test_tries_end() -> None:
    """Three times, then the error."""
    with ScriptedServer(Reply(status(500), 500)) as server:
        with pytest.raises(Unavailable):
            client_of(server).get(NODES, None, "a")
        assert len(server.seen) == 3


def test_what_will_not_change_is_not_tried_again() -> None:
    """No permission stays no permission."""
    with ScriptedServer(Reply(status(403), 403)) as server:
        with pytest.raises(Refused):
            client_of(server).get(NODES, None, "a")
        assert len(server.seen) == 1


def test_a_server_that_asks_to_wait_is_heard() -> None:
    """For as long as the deadline allows; else the caller is told how long."""
    clock = VirtualClock(0.0)
    busy = Reply(status(429), 429, {"Retry-After": "7"})
    with ScriptedServer(busy, Reply(api_node())) as server:
        HttpObjectClient(connect_to(server.url), clock, LIMITS).get(NODES, None, "a")
    assert clock.monotonic_s() == 7.0
    late = Reply(status(429), 429, {"Retry-After": "60"})
    with ScriptedServer(late) as server, pytest.raises(Unavailable) as caught:
        client_of(server).get(NODES, None, "a")
    assert caught.value.retry_after_s == 60.0
    assert len(server.seen) == 1


def test_pages_are_read_to_the_end() -> None:
    """Each page asks for the next, with the same selectors."""
    pages = [Reply(node_list(["a", "b"], token="t1")), Reply(node_list(["c"]))]
    with ScriptedServer(*pages) as server:
        page = client_of(server).list(NODES, label_selector="k=v", field_selector="f=x")
    assert [item["metadata"]["name"] for item in page.items] == ["a", "b", "c"]
    assert page.resource_version == "7"
    assert [seen.query.get("continue") for seen in server.seen] == [None, "t1"]
    assert {seen.query["limit"] for seen in server.seen} == {"2"}
    assert {seen.query["labelSelector"] for seen in server.seen} == {"k=v"}


def test_an_expired_list_starts_again_once() -> None:
    """Pages of two versions are never put together."""
    first, gone = Reply(node_list(["a"], token="t")), Reply(status(410), 410)
    with ScriptedServer(first, gone, Reply(node_list(["a", "b"], "9"))) as server:
        assert client_of(server).list(NODES).resource_version == "9"
    script = (first, gone, first, gone)
    with ScriptedServer(*script) as server, pytest.raises(Conflict, match="expired"):
        client_of(server).list(NODES)
    other = Reply(node_list(["b"], "8"))
    script = (first, other, first, other)
    with ScriptedServer(*script) as server, pytest.raises(Conflict, match="versions"):
        client_of(server).list(NODES)


def test_a_null_list_is_empty() -> None:
    """Go writes it so."""
    found = {"kind": "NodeList", "items": None, "metadata": {"resourceVersion": "1"}}
    with ScriptedServer(Reply(found)) as server:
        assert client_of(server).list(NODES).items == ()


def test_a_body_that_drips_ends_with_the_deadline() -> None:
    """Each byte resets the time-out of the socket, but not that of the call."""

    class Ticking(VirtualClock):
        """Time that passes with each look at it."""

        def monotonic_s(self) -> float:
            self.sleep(1.0)
            return super().monotonic_s()

    limits = HttpLimits(silence_s=5.0, call_s=10.0, tries=1)
    with ScriptedServer(Reply(api_node(), way=Way.DRIP)) as server:
        client = HttpObjectClient(connect_to(server.url), Ticking(0.0), limits)
        with pytest.raises(Unavailable, match="deadline"):
            client.get(NODES, None, "a")


def test_each_call_authenticates_and_names_its_writer() -> None:
    """Token, agent, field manager, and the type of patch."""
    with ScriptedServer(Reply(api_node())) as server:
        client_of(server).patch(NODES, None, "node-a", {"metadata": {"labels": {"k": None}}})
    seen = server.seen[0]
    assert seen.headers["Authorization"] == "Bearer secret"
    assert seen.headers["Content-Type"] == "application/merge-patch+json"
    assert seen.headers["User-Agent"].startswith("mig-autoscaler/")
    assert seen.query == {"fieldManager": "mig-autoscaler"}
    assert json.loads(seen.body) == {"metadata": {"labels": {"k": None}}}


def test_a_watch_that_expired_says_so() -> None:
    """The code comes inside a stream that began with 200."""
    event = {"type": "ERROR", "object": status(410, "too old resource version: 100 (900)")}
    with ScriptedServer(Reply(event)) as server, pytest.raises(Unavailable, match="cut off"):
        list(client_of(server).watch(PODS, "100", 0.0))
    line = json.dumps(event) + "\n"
    with ScriptedServer(Reply(line)) as server, pytest.raises(Conflict, match="expired"):
        list(client_of(server).watch(PODS, "100", 0.0))


def test_a_watch_skips_bookmarks_and_yields_changes() -> None:
    """In the order of the stream; a bookmark is no object."""
    events = [
        {"type": "ADDED", "object": api_pod("a")},
        {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "9"}}},
        {"type": "MODIFIED", "object": api_pod("a")},
    ]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    with ScriptedServer(Reply(lines)) as server:
        changes = list(client_of(server).watch(PODS, "1", 0.0, "default"))
        assert [change.type for change in changes] == ["ADDED", "MODIFIED"]
        assert server.seen[0].path == "/api/v1/namespaces/default/pods"
        assert server.seen[0].query["timeoutSeconds"] == "1"


@pytest.mark.parametrize("line", ["<html>\n", "{}\n", "[]\n", '{"type": "ADDED"}\n'])
def test_a_watch_of_anything_else_is_unavailable(line: str) -> None:
    """It breaks the watch, never the watcher."""
    with ScriptedServer(Reply(line)) as server, pytest.raises(Unavailable, match="watch"):
        list(client_of(server).watch(PODS, "1", 0.0))


def test_a_silent_watch_ends_a_little_after_its_time() -> None:
    """After a network break a watch neither fails nor delivers; the client must notice."""
    lines = json.dumps({"type": "ADDED", "object": api_pod("a")}) + "\n"
    limits = HttpLimits(watch_margin_s=0.1)
    half_open = Reply(lines, headers={"Content-Length": str(len(lines) + 9)}, way=Way.STALL)
    seen = []
    with ScriptedServer(half_open) as server, pytest.raises(Unavailable, match="in time"):
        seen.extend(client_of(server, limits).watch(PODS, "1", 0.0))
    assert [change.type for change in seen] == ["ADDED"]


def test_nobody_at_the_address_is_unavailable() -> None:
    """And says where it tried."""
    with ScriptedServer(Reply("")) as server:
        url = server.url
    with pytest.raises(Unavailable, match="cannot connect"):
        HttpObjectClient(connect_to(url), VirtualClock(0.0), LIMITS).get(NODES, None, "a")


def test_names_in_paths_are_quoted() -> None:
    """A name must not lead elsewhere."""
    assert path_of(PODS, "ns", "../x", "eviction") == (
        "/api/v1/namespaces/ns/pods/..%2Fx/eviction"
    )
