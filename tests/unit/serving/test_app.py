"""The pages, over a real connection."""

import json
import urllib.error
import urllib.request
from html.parser import HTMLParser

import pytest

from autoscaler.domain.errors import Unavailable
from autoscaler.serving.app import Pages, make_app
from autoscaler.serving.board import Board, Notes
from autoscaler.serving.health import Health
from autoscaler.serving.server import Server

STATUS = {
    "mode": "auto",
    "holder": "replica-1",
    "updatedAt": "2030-01-10T12:00:00Z",
    "policy": {"name": "research", "hash": "abc"},
    "paused": None,
    "window": {"open": False, "closesAt": None, "opensAt": "2030-01-10T22:00:00Z"},
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "CycleComplete",
            "message": "<b>fine</b>",
            "lastTransitionTime": "2030-01-10T11:00:00Z",
        }
    ],
    "openRollouts": [
        {
            "node": "gpu-7",
            "state": "draining",
            "since": "2030-01-10T11:59:00Z",
            "deadline": "2030-01-10T12:19:00Z",
            "from": "all-1g.5gb",
            "to": "as-123",
            "waitsFor": "DeviceHolders",
            "message": "two pods are left",
        }
    ],
    "errors": ["status: it did not work"],
}
PLAN = {
    "id": "p1",
    "observedAt": "2030-01-10T12:00:00Z",
    "unserved": [{}],
    "changes": [
        {
            "node": "gpu-1",
            "gpus": [
                {"index": 0, "before": {"1g.5gb": 7}, "after": {"3g.20gb": 2}},
                {"index": 3, "before": {"1g.5gb": 7}, "after": {"3g.20gb": 2}},
            ],
            "serves": [{}, {}],
            "gain": 1234.5,
            "cost": 10.0,
            "blockedBy": [{"reason": "OutsideWindow", "message": "later"}],
        }
    ],
}
HOLDS = ({"reason": "Held", "node": "gpu-2", "message": "a person holds it"},)


class Fixture:
    """A server with everything behind it, and a clock that stands."""

    def __init__(self):
        self.now_s = 0.0
        self.health = Health(lambda: self.now_s)
        self.board = Board()
        pages = Pages(self.health, self.board, lambda: b"up 1\n")
        self.server = Server(make_app(pages), "127.0.0.1", 0)

    def get(self, path, method="GET"):
        request = urllib.request.Request(self.server.url + path, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


@pytest.fixture
def site():
    own = Fixture()
    own.server.start()
    yield own
    own.server.stop()


class Checker(HTMLParser):
    """Notices elements that are closed in the wrong order, and collects the text."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.text = []

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(" ".join(data.split()))


def read_page(site):
    """Return the text of the front page, which must be well formed."""
    status, html = site.get("/")
    assert status == 200
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    return " ".join(filter(None, checker.text))


def test_probes_follow_the_loop(site):
    """503 with the reason in plain words."""
    assert site.get("/healthz") == (200, "ok\n")
    assert site.get("/readyz") == (503, "no policy is loaded yet\n")
    site.health.begin(30.0)
    site.health.end(succeeded=True, observed=True)
    assert site.get("/readyz") == (200, "ok\n")
    site.now_s = 601.0
    assert site.get("/healthz") == (503, "the loop has not moved for 601 s\n")


def test_status_and_plan_are_json(site):
    """The plan is 404 until there is one."""
    assert site.get("/plan")[0] == 404
    site.board.pin(Notes(STATUS, PLAN, HOLDS))
    assert json.loads(site.get("/status")[1]) == STATUS
    assert json.loads(site.get("/plan")[1]) == PLAN


def test_metrics_are_text(site):
    """Whatever the exporter says."""
    assert site.get("/metrics") == (200, "up 1\n")


def test_the_page_shows_plan_rollouts_holds_and_the_next_window(site):
    """And what people wrote is text, not markup."""
    site.board.pin(Notes(STATUS, PLAN, HOLDS))
    text = read_page(site)
    for words in (
        "the next window opens at 2030-01-10T22:00:00Z",
        "gpu-7 draining",
        "two pods are left",
        "7x1g.5gb",
        "2x3g.20gb",
        "1,234",
        "OutsideWindow",
        "gpu-2 Held a person holds it",
        "status: it did not work",
        "<b>fine</b>",
    ):
        assert words in text, words


def test_the_page_has_something_to_say_before_the_first_cycle(site):
    """Also with a status and no plan, and while paused."""
    assert "No cycle has ended yet." in read_page(site)
    site.board.pin(Notes({**STATUS, "paused": "power work", "openRollouts": [], "errors": []}))
    text = read_page(site)
    assert "Paused: power work." in text
    assert "There is no plan yet." in text


def test_nothing_but_reading_is_served(site):
    """No path takes a write, and other paths are not there."""
    assert site.get("/status", "POST")[0] == 405
    assert site.get("/healthz", "DELETE")[0] == 405
    assert site.get("/nothing")[0] == 404


def test_an_address_that_cannot_be_bound_is_named():
    """By host and port."""
    own = Fixture()
    port = int(own.server.url.rsplit(":", 1)[1])
    with pytest.raises(Unavailable, match=f"127.0.0.1:{port}"):
        Server(make_app(Pages(own.health, own.board, bytes)), "127.0.0.1", port)
    with pytest.raises(Unavailable, match="cannot listen on"):
        Server(make_app(Pages(own.health, own.board, bytes)), "no.such.host.invalid", 0)
    own.server.stop()
