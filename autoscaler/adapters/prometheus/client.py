"""One query at a time: request, credentials, tries, and what an answer's status means."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import requests
import urllib3
from prometheus_api_client.exceptions import PrometheusApiClientException
from prometheus_api_client.prometheus_connect import PrometheusConnect
from urllib3.util import Retry

from autoscaler.adapters.prometheus.answers import Answer, QueryFailed, answer_from, body_of
from autoscaler.adapters.prometheus.ranges import RangeAnswer, range_answer_from
from autoscaler.adapters.prometheus.session import DeadlineSession, Reply
from autoscaler.domain.errors import Unavailable
from autoscaler.domain.policy.policy import Prometheus
from autoscaler.ports import Clock

# It says it wants a Session and a pair; it takes what behaves like the first, and for
# ``auth`` whatever requests takes.
CONNECT: Callable[..., PrometheusConnect] = PrometheusConnect
T = TypeVar("T")
Reader = Callable[[str, object], T]
"""From the name of a query and a whole answer to what it holds."""
TRIES = 2
FIRST_WAIT_S = 0.5
SHOWN = 200


@dataclass(frozen=True, slots=True)
class Credentials:
    """Reads the secrets from their files for each request, because they are renewed."""

    settings: Prometheus

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add what the settings ask for, and nothing that a netrc file might hold."""
        if self.settings.bearer_token_file is not None:
            token = _secret(self.settings.bearer_token_file)
            request.headers["Authorization"] = f"Bearer {token}"
        elif self.settings.basic_auth is not None:
            password = _secret(self.settings.basic_auth.password_file)
            username = self.settings.basic_auth.username
            requests.auth.HTTPBasicAuth(username, password)(request)
        return request


@dataclass(frozen=True, slots=True)
class Question:
    """A query; ``span`` is start, end and step of a range in seconds, ``None`` for now."""

    name: str
    text: str
    span: tuple[float, float, float] | None = None


class PrometheusClient:
    """Asks one Prometheus, or what speaks its API."""

    def __init__(self, settings: Prometheus, clock: Clock) -> None:
        self._clock = clock
        self._session = DeadlineSession(clock, verify=settings.ca_file or True)
        self._connect = CONNECT(
            settings.url.rstrip("/"),
            headers=dict(settings.headers),
            auth=Credentials(settings),
            session=self._session,
            # The package's own tries do not count against a deadline; ours do.
            retry=Retry(total=0, read=False, redirect=False),
        )

    def ask(self, name: str, text: str, deadline_s: float) -> Answer:
        """Return the answer to a query.

        Raises
        ------
        QueryFailed
            This query has no usable answer; another may have.
        Unavailable
            Prometheus cannot be asked now, or not by us.
        """
        return self._asked(Question(name, text), answer_from, deadline_s)

    def ask_range(self, question: Question, deadline_s: float) -> RangeAnswer:
        """Return the answer to a range query; raises as ``ask`` does."""
        return self._asked(question, range_answer_from, deadline_s)

    def _asked(self, question: Question, read: Reader[T], deadline_s: float) -> T:
        self._session.deadline_s = deadline_s
        for number in range(1, TRIES):
            try:
                return self._ask_once(question, read)
            except Unavailable as error:
                wait_s = max(FIRST_WAIT_S * number, error.retry_after_s or 0.0)
                if self._clock.monotonic_s() + wait_s >= deadline_s:
                    raise
            self._clock.sleep(wait_s)
        return self._ask_once(question, read)

    def _ask_once(self, question: Question, read: Reader[T]) -> T:
        left_s = max(1.0, self._session.deadline_s - self._clock.monotonic_s())
        try:
            self._send(question, {"timeout": f"{left_s:.0f}s"})
        except PrometheusApiClientException:
            # Raised for every status but 200; the reply says more than the exception.
            pass
        except requests.Timeout as error:
            raise Unavailable("Prometheus did not answer in time") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise Unavailable(f"Prometheus cannot be reached: {_cause(error)}") from error
        reply = self._session.last
        if reply is None:
            raise Unavailable("Prometheus gave no answer")
        return answer_in(question.name, reply, read)

    def _send(self, question: Question, params: dict[str, str]) -> None:
        span = question.span
        if span is None:
            self._connect.custom_query(question.text, params=params)
            return
        start_s, end_s, step_s = span
        start, end = (datetime.fromtimestamp(s, UTC) for s in (start_s, end_s))
        self._connect.custom_query_range(
            question.text, start, end, f"{step_s:g}", params=params
        )


def answer_in(name: str, reply: Reply, read: Reader[T]) -> T:
    """Return the answer in a reply; QueryFailed or Unavailable when there is none."""
    status, page = reply.status_code, reply.content
    shown = " ".join(page[:SHOWN].decode("utf-8", "replace").split())
    if status in {400, 422}:
        return read(name, body_of(name, page))
    if status in {401, 403}:
        raise Unavailable(_refusal(status, shown))
    if status == 404:
        raise Unavailable("there is no query API at prometheus.url (404); is the path right?")
    if status in {408, 429} or status >= 500:
        raise Unavailable(f"Prometheus answers {status}: {shown}", _retry_after_s(reply))
    html = "html" in reply.headers.get("Content-Type", "") or page.lstrip()[:1] == b"<"
    if 300 <= status < 400 or (status == 200 and html):
        raise Unavailable("Prometheus answers with a web page; is a login needed?")
    if status != 200:
        raise QueryFailed(f"query {name}: Prometheus answers {status}: {shown}")
    return read(name, body_of(name, page))


def _refusal(status: int, shown: str) -> str:
    # Mimir, Cortex and Loki say so in plain text, and it looks like a wrong password.
    if "org id" in shown.lower():
        return f"a tenant header is needed: set prometheus.headers.X-Scope-OrgID ({shown})"
    return f"Prometheus refuses our credentials ({status}): {shown}"


def _cause(error: BaseException) -> str:
    """Return the innermost cause: the outer ones repeat the whole query."""
    inner: BaseException | None = error
    while inner is not None:
        error, inner = inner, inner.__cause__ or inner.__context__
    return str(error) or type(error).__name__


def _retry_after_s(reply: Reply) -> float | None:
    value = reply.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() and len(value) < 7 else None


def _secret(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"the secret for Prometheus cannot be read: {error}") from error
