"""Metrics in files: the text of exporters, or answers of the query API in JSON.

There is nobody to ask a query, so the default ones are worked out on what is there.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from autoscaler.adapters.prometheus.answers import Answer, QueryFailed, answer_from
from autoscaler.adapters.prometheus.queries import (
    ACTIVITY,
    ACTIVITY_METRICS,
    ACTIVITY_TIME,
    KNOWN,
    MEMORY_METRICS,
    MEMORY_USED,
    PENDING,
    TIME_OF,
)
from autoscaler.adapters.prometheus.samples import Sample
from autoscaler.adapters.prometheus.text import TimedSample, samples_of
from autoscaler.adapters.prometheus.view import BOARD_WIDE, Pass, view_from
from autoscaler.adapters.texts import source_of, text_of
from autoscaler.domain.cluster.objects import MetricsView
from autoscaler.domain.cluster.placeholder import NAME_PREFIX
from autoscaler.domain.errors import ConfigError

REQUESTS = "kube_pod_container_resource_requests"
PHASE = "kube_pod_status_phase"
ALLOCATABLE = "kube_node_status_allocatable"
GPU_LABEL = "nvidia_com_"
QUERY_OF = {
    **{name.lower(): ACTIVITY for name in ACTIVITY_METRICS},
    **{name.lower(): MEMORY_USED for name in MEMORY_METRICS},
}
WANTED = frozenset(QUERY_OF) | {REQUESTS, PHASE, ALLOCATABLE}
# No activity is as high, no time as low.
EARLIEST_S = 1e9


def read_metrics(path: str, now_s: float, known: Iterable[str] = ()) -> MetricsView:
    """Return what a file says, seen at ``now_s``; ConfigError when it cannot be read.

    Samples of a text file that carry no time count as taken at ``now_s``: the file is
    what an exporter said then. In a JSON answer the time of a sample is known only
    where the answer to ``timestamp(…)`` is there too.
    """
    source = source_of(path)
    text = text_of(path)
    if text.lstrip()[:1] in ("{", "["):
        found = _from_answers(text, source)
    else:
        found = _from_text(text, source, now_s)
    if not found.queries:
        raise ConfigError(
            f"{source}: holds no metric that is used; needed: {ACTIVITY_METRICS[0]}, {REQUESTS}"
        )
    return view_from(replace(found, known=tuple(known)), now_s)


def _from_text(text: str, source: str, now_s: float) -> Pass:
    families: defaultdict[str, list[TimedSample]] = defaultdict(list)
    for timed in samples_of(text, source, lambda name: name.lower() in WANTED):
        family = timed.sample.name.lower()
        families[QUERY_OF.get(family, family)].append(timed)
    if not families:
        return _without_activity(text, source)
    samples = {name: [timed.sample for timed in found] for name, found in families.items()}
    answers = {
        name: Answer(tuple(samples[name]))
        for name in (ACTIVITY, MEMORY_USED)
        if name in samples
    }
    for name, time_name in TIME_OF.items():
        if name in families:
            answers[time_name] = Answer(tuple(_time_of(t, now_s) for t in families[name]))
    if any(name in samples for name in (REQUESTS, PHASE, ALLOCATABLE)):
        answers[PENDING] = Answer(tuple(pending_samples(samples)))
    return Pass(answers, queries=dict.fromkeys(answers, ""))


def _without_activity(text: str, source: str) -> Pass:
    """Return what a page of an exporter says that has none of the metrics in use."""
    others = samples_of(text, source, lambda name: BOARD_WIDE.match(name) is not None)
    boards = tuple(timed.sample for timed in others)
    return Pass({ACTIVITY: Answer(boards)}, queries={ACTIVITY: ""}) if boards else Pass({})


def _time_of(timed: TimedSample, now_s: float) -> Sample:
    return replace(timed.sample, name="", value=now_s if timed.at_s is None else timed.at_s)


def pending_samples(families: Mapping[str, Sequence[Sample]]) -> Iterator[Sample]:
    """Yield what the default query for pending demand would answer."""
    waiting = {
        _pod(sample)
        for sample in families.get(PHASE, ())
        if sample.labels.get("phase") == "Pending" and sample.value == 1
    }
    requests: dict[tuple[str, ...], float] = {}
    for sample in families.get(REQUESTS, ()):
        labels = sample.labels
        if labels.get("node") or _pod(sample) not in waiting:
            continue
        if labels.get("pod", "").startswith(NAME_PREFIX):
            continue
        if labels.get("resource", "").startswith(GPU_LABEL):
            containers = (labels.get("container", ""), labels.get("exported_container", ""))
            key = (labels["resource"], *_pod(sample), *containers)
            requests[key] = max(requests.get(key, 0.0), sample.value)
    totals: defaultdict[str, float] = defaultdict(float)
    for sample in families.get(ALLOCATABLE, ()):
        if sample.labels.get("resource", "").startswith(GPU_LABEL):
            totals[sample.labels["resource"]] += 0.0
    for (resource, *_), value in requests.items():
        totals[resource] += value
    for resource, value in sorted(totals.items()):
        yield Sample("", {"resource": resource}, value)


def _pod(sample: Sample) -> tuple[str, str, str]:
    labels = sample.labels
    return labels.get("namespace", ""), labels.get("pod", ""), labels.get("uid", "")


def _from_answers(text: str, source: str) -> Pass:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{source}:{error.lineno}:{error.colno}: {error.msg}") from error
    answers: dict[str, Answer] = {}
    failed: dict[str, str] = {}
    notices = []
    for name, raw in _named(found, source):
        try:
            answer = answer_from(name, raw)
        except QueryFailed as error:
            # Which query it was may not be known; then it was one more all the same.
            failed[name] = ""
            notices.append(f"{source}: {error}; nothing is known from it")
            continue
        if not answer.samples:
            notices.append(f"{source}: the answer to query {name} is empty")
        name = name if name in KNOWN else _query_for(answer, source)
        known = answers.get(name, Answer())
        answers[name] = Answer(
            known.samples + answer.samples,
            known.warnings + answer.warnings,
            known.notices + answer.notices,
        )
    return Pass(answers, notices, {**dict.fromkeys(answers, ""), **failed})


def _named(found: object, source: str) -> Iterator[tuple[str, object]]:
    """Yield answers with the names of their queries, where the file gives names."""
    if isinstance(found, dict) and "status" in found:
        yield "1", found
    elif isinstance(found, dict) and found and set(found) <= set(KNOWN):
        yield from found.items()
    elif isinstance(found, list) and any(isinstance(r, dict) and "metric" in r for r in found):
        raise ConfigError(
            f"{source}: a list of bare results hides status and warnings; save the whole answer"
        )
    elif isinstance(found, list):
        yield from ((str(number), raw) for number, raw in enumerate(found, 1))
    else:
        raise ConfigError(
            f"{source}: neither an answer of the Prometheus query API, nor a list of them, "
            f"nor a map of them by query ({', '.join(KNOWN)})"
        )


def _query_for(answer: Answer, source: str) -> str:
    """Return which query an answer is to, by what is in it."""
    if not answer.samples:
        # Empty is the answer to be feared most for activity: it must not read as idle.
        return ACTIVITY
    first = answer.samples[0]
    if first.name:
        is_of_boards = BOARD_WIDE.match(first.name) is not None
        name = QUERY_OF.get(first.name.lower(), ACTIVITY if is_of_boards else None)
        if name is None:
            raise ConfigError(f"{source}: metric {first.name} is not used")
        return name
    if "resource" in first.labels:
        return PENDING
    return ACTIVITY_TIME if first.value >= EARLIEST_S else ACTIVITY
