"""Faults: where they strike, how often, and what the client sees."""

import pytest

from autoscaler.domain.errors import Conflict, Refused, Unavailable
from autoscaler.ports import CONFIG_MAPS, NODES
from autoscaler.simulation.apiserver.faults import Break, Fault, Point, Rule, any_write
from autoscaler.simulation.apiserver.request import Request, Verb
from autoscaler.simulation.store import Store, StoreClient
from tests.api import NS, Api, named
from tests.builders import NOW_S


class Killed(BaseException):
    """The end of the caller."""


def kill(request: Request) -> None:
    raise Killed(str(request))


@pytest.mark.parametrize(
    ("point", "applied"),
    [(Point.BEFORE_APPLY, False), (Point.AFTER_APPLY, True), (Point.BEFORE_REPLY, True)],
)
@pytest.mark.parametrize("fault", [Fault(code=503), Fault(broken=Break.DROP)])
def test_the_point_decides_whether_a_write_is_stored(point, applied, fault) -> None:
    """The client cannot tell which it was."""
    api = Api()
    api.store.faults.add(Rule(point, fault))
    with pytest.raises(Unavailable):
        api.client.create(CONFIG_MAPS, NS, named("a"))
    assert (api.names(CONFIG_MAPS) == ["a"]) is applied


def test_a_caller_can_be_killed_at_any_write() -> None:
    """What was stored stays, and the log shows a request without a reply."""
    api = Api()
    api.client.create(CONFIG_MAPS, NS, named("first"))
    api.store.faults.add(Rule(Point.AFTER_APPLY, Fault(call=kill), any_write, skip=1))
    api.client.create(CONFIG_MAPS, NS, named("second"))
    with pytest.raises(Killed, match="create configmaps"):
        api.client.create(CONFIG_MAPS, NS, named("third"))
    assert api.names(CONFIG_MAPS) == ["first", "second", "third"]
    assert api.store.requests.entries(lambda e: e.verb == "create")[-1].status_code == 0


def test_a_rule_strikes_as_often_as_it_says() -> None:
    """Only matching requests are counted."""
    api = Api()

    def reads_nodes(request: Request) -> bool:
        return request.verb is Verb.LIST and request.kind == NODES

    rule = api.store.faults.add(
        Rule(Point.BEFORE_APPLY, Fault(code=500), reads_nodes, skip=1, times=2)
    )
    outcomes = []
    for _ in range(4):
        api.client.list(CONFIG_MAPS)
        try:
            api.client.list(NODES)
            outcomes.append("fine")
        except Unavailable:
            outcomes.append("failed")
    assert outcomes == ["fine", "failed", "failed", "fine"]
    assert rule.struck == 2


def test_a_rule_without_end_holds_until_cleared() -> None:
    """Then everything goes well again."""
    api = Api()
    api.store.faults.add(Rule(Point.BEFORE_APPLY, Fault(code=403), times=None))
    for _ in range(3):
        with pytest.raises(Refused):
            api.client.list(NODES)
    api.store.faults.clear()
    assert api.client.list(NODES).items == ()


@pytest.mark.parametrize(
    ("code", "error"),
    [(401, Refused), (409, Conflict), (410, Conflict), (422, Refused), (429, Unavailable)],
)
def test_codes_become_the_errors_of_the_ports(code, error) -> None:
    """With the time to wait, where one is given."""
    api = Api()
    fault = Fault(code=code, message="no", retry_after_s=3)
    api.store.faults.add(Rule(Point.BEFORE_APPLY, fault))
    with pytest.raises(error, match="list nodes") as raised:
        api.client.list(NODES)
    assert getattr(raised.value, "retry_after_s", 3) == 3


def test_a_delay_waits_on_the_clock_that_was_given() -> None:
    """A simulation does not sleep."""
    waited: list[float] = []
    store = Store(lambda: NOW_S, wait=waited.append)
    store.faults.add(Rule(Point.BEFORE_APPLY, Fault(delay_s=7.5)))
    assert StoreClient(store).list(NODES).items == ()
    assert waited == [7.5]


def test_the_reads_of_a_watch_can_fail_too() -> None:
    """Opening one is a request like any other."""
    api = Api()
    api.store.faults.add(Rule(Point.BEFORE_APPLY, Fault(broken=Break.HANG)))
    with pytest.raises(Unavailable, match="no reply"):
        list(api.client.watch(NODES, api.store.version, 0))
