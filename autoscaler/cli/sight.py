"""What a command looks at: the cluster or files, the policy, metrics and the moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from autoscaler.adapters.default_policy import default_policy_for, default_policy_in
from autoscaler.adapters.dump import read_dumps, read_metrics
from autoscaler.adapters.policy_file import load_policy
from autoscaler.adapters.solver_process import SolverProcess
from autoscaler.cli.moment import parse_moment, span_text
from autoscaler.cli.output import FORM_OPTION, Form, console
from autoscaler.cli.wiring import (
    CONTEXT_OPTION,
    DEFAULT_ACCESS,
    KUBECONFIG_OPTION,
    NAMESPACE_OPTION,
    Access,
    cluster_of,
    connect_client,
    history_of,
    known_resources,
    metrics_of,
    own_namespace,
    system_clock,
)
from autoscaler.control.past import NO_PAST, Look, Past
from autoscaler.control.past_json import past_from_text
from autoscaler.control.proposal import Sight
from autoscaler.control.status import kept_in
from autoscaler.domain.cluster.objects import MetricsView, Observation
from autoscaler.domain.errors import AutoscalerError
from autoscaler.domain.fleet.assessment import assess
from autoscaler.domain.fleet.sightings import unknown_hosts
from autoscaler.domain.policy.policy import Policy
from autoscaler.planning.gating.gate import Standing

POLICY_OPTION = typer.Option(
    "--policy", help="Policy file; default: one pool for each product of GPU that is there."
)
FROM_OPTION = typer.Option(
    "--from",
    help="Files of kubectl get -o json or yaml in place of the cluster; - for standard input.",
    metavar="FILE",
)
METRICS_OPTION = typer.Option(
    help="Metrics in a file: Prometheus text or answers of its query API.", metavar="FILE"
)
AT_OPTION = typer.Option(
    help="Moment that ages and windows count from, ISO 8601 with a zone.", metavar="TIME"
)
# What every command takes that looks at a fleet.
PolicyOption = Annotated[str | None, POLICY_OPTION]
FilesOption = Annotated[list[str] | None, FROM_OPTION]
MetricsOption = Annotated[str | None, METRICS_OPTION]
MomentOption = Annotated[str | None, AT_OPTION]
KubeconfigOption = Annotated[str | None, KUBECONFIG_OPTION]
ContextOption = Annotated[str | None, CONTEXT_OPTION]
NamespaceOption = Annotated[str | None, NAMESPACE_OPTION]
FormOption = Annotated[Form, FORM_OPTION]
# A moment this near is the one at which people gave the command.
SAME_TIME_S = 300.0


@dataclass(frozen=True, slots=True)
class Question:
    """What the user asked to be looked at."""

    policy: str | None = None
    files: tuple[str, ...] = ()
    metrics: str | None = None
    at_s: float | None = None
    access: Access = DEFAULT_ACCESS

    @classmethod
    def of_options(
        cls,
        policy: str | None,
        files: list[str] | None,
        metrics: str | None,
        at: str | None,
        access: Access,
    ) -> "Question":
        """Return what the options of a command ask; a usage error for a bad moment."""
        at_s = None if at is None else parse_moment(at)
        return cls(policy, tuple(files or ()), metrics, at_s, access)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was there to be seen, and what was not (``notices``).

    Parameters
    ----------
    past
        What is known of the past; ``sight.values`` is what it is worth.
    """

    sight: Sight
    policy: Policy
    now_s: float
    standing: Standing
    notices: tuple[str, ...] = ()
    past: Past = NO_PAST


