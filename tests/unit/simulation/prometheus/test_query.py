"""PromQL: what is answered is right, the rest is refused by name."""

import json
import shutil
import subprocess

import pytest

from autoscaler.simulation.prometheus.parser import parse, parse_duration
from autoscaler.simulation.prometheus.syntax import Aggregate, Binary, QueryError, Selector
from tests.samples import make_api, one, vector

GPUS = dict(
    [
        one("busy", 0.5, 0.75, node="n1", gpu="0"),
        one("busy", 0.25, 0.25, node="n1", gpu="1"),
        one("busy", 0.9, 0.0, node="n2", gpu="0"),
        one("pods", 3, 4, node="n1"),
        one("pods", 5, 6, node="n3"),
        one("jobs_total", 0, 60, 120, 30, 90, kind="a"),
    ]
)


BUSY_00 = "__name__=busy,gpu=0,node=n1"
BUSY_01 = "__name__=busy,gpu=1,node=n1"
PODS_1 = "__name__=pods,node=n1"
PODS_3 = "__name__=pods,node=n3"
ANSWERS: dict[str, dict[str, str]] = {
    'busy{node="n1"}': {
        BUSY_00: "0.75",
        BUSY_01: "0.25",
    },
    'busy{node!="n1"}': {"__name__=busy,gpu=0,node=n2": "0"},
    'busy{node=~"n[23]"}': {"__name__=busy,gpu=0,node=n2": "0"},
    'busy{node!~"n.*"}': {},
    'busy{absent=""} > 0.5': {BUSY_00: "0.75"},
    '{__name__="pods",node="n1"}': {PODS_1: "4"},
    "sum by (node) (busy)": {"node=n1": "1", "node=n2": "0"},
    "max(busy) by (gpu)": {"gpu=0": "0.75", "gpu=1": "0.25"},
    "avg without (gpu) (busy)": {"node=n1": "0.5", "node=n2": "0"},
    "count(busy)": {"": "3"},
    "min(busy)": {"": "0"},
    "group by (node) (busy)": {"node=n1": "1", "node=n2": "1"},
    "pods * 2 + 1": {"node=n1": "9", "node=n3": "13"},
    "-pods": {"node=n1": "-4", "node=n3": "-6"},
    "2 ^ 3 ^ 0 * pods": {"node=n1": "8", "node=n3": "12"},
    "pods > bool 5": {"node=n1": "0", "node=n3": "1"},
    "pods == 4": {PODS_1: "4"},
    "1 < pods < 5": {PODS_1: "4"},
    "busy and on (node) pods": {
        BUSY_00: "0.75",
        BUSY_01: "0.25",
    },
    "busy unless on (node) pods": {"__name__=busy,gpu=0,node=n2": "0"},
    'busy{gpu="1"} or pods{node="n3"}': {
        BUSY_01: "0.25",
        PODS_3: "6",
    },
    "busy * on (node) group_left () pods": {"gpu=0,node=n1": "3", "gpu=1,node=n1": "1"},
    "sum by (node) (busy) / on (node) pods": {"node=n1": "0.25"},
    "timestamp(pods)": {"node=n1": "60", "node=n3": "60"},
    "timestamp(pods + 0)": {"node=n1": "90", "node=n3": "90"},
    "absent(nothing)": {"": "1"},
    "absent(pods)": {},
    "vector(1)": {"": "1"},
    "round(busy, 0.5) > 0": {"gpu=0,node=n1": "1", "gpu=1,node=n1": "0.5"},
    "clamp_max(pods, 5)": {"node=n1": "4", "node=n3": "5"},
    "ceil(busy) > 0": {"gpu=0,node=n1": "1", "gpu=1,node=n1": "1"},
    'label_replace(pods, "host", "$1", "node", "n(.*)")': {
        "__name__=pods,host=1,node=n1": "4",
        "__name__=pods,host=3,node=n3": "6",
    },
    "pods offset 1m": {PODS_1: "3", PODS_3: "5"},
    "max_over_time(pods[2m])": {"node=n1": "4", "node=n3": "6"},
    "count_over_time(pods[10m]) # both samples": {"node=n1": "2", "node=n3": "2"},
    "last_over_time(pods[2m])": {PODS_1: "4", PODS_3: "6"},
}


@pytest.mark.parametrize("query", ANSWERS)
def test_answer(query):
    """One element a series or group, with the labels Prometheus would give."""
    assert vector(make_api(GPUS), query, 90.0) == ANSWERS[query]


def test_rate_and_increase_see_resets():
    """A drop is a reset; both ends are carried on to the edges of the range."""
    api = make_api(GPUS)
    assert vector(api, "rate(jobs_total[2m])", 120.0) == {"kind=a": "1"}
    # 60 + 60 + (reset) 30 + 60 seen between the first and the last scrape.
    assert vector(api, "increase(jobs_total[5m])", 240.0) == {"kind=a": "210"}


