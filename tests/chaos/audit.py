"""Holds every write of the product, and the cluster after it, against what must never be.

It stands at the API server and reads each object before and after a write, so it sees
what really happened and not what somebody meant to do. The names I1 to I12 are those of
the invariants in ``INVARIANTS``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autoscaler.domain.cluster.marks import ABORT, QUARANTINE
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import NotFound
from autoscaler.domain.mig.configuration import parse_configurations
from autoscaler.domain.mig.layouts import fits
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.mig.resource import is_gpu_resource
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.policy.window import is_open
from autoscaler.ports import CONFIG_MAPS, LEASES, NODES, PODS, Kind, RawObject
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.world import World

INVARIANTS = {
    "I1": "what we cordoned carries a journal or a quarantine",
    "I2": "no start exceeds the budget of nodes",
    "I3": "nothing starts, is evicted or is labelled outside the window",
    "I4": "reserved, held, ignored and foreign nodes are never written",
    "I5": "no protected pod is evicted",
    "I6": "only the holder of the Lease changes nodes and pods",
    "I7": "other people's labels, annotations and taints stay as they are",
    "I8": "after quiescence each node is as schedulable as it was, or quarantined",
    "I9": "modes that only look write nothing",
    "I10": "a node rolls no more often than its cooldown allows",
    "I11": "every rollout has an id and ends in exactly one record",
    "I12": "every layout asked for is legal",
    "names": "configurations in use stay, and mean what they meant",
    "holders": "no label is written under a pod that holds a GPU which changes",
}
PREFIX = "mig-autoscaler.io/"
ROLLOUT, CONFIG = PREFIX + "rollout", "nvidia.com/mig.config"
STATE, DEPLOY = CONFIG + ".state", "nvidia.com/gpu.deploy."
PAUSED = "paused-for-mig-change"
LEASE, NAMESPACE, STATUS = "mig-autoscaler", "mig-autoscaler", "mig-autoscaler-status"
OPERATOR = "gpu-operator"
MARKS = {
    "karpenter.sh/do-not-disrupt": "true",
    "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
}
WHOLE = ({"7g.40gb": 1}, None)
SHOWN = 200
BEFORE_LABEL = {"closed", "draining"}


@dataclass(slots=True)
class Rules:
    """What the world of one test allows.

    Parameters
    ----------
    nodes
        Most nodes out of service by a start.
    off_limits
        Nodes that must never be written.
    closed_by_people
        Nodes cordoned by somebody else at this moment.
    relabelled
        Nodes whose configuration somebody else has set: their ways are their own.
    is_punctual
        Whether the clocks of all replicas agree with the server's.
    """

    policy: Policy
    nodes: int = 1
    off_limits: set[str] = field(default_factory=set)
    closed_by_people: set[str] = field(default_factory=set)
    relabelled: set[str] = field(default_factory=set)
    is_punctual: bool = True


@dataclass
class Audit:
    """The auditor of one world.

    Parameters
    ----------
    actors
        Identity on the Lease of each user agent of the product.
    starts
        Node and time of each rollout, by its id.
    faults
        What was violated.
    """

    world: World
    rules: Rules
    actors: dict[str, str] = field(default_factory=dict)
    starts: dict[str, tuple[str, float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._client = self.world.platform.client
        self._before: RawObject = {}
        self._nodes = {n["metadata"]["name"]: n for n in self._client.list(NODES).items}
        watch = (Point.BEFORE_APPLY, self._look), (Point.AFTER_APPLY, self._compare)
        for point, call in watch:
            rule = Rule(point, Fault(call=call), self._is_ours, times=None)
            self.world.store.faults.add(rule)

    def fault(self, name: str, text: object) -> None:
        """Note a violation."""
        self.faults.append(f"{name} ({INVARIANTS[name]}): {str(text)[:SHOWN]}")

    def _is_ours(self, request: Request) -> bool:
        return request.user_agent in self.actors and request.is_mutating

    def _look(self, request: Request) -> None:
        self._before = {}
        if request.name and request.subresource != "binding":
            self._before = self._get(request.kind, request.namespace, request.name)

    def _get(self, kind: Kind, namespace: str, name: str) -> RawObject:
        try:
            return self._client.get(kind, namespace or None, name)
        except NotFound:
            return {}

    def _compare(self, request: Request) -> None:
        self._check_holder(request)
        if request.kind == NODES:
            after = self._get(NODES, "", request.name)
            if request.verb.value != "patch":
                self.fault("I4", f"{request} is no patch")
            self._check_node(request.name, self._before, after)
        elif request.subresource == "eviction":
            self._check_eviction(self._before)
        elif request.kind == PODS:
            self.fault("I5", f"{request} is no eviction")
        elif request.kind == CONFIG_MAPS and request.namespace == OPERATOR:
            self._check_configurations(self._before, self._get(*place_of(request)))

    def _check_holder(self, request: Request) -> None:
        """Check that whoever changes something holds the Lease.

        Configurations and status are guarded by their resource version alone: what an
        old leader adds there at the last moment harms nobody.
        """
        if request.kind not in {NODES, PODS}:
            return
        holder = self._get(LEASES, NAMESPACE, LEASE).get("spec", {}).get("holderIdentity")
        if holder != self.actors[request.user_agent]:
            self.fault("I6", f"{request} by {request.user_agent}, the Lease is {holder}'s")

    def _check_node(self, name: str, before: RawObject, after: RawObject) -> None:
        if name in self.rules.off_limits:
            self.fault("I4", f"{name} was patched")
        self._check_keys(name, before, after)
        old, new = journal_of(before), journal_of(after)
        if old is None and new is not None:
            self._check_start(name, new)
            self._check_marks(name, before, new)
        if label_of(before) != label_of(after):
            self._check_label(name, old, new)
        was, now = is_closed(before), is_closed(after)
        if now and not was and new is None and not leaves_closed(after):
            self.fault("I1", f"{name} was cordoned without a journal")
        if was and not now and name in self.rules.closed_by_people:
            self.fault("I8", f"{name} was opened, which people had closed")
        if was and now and old is not None and new is None:
            expected = name in self.rules.closed_by_people or leaves_closed(after)
            if not expected:
                self.fault("I1", f"{name} stays cordoned without a journal")

    def _check_keys(self, name: str, before: RawObject, after: RawObject) -> None:
        """Check that only keys of ours, or values of ours under theirs, changed."""
        for part in ("labels", "annotations"):
            old, new = before["metadata"].get(part, {}), after["metadata"].get(part, {})
            for key in old.keys() | new.keys():
                if old.get(key) != new.get(key) and not may_write(key, old, new):
                    said = f"{name} {key}: {old.get(key)} -> {new.get(key)}"
                    self.fault("I7", said)
        if before["spec"].get("taints", []) != after["spec"].get("taints", []):
            # The API server itself keeps the taint of a cordon, if it keeps any.
            self.fault("I7", f"{name}: taints changed")

    def _check_start(self, name: str, journal: Mapping[str, Any]) -> None:
        now_s = self.world.clock.now_s()
        if not journal["id"] or not journal["plan"]:
            self.fault("I11", f"{name}: a journal without id or plan")
        if journal["id"] in self.starts:
            self.fault("I11", f"{name}: {journal['id']} starts twice")
        self.starts[journal["id"]] = (name, now_s)
        out = {
            n["metadata"]["name"]
            for n in self._client.list(NODES).items
            if (is_closed(n) or journal_of(n) is not None) and not is_ignored(n)
        }
        if len(out) > self.rules.nodes:
            self.fault("I2", f"{name} starts while out of service: {sorted(out)}")
        if not self._in_window():
            self.fault("I3", f"{name} starts")
        model = next(m for m in load_models() if m.key == journal["model"])
        for counts in journal["target"]["layout"]:
            if counts is not None and not fits(model, Counts(counts)):
                self.fault("I12", f"{name}: {counts}")

    def _check_marks(self, name: str, node: RawObject, journal: Mapping[str, Any]) -> None:
        """Check that nobody has asked us to keep away from a node that we begin with."""
        marks = node["metadata"].get("annotations", {})
        for mark in ("hold", "ignore"):
            if marks.get(PREFIX + mark) == "true":
                self.fault("I4", f"{name} starts, though marked {mark}")
        changed = [journal["target"]["layout"][i] for i in journal["gpus"]]
        if marks.get(PREFIX + "reserved") == "true" and any(c not in WHOLE for c in changed):
            self.fault("I4", f"{name} is cut, though reserved: {changed}")
        if is_closed(node) and name in self.rules.closed_by_people:
            self.fault("I4", f"{name} starts, though people closed it")

    def _check_label(
        self, name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
    ) -> None:
        if old is None:
            self.fault("I1", f"{name} was labelled without a journal")
            return
        if new is None or old["state"] not in BEFORE_LABEL:
            return
        if not self._in_window():
            self.fault("I3", f"{name} was labelled")
        for pod in self.holders(name, set(new["gpus"])):
            self.fault("holders", f"{name}: {pod}")

    def _check_configurations(self, before: RawObject, after: RawObject) -> None:
        """Check that no name in use goes away, and none changes its meaning."""
        old, new = configurations_of(before), configurations_of(after)
        nodes = self._client.list(NODES).items
        journals = [j for j in map(journal_of, nodes) if j is not None]
        used = {label_of(n) for n in nodes}
        used |= {name for j in journals for name in (j["target"]["config"], j["configBack"])}
        for name, entries in old.items():
            if name in new and new[name] != entries:
                self.fault("names", f"{name} means something else now")
            if name not in new and name in used:
                self.fault("names", f"{name} is gone and in use")

    def _check_eviction(self, pod: RawObject) -> None:
        if not pod or pod["metadata"]["namespace"] == OPERATOR:
            return
        metadata, name = pod["metadata"], pod["metadata"]["name"]
        if not self._in_window():
            self.fault("I3", f"{name} was evicted")
        marks = metadata.get("annotations", {})
        owners = {owner["kind"] for owner in metadata.get("ownerReferences", [])}
        rules = self.rules.policy.disruption.eviction
        protected = (
            marks.get(PREFIX + "do-not-disrupt", "false") != "false"
            or marks.get("karpenter.sh/do-not-disrupt", "false") != "false"
            or marks.get("cluster-autoscaler.kubernetes.io/safe-to-evict") == "false"
            or "DaemonSet" in owners
            or not rules.enabled
            or (not owners and not rules.unowned)
            or ("Job" in owners and not rules.jobs)
        )
        if protected:
            self.fault("I5", name)

    def _in_window(self) -> bool:
        return is_open(self.rules.policy.disruption.windows, self.world.clock.now_s())

    def holders(self, name: str, gpus: set[int]) -> list[str]:
        """Return the pods that hold an instance of these GPUs, by kubelet's own account."""
        manager = self.world.devices.of(name)
        uuids = {i.uuid for g in self.world.hardware.gpus(name) for i in g.instances}
        at_risk = {
            i.uuid
            for g in self.world.hardware.gpus(name)
            if g.index in gpus
            for i in g.instances
        }
        found = []
        for pod in self._client.list(PODS, field_selector=f"spec.nodeName={name}").items:
            if pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
                continue
            held = set(manager.devices_of(pod["metadata"]["uid"]))
            if held & at_risk or (asks_for_gpu(pod) and not held & uuids):
                found.append(pod["metadata"]["name"])
        return found

    def forget(self, name: str) -> None:
        """Take a node for a new one, with marks and a configuration of its own."""
        self._nodes.pop(name, None)
        self.rules.closed_by_people.discard(name)
        self.rules.relabelled.add(name)

    def check(self) -> None:
        """Fail with all that was violated so far."""
        assert not self.faults, "\n".join(self.faults)

    def check_end(self) -> None:
        """Check a world in which nothing is under way any more."""
        for node in self._client.list(NODES).items:
            self._check_quiet(node)
        self._check_records()
        self.check()

    def _check_quiet(self, node: RawObject) -> None:
        name = node["metadata"]["name"]
        marks = node["metadata"].get("annotations", {})
        if journal_of(node) is not None:
            self.fault("I8", f"{name} still has a journal: {marks[ROLLOUT]}")
        wanted = name in self.rules.closed_by_people or leaves_closed(node)
        if is_closed(node) != wanted:
            self.fault("I8", f"{name}: unschedulable is {is_closed(node)}: {marks}")
        first = self._nodes.get(name, node)["metadata"].get("annotations", {})
        for key in MARKS:
            if marks.get(key) != first.get(key):
                self.fault("I8", f"{name}: {key} is {marks.get(key)}, was {first.get(key)}")
        if ABORT in marks and not is_ignored(node):
            self.fault("I8", f"{name} keeps a request to abort")
        paused = [k for k, v in node["metadata"]["labels"].items() if v == PAUSED]
        if paused and QUARANTINE not in marks and name not in self.rules.relabelled:
            self.fault("I8", f"{name} keeps paused {paused}")

    def _check_records(self) -> None:
        status = self._get(CONFIG_MAPS, NAMESPACE, STATUS).get("data", {})
        if not status:
            if self.starts:
                self.fault("I11", "there is no status")
            return
        ended = [r["rollout"] for r in json.loads(status["history.json"])]
        for rollout in self.starts:
            if ended.count(rollout) != 1:
                self.fault("I11", f"{rollout} has {ended.count(rollout)} records")
        self._check_rests(json.loads(status["history.json"]))
        unknown = set(ended) - self.starts.keys()
        if unknown:
            self.fault("I11", f"records of unknown rollouts: {sorted(unknown)}")
        if json.loads(status["status.json"])["openRollouts"]:
            self.fault("I8", "the status tells of open rollouts")

    def _check_rests(self, records: list[dict[str, Any]]) -> None:
        """Check that each node rested between two rollouts."""
        if not self.rules.is_punctual:
            return
        cooldown_s = self.rules.policy.disruption.cooldown_s
        ended_s: dict[str, float] = {}
        for record in sorted(records, key=lambda r: r["startedAt"]):
            name = record["node"]
            rest_s = record["startedAt"] - ended_s.get(name, float("-inf"))
            if rest_s < cooldown_s:
                self.fault("I10", f"{name} rolls again after {rest_s:.0f} s")
            ended_s[name] = record["endedAt"]


