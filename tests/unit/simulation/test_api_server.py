"""The HTTP face: paths, forms, streams, faults on the line, and a clean end."""

import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from autoscaler.ports import CONFIG_MAPS, NODES, PODS
from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from autoscaler.simulation.apiserver.faults import Break, Fault, Point, Rule
from autoscaler.simulation.apiserver.request import Request, Verb
from tests.api import NS, Api, named
from tests.builders import raw_node, raw_pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
MERGE = "application/merge-patch+json"
PODS_PATH = "/api/v1/namespaces/default/pods"


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def server(api: Api) -> Iterator[ApiServer]:
    with ApiServer(api.store) as served:
        yield served


def connect(server: ApiServer) -> HTTPConnection:
    return HTTPConnection(server.url.removeprefix("http://"), timeout=30)


def send(
    server: ApiServer, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any]:
    """Send one request; return status and decoded body."""
    connection = connect(server)
    content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    named_headers = {key.replace("_", "-"): value for key, value in headers.items()}
    connection.request(method, path, content, named_headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    is_json = response.headers["Content-Type"] == "application/json"
    return response.status, json.loads(text) if is_json else text.decode()


def open_watch(server: ApiServer, path: str) -> tuple[HTTPConnection, HTTPResponse]:
    connection = connect(server)
    connection.request("GET", path)
    return connection, connection.getresponse()


def test_health_version_and_discovery(server: ApiServer) -> None:
    """What clients ask first."""
    assert send(server, "GET", "/readyz") == (200, "ok")
    assert send(server, "GET", "/version")[1]["gitVersion"].startswith("v1.")
    assert send(server, "GET", "/api")[1]["versions"] == ["v1"]
    groups = [g["name"] for g in send(server, "GET", "/apis")[1]["groups"]]
    assert {"apps", "policy", "coordination.k8s.io", "scheduling.volcano.sh"} <= set(groups)
    assert send(server, "GET", "/apis/policy")[1]["preferredVersion"]["version"] == "v1"
    core = {r["name"]: r for r in send(server, "GET", "/api/v1")[1]["resources"]}
    assert core["nodes"]["shortNames"] == ["no"]
    assert core["nodes"]["namespaced"] is False
    assert core["pods/eviction"]["kind"] == "Eviction"
    assert core["pods/eviction"]["group"] == "policy"


def test_the_api_description_lists_what_writes_take(server: ApiServer) -> None:
    """So that kubectl leaves checking to the server."""
    roots = send(server, "GET", "/openapi/v3")[1]["paths"]
    document = send(server, "GET", roots["apis/policy/v1"]["serverRelativeURL"])[1]
    path = "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}"
    parameters = [p["name"] for p in document["paths"][path]["patch"]["parameters"]]
    assert "fieldValidation" in parameters
    assert send(server, "GET", "/openapi/v3/apis/none/v1")[0] == 404


def test_a_life_of_an_object_over_http(api: Api, server: ApiServer) -> None:
    """Create, read, patch, replace, delete; the codes of a real server."""
    path = "/api/v1/namespaces/default/configmaps"
    status, made = send(server, "POST", path, named("a", data={"k": "1"}))
    assert status == 201
    assert send(server, "GET", f"{path}/a") == (200, made)
    body = {"data": {"k": "2"}}
    assert (
        send(server, "PATCH", f"{path}/a", body, Content_Type=MERGE)[1]["data"] == body["data"]
    )
    assert send(server, "PUT", f"{path}/a", made)[1]["reason"] == "Conflict"
    status, ended = send(server, "DELETE", f"{path}/a?propagationPolicy=Background")
    assert (status, ended["status"], ended["details"]["name"]) == (200, "Success", "a")
    assert send(server, "GET", f"{path}/a")[1]["code"] == 404
    assert api.names(CONFIG_MAPS) == []


def test_options_in_the_query(api: Api, server: ApiServer) -> None:
    """Trial run, manager, grace, selectors, pages."""
    api.run_pod("a")
    api.run_pod("b")
    assert send(server, "DELETE", f"{PODS_PATH}/a?dryRun=All&gracePeriodSeconds=0")[0] == 200
    assert send(server, "DELETE", f"{PODS_PATH}/a?dryRun=Some")[0] == 400
    assert send(server, "DELETE", f"{PODS_PATH}/a?gracePeriodSeconds=x")[0] == 400
    page = send(server, "GET", "/api/v1/pods?limit=1&labelSelector=app%3Dtrain")[1]
    assert [i["metadata"]["name"] for i in page["items"]] == ["a"]
    token = page["metadata"]["continue"]
    rest = send(server, "GET", f"/api/v1/pods?limit=1&continue={token}")[1]
    assert [i["metadata"]["name"] for i in rest["items"]] == ["b"]
    assert send(server, "DELETE", f"{PODS_PATH}?labelSelector=app%3Dtrain")[0] == 200
    marked = [i for i in api.client.list(PODS).items if "deletionTimestamp" in i["metadata"]]
    assert len(marked) == 2


def test_the_form_follows_the_accept_header(api: Api, server: ApiServer) -> None:
    """Whole, as a table, metadata only; what is not served is refused."""
    api.client.create(NODES, None, raw_node())
    table = send(server, "GET", "/api/v1/nodes", Accept=TABLE)[1]
    assert table["kind"] == "Table"
    assert [c["name"] for c in table["columnDefinitions"]][:2] == ["Name", "Status"]
    assert table["rows"][0]["cells"][:2] == ["gpu-1", "Ready"]
    assert "spec" not in table["rows"][0]["object"]
    whole = send(server, "GET", "/api/v1/nodes?includeObject=Object", Accept=TABLE)[1]
    assert "spec" in whole["rows"][0]["object"]
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    partial = send(server, "GET", "/api/v1/nodes", Accept=accept)[1]
    assert partial["kind"] == "PartialObjectMetadataList"
    assert partial["items"][0].keys() == {"kind", "apiVersion", "metadata"}
    assert send(server, "GET", "/api/v1/nodes", Accept="application/yaml")[0] == 406
    plain = send(server, "GET", "/api/v1/nodes", Accept="application/yaml,*/*")[1]
    assert plain["kind"] == "NodeList"


@pytest.mark.parametrize(
    ("method", "path", "body", "media_type", "code"),
    [
        ("GET", "/api/v1/unicorns", None, "", 404),
        ("GET", "/apis/none/v1/pods", None, "", 404),
        ("GET", "/somewhere", None, "", 404),
        ("GET", f"{PODS_PATH}/a/log", None, "", 404),
        ("GET", "/api/v1/pods/a", None, "", 404),
        ("GET", "/api/v1/namespaces/default/nodes", None, "", 404),
        ("GET", f"{PODS_PATH}/a/b/c", None, "", 404),
        ("POST", "/version", {}, "", 405),
        ("POST", f"{PODS_PATH}/a", {}, "", 405),
        ("PUT", PODS_PATH, {}, "", 405),
        ("POST", PODS_PATH, b"{", "application/json", 400),
        ("POST", PODS_PATH, [], "application/json", 400),
        ("POST", PODS_PATH, b"a: b", "application/yaml", 415),
        ("PATCH", f"{PODS_PATH}/a", {}, "application/json", 415),
        ("PATCH", f"{PODS_PATH}/a", {}, "application/json-patch+json", 400),
        ("GET", "/api/v1/pods?fieldSelector=x%3Dy", None, "", 400),
        ("GET", "/api/v1/pods?limit=many", None, "", 400),
    ],
)
def test_bad_requests_get_a_status(
    server: ApiServer, method: str, path: str, body: Any, media_type: str, code: int
) -> None:
    """Always an object of kind Status with the code of the reply."""
    headers = {"Content_Type": media_type} if media_type else {}
    status, answer = send(server, method, path, body, **headers)
    assert status == code
    assert (answer["kind"], answer["code"]) == ("Status", code)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"HELLO\r\n\r\n", 400),
        (b"POST /api/v1/nodes HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
        (b"POST /api/v1/nodes HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST /api/v1/nodes HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"POST /api/v1/nodes HTTP/1.1\r\nContent-Encoding: gzip\r\n\r\n", 415),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n", 400),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 400),
    ],
)
def test_broken_http_is_answered_and_ends_the_connection(
    server: ApiServer, sent: bytes, code: int
) -> None:
    """No traceback, no hang."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(sent)
        answer = line.makefile("rb").readline()
    assert answer.split()[1] == str(code).encode()


def test_one_connection_serves_many_requests(server: ApiServer) -> None:
    """Unless the client wants it closed."""
    connection = connect(server)
    for path in ("/version", "/api/v1/nodes", "/nowhere"):
        connection.request("GET", path)
        connection.getresponse().read()
    connection.request("GET", "/version", headers={"Connection": "close"})
    response = connection.getresponse()
    assert response.headers["Connection"] == "close"
    connection.close()


def test_a_watch_streams_changes_and_ends_in_time(api: Api, server: ApiServer) -> None:
    """One JSON object a line, a bookmark at the end, then the connection is free again."""
    since = api.store.version
    path = f"{PODS_PATH}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion="
    connection, response = open_watch(server, path + since)
    api.client.create(PODS, NS, raw_pod("a"))
    events = [json.loads(line) for line in response]
    assert [e["type"] for e in events] == ["ADDED", "BOOKMARK"]
    assert events[0]["object"]["metadata"]["name"] == "a"
    assert events[1]["object"]["metadata"] == {"resourceVersion": api.store.version}
    connection.request("GET", "/version")
    assert connection.getresponse().status == 200
    connection.close()


def test_a_watch_from_a_forgotten_version_is_an_error_in_a_good_reply(
    api: Api, server: ApiServer
) -> None:
    """HTTP 200, and one event that says 410."""
    since = api.store.version
    api.client.create(PODS, NS, raw_pod("a"))
    api.store.compact()
    connection, response = open_watch(server, f"{PODS_PATH}?watch=1&resourceVersion={since}")
    (event,) = [json.loads(line) for line in response]
    connection.close()
    assert (response.status, event["type"]) == (200, "ERROR")
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


def test_the_log_can_be_read_over_http(api: Api, server: ApiServer) -> None:
    """Reading it is not in it; it can be begun anew."""
    send(server, "GET", "/api/v1/nodes", User_Agent="someone/1")
    send(server, "POST", PODS_PATH, raw_pod("a"), User_Agent="someone/1")
    log = send(server, "GET", "/simulation/requests")[1]
    assert [(e["verb"], e["mutating"], e["code"]) for e in log["items"]] == [
        ("list", False, 200),
        ("create", True, 201),
    ]
    assert {e["userAgent"] for e in log["items"]} == {"someone/1"}
    assert send(server, "DELETE", "/simulation/requests")[1]["items"] == []
    assert send(server, "PUT", "/simulation/requests")[0] == 405


def test_faults_reach_the_line(api: Api, server: ApiServer) -> None:
    """A status with its time to wait, a closed connection, half a reply."""
    faults = api.store.faults
    faults.add(Rule(Point.BEFORE_REPLY, Fault(code=429, retry_after_s=7)))
    connection = connect(server)
    connection.request("POST", PODS_PATH, json.dumps(raw_pod("a")))
    response = connection.getresponse()
    assert (response.status, response.headers["Retry-After"]) == (429, "7")
    assert api.names(PODS) == ["a"]
    connection.close()
    faults.add(Rule(Point.BEFORE_APPLY, Fault(broken=Break.DROP)))
    with pytest.raises((HTTPException, OSError)):
        send(server, "POST", PODS_PATH, raw_pod("b"))
    assert api.names(PODS) == ["a"]
    faults.add(Rule(Point.BEFORE_REPLY, Fault(broken=Break.TRUNCATE)))
    with pytest.raises(HTTPException):
        send(server, "GET", PODS_PATH)


def test_a_hanging_request_is_applied_or_not_as_its_point_says(
    api: Api, server: ApiServer
) -> None:
    """The client only sees its own time-out."""
    api.store.faults.add(Rule(Point.AFTER_APPLY, Fault(broken=Break.HANG)))
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=0.2)
    connection.request("POST", PODS_PATH, json.dumps(raw_pod("a")))
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    assert api.names(PODS) == ["a"]


def test_open_requests_are_counted(api: Api, server: ApiServer) -> None:
    """One that is being answered is one; a watch that runs is none."""
    seen: list[int] = []

    def look(request: Request) -> None:
        seen.append(server.num_open)

    api.store.faults.add(Rule(Point.AFTER_APPLY, Fault(call=look), times=None))
    connection, response = open_watch(server, "/api/v1/pods?watch=1")
    api.client.create(PODS, NS, raw_pod("a"))
    assert json.loads(response.readline())["type"] == "ADDED"
    assert server.num_open == 0
    send(server, "GET", "/api/v1/nodes")
    connection.close()
    assert seen == [1, 0, 1]


def test_stopping_ends_watches_idle_lines_and_hanging_requests(api: Api) -> None:
    """Nothing of the server runs on, and its port is free."""
    before = set(threading.enumerate())

    def hangs(request: Request) -> bool:
        return request.verb is Verb.GET

    api.store.faults.add(Rule(Point.BEFORE_APPLY, Fault(broken=Break.HANG), hangs))
    server = ApiServer(api.store).start()
    idle = connect(server)
    idle.request("GET", "/version")
    idle.getresponse().read()
    watching, _ = open_watch(server, "/api/v1/pods?watch=1")
    hanging = connect(server)
    hanging.request("GET", "/api/v1/nodes/a")
    server.stop()
    assert set(threading.enumerate()) == before
    for connection in (idle, watching, hanging):
        connection.close()
    with pytest.raises(OSError, match="refused"):
        connect(server).request("GET", "/version")


def test_a_client_that_goes_away_frees_its_thread(api: Api, server: ApiServer) -> None:
    """A watch without anybody listening ends by itself."""
    before = threading.active_count()
    connection, response = open_watch(server, "/api/v1/pods?watch=1")
    response.close()
    connection.close()
    for thread in threading.enumerate():
        if thread.name.startswith("connection"):
            thread.join(10)
    assert threading.active_count() <= before


def test_a_kubeconfig_leads_to_the_server(tmp_path: Path) -> None:
    """Its current context names the address."""
    path = tmp_path / "config"
    write_kubeconfig(path, "http://127.0.0.1:1234")
    config = json.loads(path.read_text())
    assert config["clusters"][0]["cluster"]["server"] == "http://127.0.0.1:1234"
    assert config["current-context"] == config["contexts"][0]["name"]
