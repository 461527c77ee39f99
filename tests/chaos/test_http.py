"""The same deaths with the real client over HTTP, where answers get lost on the way."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from autoscaler import __version__
from autoscaler.adapters.kubernetes.credentials import connect_to
from autoscaler.adapters.kubernetes.http import HttpObjectClient
from autoscaler.adapters.kubernetes.transport import HttpLimits
from autoscaler.domain.journal.rollout import Result
from autoscaler.simulation.api_server import ApiServer
from autoscaler.simulation.apiserver.faults import Break, Fault, Point, Rule
from tests.chaos.stage import stage_of
from tests.loops import Killed
from tests.worlds import HALVES

WRITES = {"create", "patch", "delete", "post"}
LIMITS = HttpLimits(connect_s=2.0, silence_s=0.3, call_s=3.0, tries=2, page_size=3)


@dataclass
class Mortal:
    """A client whose owner dies at one of its writes, before or after it is sent."""

    inner: HttpObjectClient
    at_write: int
    is_sent: bool

    def __getattr__(self, name):
        """Return a call of the client that counts."""
        call = getattr(self.inner, name)
        return self._counted(call) if name in WRITES else call

    def _counted(self, call):
        def write(*args, **options):
            is_last, self.at_write = self.at_write == 0, self.at_write - 1
            if is_last and not self.is_sent:
                raise Killed
            answer = call(*args, **options)
            if is_last:
                raise Killed
            return answer

        return write


@contextmanager
def http_client(stage, name) -> Iterator[HttpObjectClient]:
    """Serve the store over HTTP and connect to it, under a name of the request log."""
    with ApiServer(stage.world.store) as server:
        connection = connect_to(server.url)
        client = HttpObjectClient(connection, stage.world.clock, LIMITS, manager=name)
        yield client
        connection.pool.clear()


def user_agent(name):
    """Return how the request log calls the client of a manager."""
    return f"{name}/{__version__}"


@pytest.mark.parametrize("is_sent", [False, True])
@pytest.mark.parametrize("number", [1, 10, 12, 15, 20])
def test_a_death_at_a_write_over_http_changes_nothing_of_the_end(number, is_sent):
    """Another replica, over HTTP too, brings the rollout to its end."""
    stage = stage_of(HALVES, HALVES)
    with http_client(stage, "first") as first, http_client(stage, "second") as second:
        dying = stage.join(user_agent("first"), client=Mortal(first, number, is_sent))
        while dying.is_alive:
            stage.run(30)
        stage.join(user_agent("second"), client=second)
        stage.run(200)
        stage.rest()
    records = [r for replica in stage.replicas.values() for r in replica.records]
    assert {r.result for r in records} == {Result.DONE}
    stage.audit.check_end()


@pytest.mark.parametrize("how", [Break.DROP, Break.TRUNCATE])
def test_answers_that_get_lost_delay_a_rollout_and_nothing_else(how):
    """Every fifth answer is lost, whatever was asked."""
    stage = stage_of(HALVES, HALVES)
    asked = iter(range(10**6))

    def is_lost(request):
        return request.user_agent == user_agent("first") and next(asked) % 5 == 4

    rule = Rule(Point.BEFORE_REPLY, Fault(broken=how), is_lost, times=None)
    stage.world.store.faults.add(rule)
    with http_client(stage, "first") as first:
        replica = stage.join(user_agent("first"), client=first)
        stage.run(900)
        rule.times = rule.struck
        stage.run(120)
        stage.rest()
    assert rule.struck > 20
    assert [r.result for r in replica.records] == [Result.DONE]
    stage.audit.check_end()
