"""What the loop may count on from Prometheus, against real HTTP: answers good and bad."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from autoscaler.adapters.clock import SystemClock
from autoscaler.adapters.prometheus.metrics import PrometheusMetrics
from autoscaler.adapters.prometheus.queries import DEFAULTS
from autoscaler.domain.cluster.objects import MetricsView
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError, Unavailable
from autoscaler.domain.policy.policy import Prometheus
from autoscaler.simulation.clock import VirtualClock
from tests.scripted_server import Reply, ScriptedServer, Way

NOW_S = 1_893_456_600.0
INSTANCE = {"UUID": "GPU-1", "GPU_I_ID": "1", "Hostname": "gpu-a1", "GPU_I_PROFILE": "1g.5gb"}


def vector(*samples: tuple[dict[str, str], object], **more: Any) -> dict[str, Any]:
    """Return a whole answer; the time in it is that of the evaluation."""
    result = [{"metric": labels, "value": [NOW_S, str(value)]} for labels, value in samples]
    return {"status": "success", "data": {"resultType": "vector", "result": result}, **more}


GOOD = {
    "activity": vector(({"__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE", **INSTANCE}, 0.0)),
    "activity_time": vector((INSTANCE, NOW_S - 10)),
    "memory_used": vector(({"__name__": "DCGM_FI_DEV_FB_USED", **INSTANCE}, 12)),
    "memory_time": vector((INSTANCE, NOW_S - 10)),
    "pending": vector(({"resource": "nvidia_com_mig_1g_5gb"}, 3)),
}


def query_server(texts: dict[str, str] | None = None, **replies: Reply) -> ScriptedServer:
    """Return a server that answers each query by its name; what is not told is good.

    ``texts`` are queries beside the default ones; replies may be changed later.
    """
    by_name = {name: Reply(body) for name, body in GOOD.items()} | replies
    names = {text: name for name, text in {**DEFAULTS, **(texts or {})}.items()}
    return ScriptedServer(choose=lambda seen: by_name[names[seen.query["query"]]])


def metrics_of(server: ScriptedServer, **settings: Any) -> PrometheusMetrics:
    """Return the adapter for a server, on virtual time."""
    own = Prometheus(url=server.url, timeout_s="2s", **settings)
    return PrometheusMetrics(own, VirtualClock(NOW_S))


def observed(**replies: Reply) -> MetricsView:
    """Return one view of a server with these answers."""
    with query_server(**replies) as server:
        return metrics_of(server).observe()


def everywhere(reply: Reply) -> dict[str, Reply]:
    """Return one answer to all queries."""
    return dict.fromkeys(GOOD, reply)


def test_a_complete_pass_is_complete() -> None:
    """Activity, its time, memory and demand make one view."""
    view = observed()
    assert [(s.node, s.busy, s.sampled_at_s) for s in view.instances] == [
        ("gpu-a1", False, NOW_S - 10)
    ]
    assert view.pending == Counts({"nvidia.com/mig-1g.5gb": 3})
    assert (view.queued, view.partial, view.notices) == (None, False, ())
    assert view.observed_at_s == NOW_S


def test_warnings_are_kept_and_said_once() -> None:
    """Partial data: what is listed counts, what is not is unknown."""
    warned = Reply(vector((INSTANCE, 0.4), warnings=["store 10.0.0.9 did not answer"]))
    view = observed(activity=warned, activity_time=warned)
    assert view.partial
    about = [notice for notice in view.notices if "did not answer" in notice]
    assert len(about) == 1


def test_a_partial_answer_is_a_warning() -> None:
    """VictoriaMetrics has a field for it."""
    assert observed(activity=Reply({**GOOD["activity"], "isPartial": True})).partial


BAD_BODIES = {
    "error inside": {"status": "error", "errorType": "internal", "error": "boom"},
    "no data": {"status": "success"},
    "no object": [],
    "null": "null",
    "no JSON": "what?",
    "result of a wrong type": {"status": "success", "data": {"resultType": "vector"}},
}


@pytest.mark.parametrize("query", GOOD)
@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_a_query_that_failed_is_named_and_its_part_unknown(query: str, body: object) -> None:
    """The others count; nothing turns idle or zero by it."""
    view = observed(**{query: Reply(body)})
    assert view.partial
    assert any(f"query {query}" in notice for notice in view.notices)
    # Memory without a time of its own is of the same scrape as the activity beside it.
    proven = query in {"pending", "memory_time"}
    assert all(sample.busy is None for sample in view.instances) is not proven
    assert (view.pending is None) is (query == "pending")


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("scalar", [NOW_S, "3"]),
        ("string", [NOW_S, "x"]),
        ("matrix", [{"metric": INSTANCE, "values": [[NOW_S, "0.1"], [NOW_S, "0.2"]]}]),
    ],
)
def test_another_type_is_a_fault_of_the_query(kind: str, result: object) -> None:
    """It is named with what came, and no index or key error ends the loop."""
    found = {"status": "success", "data": {"resultType": kind, "result": result}}
    view = observed(pending=Reply(found))
    assert view.pending is None
    assert any("query pending" in n and kind in n for n in view.notices)


@pytest.mark.parametrize("code", [400, 422])
def test_a_query_that_cannot_be_evaluated_says_why(code: int) -> None:
    """With the words of Prometheus."""
    found = {"status": "error", "errorType": "bad_data", "error": "parse error: x"}
    view = observed(pending=Reply(found, code))
    assert any("query pending failed: bad_data: parse error: x" in n for n in view.notices)


def test_no_query_answered_is_unavailable() -> None:
    """There is no view to be had."""
    error = Reply({"status": "error", "errorType": "internal", "error": "x"})
    with (
        query_server(**everywhere(error)) as server,
        pytest.raises(Unavailable, match="pending"),
    ):
        metrics_of(server).observe()


def test_an_empty_vector_is_not_zero() -> None:
    """A broken Prometheus answers success with nothing in it."""
    view = observed(**everywhere(Reply(vector())))
    assert (view.instances, view.pending) == ((), None)
    assert any("empty" in notice for notice in view.notices)


def test_a_missing_tenant_header_is_named() -> None:
    """The body is plain text, and the status suggests a bad password."""
    reply = Reply("no org id\n", 401, {"Content-Type": "text/plain"})
    server = query_server(**everywhere(reply))
    with server, pytest.raises(Unavailable, match="X-Scope-OrgID"):
        metrics_of(server).observe()


PAGES = {
    "login page": (Reply("<html>log in", headers={"Content-Type": "text/html"}), "login"),
    "redirect": (Reply("", 302, {"Location": "https://login.example"}), "login"),
    "refused": (Reply("go away", 403), "credentials"),
    "wrong path": (Reply("404 page not found", 404), "prometheus.url"),
    "busy": (Reply("", 503), "503"),
    "too many": (Reply("", 429), "429"),
    "gateway": (Reply("<html>", 504), "504"),
    "dropped": (Reply(way=Way.DROP), "cannot be reached"),
    "cut off": (Reply(GOOD["activity"], way=Way.CUT), "cannot be reached"),
}


@pytest.mark.parametrize(("reply", "words"), PAGES.values(), ids=PAGES.keys())
def test_a_server_that_cannot_answer_is_unavailable(reply: Reply, words: str) -> None:
    """In words that say what to look at, and in one line."""
    server = query_server(**everywhere(reply))
    with server, pytest.raises(Unavailable, match=words) as caught:
        metrics_of(server).observe()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("way", [Way.HANG, Way.DRIP])
def test_all_tries_together_end_by_the_deadline(way: Way) -> None:
    """A server that is silent, or sends a byte now and then, does not hold up the loop."""
    server = query_server(**everywhere(Reply(GOOD["activity"], way=way)))
    settings = Prometheus(url=server.url, timeout_s="0.4s")
    # A silent server would be waited for until the test times out, and a dripping one
    # would bring a good answer in the end.
    with server, pytest.raises(Unavailable):
        PrometheusMetrics(settings, SystemClock()).observe()


def test_what_was_answered_before_a_break_counts() -> None:
    """The rest is unknown, and the view says so."""
    view = observed(memory_used=Reply("", 503))
    assert view.partial
    assert [sample.busy for sample in view.instances] == [None]
    assert view.pending is None
    assert any("memory_used and later ones" in notice for notice in view.notices)


def test_values_that_are_no_numbers_are_unknown() -> None:
    """NaN and Inf are left out and counted in a notice."""
    view = observed(activity=Reply(vector((INSTANCE, "NaN"), ({**INSTANCE, "x": "1"}, "+Inf"))))
    assert [sample.busy for sample in view.instances] == [None]
    assert "query activity: 2 samples are not numbers (NaN, Inf)" in view.notices


def test_an_outage_is_asked_about_less_and_less_and_its_end_said_once() -> None:
    """The pauses grow; while one lasts nothing is sent and the words stay the same."""
    answers = {"now": Reply("", 503)}
    clock = VirtualClock(NOW_S)
    with ScriptedServer(choose=lambda seen: answers["now"]) as server:
        metrics = PrometheusMetrics(Prometheus(url=server.url), clock)
        asked, said = [], set()
        for _ in range(40):
            before = len(server.seen)
            with pytest.raises(Unavailable) as caught:
                metrics.observe()
            said.add(str(caught.value))
            if len(server.seen) > before:
                asked.append(clock.now_s())
            clock.sleep(15.0)
        pauses = [round(later - earlier) for earlier, later in pairwise(asked)]
        assert pauses == sorted(pauses)
        assert pauses[0] <= 30
        assert pauses[-1] >= 120
        assert len(said) == 1
        answers["now"] = Reply(GOOD["pending"])
        clock.sleep(300.0)
        views = [metrics.observe() for _ in range(2)]
    assert [any("answers again" in n for n in view.notices) for view in views] == [True, False]


def test_a_hint_how_long_to_wait_is_heard() -> None:
    """Retry-After goes before our own pause."""
    with query_server(**everywhere(Reply("", 429, {"Retry-After": "120"}))) as server:
        clock = VirtualClock(NOW_S)
        metrics = PrometheusMetrics(Prometheus(url=server.url), clock)
        for _ in range(3):
            with pytest.raises(Unavailable):
                metrics.observe()
            clock.sleep(39.0)
        assert len(server.seen) == 1


def test_credentials_are_read_anew_for_each_request(tmp_path: Path) -> None:
    """Tokens are renewed while we run."""
    token = tmp_path / "token"
    with query_server() as server:
        metrics = metrics_of(server, bearer_token_file=str(token))
        for secret in ("one", "two"):
            token.write_text(f"{secret}\n")
            metrics.observe()
        sent = [seen.headers["Authorization"] for seen in server.seen]
    assert sorted(set(sent)) == ["Bearer one", "Bearer two"]


def test_basic_credentials_and_headers_are_sent(tmp_path: Path) -> None:
    """The password from its file, headers as they are."""
    secret = tmp_path / "password"
    secret.write_text("pass\n")
    basic = {"username": "me", "password_file": str(secret)}
    with query_server() as server:
        metrics_of(server, basic_auth=basic, headers={"X-Scope-OrgID": "gpu"}).observe()
    assert server.seen[0].headers["Authorization"] == "Basic bWU6cGFzcw=="
    assert server.seen[0].headers["X-Scope-OrgID"] == "gpu"


def test_a_secret_that_cannot_be_read_is_unavailable(tmp_path: Path) -> None:
    """And the file is named."""
    with query_server() as server, pytest.raises(Unavailable, match="nothing"):
        metrics_of(server, bearer_token_file=str(tmp_path / "nothing")).observe()


def test_nobody_at_the_address_is_unavailable() -> None:
    """The port is closed."""
    with query_server() as server:
        metrics = metrics_of(server)
    with pytest.raises(Unavailable, match="refused"):
        metrics.observe()


def test_an_unknown_query_is_a_config_error() -> None:
    """With the names of those that exist."""
    with query_server() as server, pytest.raises(ConfigError, match="activity, activity_time"):
        metrics_of(server, queries={"usage": "up"})
    with query_server() as server, pytest.raises(ConfigError, match="empty"):
        metrics_of(server, queries={"queued": " "})


def test_an_overridden_query_is_asked_with_its_own_time() -> None:
    """``timestamp`` of a selector follows by itself; of an expression it must be given."""
    plain = 'my_activity{cluster="a"}'
    texts = {"activity": plain, "activity_time": f"timestamp({plain})"}
    with query_server(texts) as server:
        view = metrics_of(server, queries={"activity": plain}).observe()
    assert view.instances[0].sampled_at_s == NOW_S - 10
    complex_ = "max by (UUID) (my_activity)"
    with query_server({"activity": complex_}) as server:
        view = metrics_of(server, queries={"activity": complex_}).observe()
    assert view.instances[0].busy is None
    assert any("activity_time" in notice for notice in view.notices)


def test_gpu_utilization_as_activity_is_warned_about() -> None:
    """Its zeros are "not measured": the instance is unknown."""
    text = "DCGM_FI_DEV_GPU_UTIL"
    texts = {"activity": text, "activity_time": f"timestamp({text})"}
    reply = Reply(vector(({"__name__": text, **INSTANCE}, 0)))
    with query_server(texts, activity=reply) as server:
        view = metrics_of(server, queries={"activity": text}).observe()
    assert [sample.busy for sample in view.instances] == [None]
    assert len([n for n in view.notices if "whole boards" in n]) == 1


def test_queued_work_is_asked_for_when_configured() -> None:
    """There is no default: each batch system counts in its own way."""
    text = "sum by (resource) (my_queue)"
    reply = Reply(vector(({"resource": "nvidia.com/mig-3g.20gb"}, 2)))
    with query_server({"queued": text}, queued=reply) as server:
        view = metrics_of(server, queries={"queued": text}).observe()
    assert view.queued == Counts({"nvidia.com/mig-3g.20gb": 2})


def test_names_of_the_cluster_resolve_what_the_table_cannot() -> None:
    """Two profiles of one board share a cleaned name; the one that exists is meant."""
    label = "nvidia_com_mig_1g_24gb_me"
    reply = Reply(vector(({"resource": label}, 1)))

    def pending(known: Callable[[], list[str]]) -> Counts | None:
        with query_server(pending=reply) as server:
            own = Prometheus(url=server.url)
            return PrometheusMetrics(own, VirtualClock(NOW_S), known).observe().pending

    assert pending(list) is None
    assert pending(lambda: ["nvidia.com/mig-1g.24gb-me"]) == Counts(
        {"nvidia.com/mig-1g.24gb-me": 1}
    )


def test_missing_demand_is_no_gap_in_holders() -> None:
    """Who sits where does not depend on what waits; what else is missing does matter."""
    failed = Reply({"status": "error", "errorType": "x", "error": "y"})
    with query_server(pending=failed) as server:
        metrics = metrics_of(server)
        assert metrics.observe().partial
        view = metrics.holders_since("gpu-a1", NOW_S - 30)
        assert (len(view.instances), view.partial) == (1, False)
    with query_server(activity=failed) as server:
        view = metrics_of(server).holders_since("gpu-a1", NOW_S - 30)
        assert [(s.busy, s.sampled_at_s) for s in view.instances] == [(None, NOW_S - 10)]
        assert view.partial


def test_holders_are_newer_than_asked_and_of_one_node() -> None:
    """Samples from before the cordon prove nothing."""
    other = {**INSTANCE, "UUID": "GPU-2", "Hostname": "gpu-b"}
    old = {**INSTANCE, "GPU_I_ID": "2"}
    rows = (INSTANCE, other, old)
    activity = vector(*(({**row, "namespace": "x", "pod": "p"}, 0.5) for row in rows))
    ages = (10, 10, 60)
    times = vector(
        *(
            ({**row, "namespace": "x", "pod": "p"}, NOW_S - age)
            for row, age in zip(rows, ages, strict=True)
        )
    )
    with query_server(activity=Reply(activity), activity_time=Reply(times)) as server:
        metrics = metrics_of(server)
        view = metrics.holders_since("gpu-a1", NOW_S - 30)
        asked = len(server.seen)
        assert len(metrics.holders_since("gpu-b", NOW_S - 30).instances) == 1
        assert len(server.seen) == asked
    assert [(s.instance_id, str(s.pod)) for s in view.instances] == [("1", "x/p")]
