"""The named queries and their defaults; a policy may override each by name.

The defaults use a small part of PromQL on purpose (selectors, ``or``, ``and on``,
``timestamp``, ``max by``, ``sum by``, a comparison and a product with a number), so
that every back end that speaks the Prometheus API answers them.
"""

import re
from collections.abc import Iterable, Mapping

from autoscaler.domain.cluster.placeholder import NAME_PREFIX
from autoscaler.domain.errors import ConfigError

ACTIVITY = "activity"
ACTIVITY_TIME = "activity_time"
MEMORY_USED = "memory_used"
MEMORY_TIME = "memory_time"
PENDING = "pending"
QUEUED = "queued"
KNOWN = (ACTIVITY, ACTIVITY_TIME, MEMORY_USED, MEMORY_TIME, PENDING, QUEUED)
# Which query gives the times of the samples of which.
TIME_OF = {ACTIVITY: ACTIVITY_TIME, MEMORY_USED: MEMORY_TIME}

# The first is the field's name since DCGM 2, the second since DCGM 4.6 (the old name
# stays as an alias), the last what pipelines that write all names in lower case keep.
ACTIVITY_METRICS = (
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO",
    "dcgm_fi_prof_gr_engine_active",
)
MEMORY_METRICS = ("DCGM_FI_DEV_FB_USED", "dcgm_fi_dev_fb_used")

# Placeholders of ours are nobody's demand.
OF_OTHERS = f'pod!~"{NAME_PREFIX}.+"'

# Requests come from the spec whatever the phase, so finished pods would count until
# they are deleted: only unbound pods in phase Pending do. ``max by`` and ``and`` keep
# a second kube-state-metrics from doubling the sums or failing the match. The last
# part adds a 0 for every resource a node has: it tells "nothing is pending" from
# "kube-state-metrics is silent", which is an empty answer.
PENDING_DEFAULT = (
    "sum by (resource) ("
    "max by (namespace, pod, uid, container, exported_container, resource) "
    "(kube_pod_container_resource_requests"
    f'{{resource=~"nvidia_com_.+", {OF_OTHERS}, node=""}}) '
    "and on (namespace, pod, uid) "
    'kube_pod_status_phase{phase="Pending"} == 1'
    ") or max by (resource) "
    '(kube_node_status_allocatable{resource=~"nvidia_com_.+"}) * 0'
)


def _times(names: Iterable[str]) -> str:
    # ``timestamp`` gives the time of a sample only right on a selector, so it goes
    # inside; the time that comes with an answer is that of the evaluation.
    return " or ".join(f"timestamp({name})" for name in names)


DEFAULTS: Mapping[str, str] = {
    ACTIVITY: " or ".join(ACTIVITY_METRICS),
    ACTIVITY_TIME: _times(ACTIVITY_METRICS),
    MEMORY_USED: " or ".join(MEMORY_METRICS),
    MEMORY_TIME: _times(MEMORY_METRICS),
    PENDING: PENDING_DEFAULT,
}

PLAIN_SELECTOR = re.compile(r"[a-zA-Z_:][\w:]*(\{[^{}]*\})?|\{[^{}]*\}")


def queries_from(overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each query by name; ConfigError for an unknown or empty one."""
    for name, text in overrides.items():
        if name not in KNOWN:
            raise ConfigError(
                f"prometheus.queries.{name}: no such query; known are {', '.join(KNOWN)}"
            )
        if not text.strip():
            raise ConfigError(f"prometheus.queries.{name}: the query is empty")
    queries = {**DEFAULTS, **overrides}
    for name, time_name in TIME_OF.items():
        if name in overrides and time_name not in overrides:
            del queries[time_name]
            # Of anything but a selector Prometheus would give the time of evaluation.
            selector = overrides[name].strip()
            if PLAIN_SELECTOR.fullmatch(selector):
                queries[time_name] = f"timestamp({selector})"
    return queries