def look(question: Question) -> Answer:
    """Return what there is; ConfigError or ObservationError when it cannot be had."""
    clock = system_clock()
    now_s = clock.now_s() if question.at_s is None else question.at_s
    given = None if question.policy is None else load_policy(question.policy)
    known = None if given is None else given.policy
    if question.files:
        observation = read_dumps(question.files, now_s)
    else:
        with progress("reading the cluster"):
            client = connect_client(question.access, clock)
            policy = known or default_policy_for(())
            namespace = question.access.namespace
            observation = cluster_of(client, policy, clock, namespace).observe()
    policy = known or default_policy_in(observation)
    metrics, gaps = _metrics(question, policy, now_s)
    guard = SolverProcess(policy.planning.solve_limit_s)
    sight = Sight(replace(observation, observed_at_s=now_s), metrics, guard=guard)
    past = past_of(question, policy, sight, now_s)
    return Answer(
        sight=replace(sight, values=past.values(policy, now_s)),
        policy=policy,
        now_s=now_s,
        standing=standing_in(observation, question.access.namespace),
        notices=(
            *(() if given is None else given.warnings),
            *observation.notices,
            *left_out(observation),
            *_another_time(question, clock.now_s()),
            *gaps,
            *(() if metrics is None else metrics.notices),
            *_strangers(metrics, observation),
            *past.notices.values(),
        ),
        past=past,
    )


def past_of(question: Question, policy: Policy, sight: Sight, now_s: float) -> Past:
    """Return the past as the loop keeps it, or would find it.

    Files hold only what was kept; a cluster is asked for what is missing.
    """
    kept = kept_in(sight.observation, own_namespace(question.access.namespace))
    past = Past(pools=past_from_text(kept.past))
    source = None if question.files else history_of(policy, system_clock())
    if source is None:
        return past
    snapshot = assess(sight.observation, policy, sight.metrics, now_s)
    # What is to come is not known to any metric.
    look_back = Look(source, policy, snapshot, min(now_s, system_clock().now_s()))
    with progress("looking at the past"):
        for pool in look_back.overdue(past):
            past = look_back.at(past, pool)
    return past


def standing_in(observation: Observation, namespace: str | None = None) -> Standing:
    """Return history and pause, as far as our status ConfigMap is among what was seen."""
    kept = kept_in(observation, own_namespace(namespace))
    return Standing(history=kept.history, paused=kept.paused)


def left_out(observation: Observation) -> Iterator[str]:
    """Yield what files do not hold: unknown, and not the same as absent."""
    if not observation.offline:
        return
    if not (observation.pods or observation.placeholders):
        yield "no pods in the input: what waits and what holds GPUs is unknown"
    if not observation.config_maps:
        yield (
            "no configmaps in the input: which GPU holds what is known only where there is"
            " one way to split what the node advertises"
        )
    if observation.pods and not observation.budgets:
        yield "no pdb in the input: disruption budgets are unknown"


def _strangers(metrics: MetricsView | None, observation: Observation) -> Iterator[str]:
    """Yield that metrics name hosts which are no nodes, if they do."""
    names = (node.name for node in observation.nodes)
    said = "" if metrics is None else unknown_hosts(metrics.instances, names)
    if said:
        yield said


def _another_time(question: Question, clock_s: float) -> Iterator[str]:
    """Yield what a plan of a live cluster for another moment rests on."""
    at_s = question.at_s
    if question.files or at_s is None or abs(at_s - clock_s) < SAME_TIME_S:
        return
    if at_s < clock_s:
        yield f"--at is {span_text(clock_s - at_s)} ago: what is there now is judged as of then"
        return
    yield (
        f"--at is {span_text(at_s - clock_s)} ahead: windows, rules by time and announced peaks"
        " are those of then; nodes, and the pods that run and wait, are those of now"
    )


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say on a terminal what is being waited for."""
    with console(stderr=True).status(f"{what} ..."):
        yield


def _metrics(
    question: Question, policy: Policy, now_s: float
) -> tuple[MetricsView | None, tuple[str, ...]]:
    """Return metrics of a file or of Prometheus, and what cannot be done without."""
    if question.metrics is not None:
        return read_metrics(question.metrics, now_s, known_resources()), ()
    if question.files:
        return None, ("no --metrics: GPUs that a pod may sit on count as held",)
    port = metrics_of(policy, system_clock())
    if port is None:
        return None, (
            "no Prometheus in the policy: nothing is evicted, no work without pods is seen,"
            " and GPUs that a pod may sit on count as held",
        )
    try:
        with progress("asking Prometheus"):
            return port.observe(), ()
    except AutoscalerError as error:
        return None, (f"no metrics: {error}; GPUs that a pod may sit on count as held",)