def may_write(key: str, old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Say whether a key of a node is ours to change in this way."""
    if key.startswith(PREFIX) or key in {CONFIG, STATE}:
        return True
    if key in MARKS:
        return MARKS[key] in {old.get(key), new.get(key)}
    return key.startswith(DEPLOY) and (old.get(key), new.get(key)) == (PAUSED, "true")


def journal_of(node: RawObject) -> Mapping[str, Any] | None:
    """Return the journal a node carries."""
    text = (node.get("metadata", {}).get("annotations") or {}).get(ROLLOUT)
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        # Somebody else wrote it.
        return None


def label_of(node: RawObject) -> str | None:
    """Return the configuration a node is labelled with."""
    return node["metadata"].get("labels", {}).get(CONFIG)


def is_closed(node: RawObject) -> bool:
    """Say whether a node is cordoned."""
    return bool(node["spec"].get("unschedulable"))


def is_ignored(node: RawObject) -> bool:
    """Say whether people have taken a node out of the fleet."""
    return (node["metadata"].get("annotations") or {}).get(PREFIX + "ignore") == "true"


def leaves_closed(node: RawObject) -> bool:
    """Say whether a quarantine says that it keeps the node cordoned."""
    text = (node["metadata"].get("annotations") or {}).get(QUARANTINE)
    return text is not None and json.loads(text).get("cordoned") is True


def place_of(request: Request) -> tuple[Kind, str, str]:
    """Return where the object of a request is, also of one that creates it."""
    name = request.name or (request.body or {}).get("metadata", {}).get("name", "")
    return request.kind, request.namespace, name


def configurations_of(config_map: RawObject) -> Mapping[str, Any]:
    """Return the configurations that MIG manager would find."""
    text = (config_map.get("data") or {}).get("config.yaml")
    return {} if text is None else parse_configurations(text)


def asks_for_gpu(pod: RawObject) -> bool:
    """Say whether a pod asks for a GPU or a part of one."""
    limits = (c.get("resources", {}).get("limits") or {} for c in pod["spec"]["containers"])
    return any(is_gpu_resource(name) for names in limits for name in names)
