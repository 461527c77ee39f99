"""The metrics port on a Prometheus: one pass over all queries under one deadline."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from autoscaler.adapters.prometheus.answers import Answer, QueryFailed
from autoscaler.adapters.prometheus.client import PrometheusClient
from autoscaler.adapters.prometheus.queries import queries_from
from autoscaler.adapters.prometheus.view import INSTANCE_QUERIES, MAX_AGE_S, Pass, view_from
from autoscaler.domain.cluster.objects import MetricsView
from autoscaler.domain.errors import Unavailable
from autoscaler.domain.policy.policy import Prometheus
from autoscaler.ports import Clock

FIRST_REST_S = 15.0
LONGEST_REST_S = 300.0
# Several nodes may ask for their holders within one cycle; the samples have times of
# their own, so an answer that is some seconds old says the same.
REUSE_S = 5.0


@dataclass(slots=True)
class Outage:
    """How long Prometheus has been unavailable, and when to ask again (monotonic)."""

    since_s: float | None = None
    again_at_s: float = 0.0
    rest_s: float = FIRST_REST_S
    message: str = ""

    def check(self, now_s: float) -> None:
        """Raise Unavailable, in the same words, until it is time to ask again."""
        if self.since_s is not None and now_s < self.again_at_s:
            raise Unavailable(self.message, self.again_at_s - now_s)

    def begin(self, error: Unavailable, now_s: float) -> None:
        """Rest, longer each time."""
        if self.since_s is None:
            self.since_s = now_s
        self.message = str(error)
        self.again_at_s = now_s + max(self.rest_s, error.retry_after_s or 0.0)
        self.rest_s = min(2 * self.rest_s, LONGEST_REST_S)

    def end(self, now_s: float) -> tuple[str, ...]:
        """Return the notice that it is over, once."""
        if self.since_s is None:
            return ()
        notice = f"Prometheus answers again after {now_s - self.since_s:.0f} s"
        self.since_s, self.rest_s = None, FIRST_REST_S
        return (notice,)


class PrometheusMetrics:
    """``Metrics`` from a Prometheus.

    Raises
    ------
    ConfigError
        On construction, when the policy overrides a query that does not exist.
    """

    def __init__(
        self,
        settings: Prometheus,
        clock: Clock,
        known: Callable[[], Iterable[str]] = tuple,
        max_age_s: float = MAX_AGE_S,
    ) -> None:
        self._queries = queries_from(settings.queries)
        self._client = PrometheusClient(settings, clock)
        self._timeout_s = settings.timeout_s
        self._clock = clock
        self._known = known
        self._max_age_s = max_age_s
        self._outage = Outage()
        self._reuse: tuple[float, Pass] | None = None

    def observe(self) -> MetricsView:
        """Return utilization and demand counts; Unavailable when nothing can be had."""
        return self._view(self._pass(self._queries))

    def holders_since(self, node: str, since_s: float) -> MetricsView:
        """Return samples of one node's instances that are newer than ``since_s``."""
        now_s = self._clock.monotonic_s()
        if self._reuse is None or now_s - self._reuse[0] > REUSE_S:
            found = self._pass([name for name in INSTANCE_QUERIES if name in self._queries])
        else:
            found = _about_instances(self._reuse[1])
        view = self._view(found)
        newer = tuple(
            sample
            for sample in view.instances
            if sample.node == node
            and sample.sampled_at_s is not None
            and sample.sampled_at_s > since_s
        )
        return replace(view, instances=newer)

    def _view(self, found: Pass) -> MetricsView:
        return view_from(found, self._clock.now_s(), self._max_age_s)

    def _pass(self, names: Collection[str]) -> Pass:
        started_s = self._clock.monotonic_s()
        self._outage.check(started_s)
        try:
            answers, notices = self._ask_all(names, started_s + self._timeout_s)
        except Unavailable as error:
            self._outage.begin(error, self._clock.monotonic_s())
            raise
        notices += self._outage.end(started_s)
        queries = {name: self._queries[name] for name in names}
        found = Pass(answers, notices, queries, tuple(self._known()))
        self._reuse = (started_s, found)
        return found

    def _ask_all(
        self, names: Collection[str], deadline_s: float
    ) -> tuple[dict[str, Answer], list[str]]:
        answers: dict[str, Answer] = {}
        notices: list[str] = []
        for name in names:
            try:
                answers[name] = self._client.ask(name, self._queries[name], deadline_s)
            except QueryFailed as error:
                notices.append(str(error))
            except Unavailable as error:
                if not answers:
                    raise
                # What has been answered is good; the rest would wait in vain.
                notices.append(f"query {name} and later ones have no answer: {error}")
                break
        if not answers:
            raise Unavailable("; ".join(notices))
        return answers, notices


def _about_instances(found: Pass) -> Pass:
    """Return a pass less the queries for demand, which say nothing about holders."""
    return replace(
        found,
        answers={n: a for n, a in found.answers.items() if n in INSTANCE_QUERIES},
        queries={n: text for n, text in found.queries.items() if n in INSTANCE_QUERIES},
        notices=(),
    )