@pytest.mark.prometheus
def test_prometheus_agrees(tmp_path):
    """The real Prometheus gives the same answers on the same samples."""
    queries = dict.fromkeys(ANSWERS, 90)
    queries |= {
        f"{f}(jobs_total[{r}])": 245 for f in ("rate", "increase") for r in ("3m", "4m", "5m")
    }
    api = make_api(GPUS)
    checks = []
    for query, at_s in queries.items():
        result = api.query(query, float(at_s))["result"]
        samples = [
            {"labels": labels_text(e["metric"]), "value": float(e["value"][1])} for e in result
        ]
        checks.append({"expr": query, "eval_time": f"{at_s}s", "exp_samples": samples})
    series = [
        {
            "series": labels_text({"__name__": name, **dict(labels)}),
            "values": " ".join(map(str, values)),
        }
        for (name, labels), values in GPUS.items()
    ]
    group = {"interval": "1m", "input_series": series, "promql_expr_test": checks}
    path = tmp_path / "checks.json"
    path.write_text(json.dumps({"evaluation_interval": "1m", "tests": [group]}))
    tool = shutil.which("promtool")
    assert tool is not None
    done = subprocess.run(
        [tool, "test", "rules", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def labels_text(labels) -> str:
    rest = {key: value for key, value in labels.items() if key != "__name__"}
    inside = ", ".join(f'{key}="{value}"' for key, value in sorted(rest.items()))
    return labels.get("__name__", "") + "{" + inside + "}"


def test_scalars_and_strings():
    """Numbers are not vectors."""
    api = make_api(GPUS)
    assert api.query("1 + 2 * 3", 5.0) == {"resultType": "scalar", "result": [5.0, "7"]}
    assert api.query("time()", 5.5)["result"] == [5.5, "5.5"]
    assert api.query("scalar(pods{node='n1'})", 60.0)["result"] == [60.0, "4"]
    assert api.query("1 / 0", 5.0)["result"] == [5.0, "+Inf"]
    assert api.query("0 / 0", 5.0)["result"] == [5.0, "NaN"]
    assert api.query('"text"', 5.0) == {"resultType": "string", "result": [5.0, "text"]}


def test_histogram_quantile():
    """Linear within the bucket."""
    buckets = dict(
        [one("s_bucket", n, le=le) for le, n in (("10", 5), ("20", 15), ("+Inf", 20))]
    )
    assert vector(make_api(buckets), "histogram_quantile(0.5, s_bucket)", 0.0) == {"": "15"}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("topk(3, busy)", "topk is not supported"),
        ("deriv(busy[5m])", 'unknown function with name "deriv"'),
        ("busy @ 5", "the @ modifier is not supported"),
        ("sum(busy", "expected ',', got end of input"),
        ("busy{node=n1}", "expected a string, got 'n1'"),
        ("{node=~'.*'}", "at least one non-empty matcher"),
        ('busy{node=~"("}', "error parsing regexp"),
        ("busy +", "unexpected end of input"),
        ("busy busy", "unexpected 'busy'"),
        ("sum(busy)[5m]", "ranges only allowed for vector selectors"),
        ("busy[x]", "expected a duration"),
        ("rate(busy)", "expected type range vector in rate, got instant vector"),
        ("busy > $x", "unexpected character"),
        ("1 > 2", "must use BOOL modifier"),
        ("vector(busy)", "expected type scalar"),
    ],
)
def test_refusal_says_what_is_wrong(query, message):
    """Never an answer that might be wrong."""
    with pytest.raises(QueryError, match=message):
        make_api(GPUS).query(query, 60.0)


def test_matches_that_are_not_unique_are_errors():
    """As Prometheus has it, these are errors of execution."""
    api = make_api(GPUS)
    for query, message in (
        ("pods * on (node) busy", "many-to-many matching not allowed"),
        ("busy * on (node) pods", "many-to-one matching must be explicit"),
        ("sum by (gpu) (busy) + on () group_left () busy", "many-to-many"),
        ('label_replace(busy, "gpu", "x", "", "") * 0', "same labelset"),
    ):
        with pytest.raises(QueryError, match=message) as caught:
            api.query(query, 60.0)
        assert caught.value.kind == "execution"


def test_precedence():
    """And binds more strongly than or, comparison more strongly than and."""
    tree = parse("a or b and c > 1")
    assert isinstance(tree, Binary)
    assert (tree.operator, tree.right.operator, tree.right.right.operator) == ("or", "and", ">")
    left = parse("a - b - c")
    assert left.left == Binary("-", Selector("a"), Selector("b"))
    assert parse("sum by (x) (y)") == Aggregate("sum", Selector("y"), ("x",))


def test_durations():
    """Units may be put together."""
    assert parse_duration("1h30m") == 5400
    assert parse_duration("500ms") == 0.5
    with pytest.raises(QueryError, match="valid duration"):
        parse_duration("soon")
