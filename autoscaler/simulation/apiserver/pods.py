"""What the API server does to pods: defaults, checks, and what an update may change."""

from collections.abc import Iterator

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.quantities import amount, as_texts
from autoscaler.simulation.apiserver.status import Cause
from autoscaler.simulation.apiserver.validation import (
    duplicate,
    is_dns_label,
    is_extended,
    label_causes,
    not_allowed,
    quantity_causes,
    required,
    wrong,
)

_SPEC_DEFAULTS: RawObject = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "serviceAccount": "default",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER_DEFAULTS: RawObject = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}
# The server lets every pod stay five minutes on a node that stops answering.
_NODE_TROUBLES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_UPDATE_RULE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only"
    " additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be"
    " set to 1 if it was previously negative)"
)


def with_pod_defaults(pod: RawObject) -> RawObject:
    """Return a pod as the server fills it in; its status starts anew."""
    spec = {**_SPEC_DEFAULTS, **(pod.get("spec") or {})}
    for field in ("initContainers", "containers"):
        if field in spec:
            spec[field] = [_with_container_defaults(c) for c in spec[field] or []]
    spec["tolerations"] = _with_default_tolerations(spec.get("tolerations") or [])
    status: RawObject = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    return {**pod, "spec": spec, "status": status}


def _with_container_defaults(container: RawObject) -> RawObject:
    resources = container.get("resources") or {}
    limits = as_texts(resources.get("limits"))
    # A limit without a request is a request too; for extended resources the two are one.
    requests = {**limits, **as_texts(resources.get("requests"))}
    for part, amounts in (("limits", limits), ("requests", requests)):
        if amounts:
            resources = {**resources, part: amounts}
    return {**_CONTAINER_DEFAULTS, **container, "resources": resources}


def _with_default_tolerations(tolerations: list[RawObject]) -> list[RawObject]:
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _NODE_TROUBLES
        if not any(_tolerates(toleration, key) for toleration in tolerations)
    ]
    return [*tolerations, *added]


def _tolerates(toleration: RawObject, key: str) -> bool:
    named = toleration.get("key", "")
    if toleration.get("effect", "") not in {"", "NoExecute"}:
        return False
    return named == key or (not named and toleration.get("operator") == "Exists")


def qos_class(spec: RawObject) -> str:
    """Return the quality-of-service class that requests and limits amount to."""
    resources = [c.get("resources") or {} for c in containers(spec)]
    asked = [
        {name: (r.get(part) or {}).get(name) for name in ("cpu", "memory")}
        for r in resources
        for part in ("requests", "limits")
    ]
    if not any(value for amounts in asked for value in amounts.values()):
        return "BestEffort"
    if all(value for amounts in asked for value in amounts.values()) and all(
        amount(r["requests"][name]) == amount(r["limits"][name])
        for r in resources
        for name in ("cpu", "memory")
    ):
        return "Guaranteed"
    return "Burstable"


def containers(spec: RawObject) -> Iterator[RawObject]:
    """Yield init containers and containers."""
    for field in ("initContainers", "containers"):
        yield from spec.get(field) or []


def pod_causes(pod: RawObject) -> list[Cause]:
    """Return what is wrong with a pod's specification."""
    spec = pod["spec"]
    causes = list(label_causes(spec.get("nodeSelector") or {}, "spec.nodeSelector"))
    if not spec.get("containers"):
        causes.append(required("spec.containers"))
    names: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or []):
            at = f"spec.{field}[{index}]"
            causes.extend(_container_causes(container, at))
            name = container.get("name", "")
            if name in names:
                causes.append(duplicate(f"{at}.name", name))
            names.add(name)
    for index, toleration in enumerate(spec.get("tolerations") or []):
        causes.extend(_toleration_causes(toleration, f"spec.tolerations[{index}]"))
    if spec["restartPolicy"] not in {"Always", "OnFailure", "Never"}:
        causes.append(wrong("spec.restartPolicy", spec["restartPolicy"], "unsupported value"))
    return causes


def _container_causes(container: RawObject, at: str) -> list[Cause]:
    causes = []
    name = container.get("name", "")
    if not name:
        causes.append(required(f"{at}.name"))
    elif not is_dns_label(name):
        causes.append(wrong(f"{at}.name", name, "must be a lowercase RFC 1123 label"))
    if not container.get("image"):
        causes.append(required(f"{at}.image"))
    requests = container["resources"].get("requests") or {}
    limits = container["resources"].get("limits") or {}
    causes.extend(quantity_causes(limits, f"{at}.resources.limits"))
    causes.extend(quantity_causes(requests, f"{at}.resources.requests"))
    return causes or _limit_causes(requests, limits, f"{at}.resources")


def _limit_causes(requests: RawObject, limits: RawObject, at: str) -> list[Cause]:
    causes = []
    for name, value in requests.items():
        if name not in limits:
            if is_extended(name):
                why = "Limit must be set for non overcommitable resources"
                causes.append(required(f"{at}.limits", why))
        elif is_extended(name) and amount(value) != amount(limits[name]):
            rule = f"must be equal to {name} limit of {limits[name]}"
            causes.append(wrong(f"{at}.requests", value, rule))
        elif amount(value) > amount(limits[name]):
            rule = f"must be less than or equal to {name} limit of {limits[name]}"
            causes.append(wrong(f"{at}.requests", value, rule))
    return causes


def _toleration_causes(toleration: RawObject, at: str) -> list[Cause]:
    operator = toleration.get("operator", "Equal")
    if operator not in {"Equal", "Exists"}:
        return [wrong(f"{at}.operator", operator, 'supported values: "Equal", "Exists"')]
    if operator == "Exists" and toleration.get("value"):
        rule = "value must be empty when `operator` is 'Exists'"
        return [wrong(f"{at}.operator", toleration["value"], rule)]
    if not toleration.get("key") and operator != "Exists":
        rule = "operator must be Exists when `key` is empty, which means 'match all values'"
        return [wrong(f"{at}.operator", operator, rule)]
    return []


def pod_update_causes(new: RawObject, old: RawObject) -> list[Cause]:
    """Return what an update changes although it may not."""
    if new["spec"] == old["spec"]:
        return []
    causes = []
    before = old["spec"].get("tolerations") or []
    after = new["spec"].get("tolerations") or []
    if any(toleration not in after for toleration in before):
        rule = "existing toleration can not be modified except its tolerationSeconds"
        causes.append(not_allowed("spec.tolerations", rule))
    gates_before = old["spec"].get("schedulingGates") or []
    gates_after = new["spec"].get("schedulingGates") or []
    if any(gate not in gates_before for gate in gates_after):
        rule = "only deletion is allowed, but found new scheduling gate"
        causes.append(not_allowed("spec.schedulingGates", rule))
    gated = bool(gates_before)
    if _immutable_part(new["spec"], gated=gated) != _immutable_part(old["spec"], gated=gated):
        causes.append(not_allowed("spec", _UPDATE_RULE))
    return causes


def _immutable_part(spec: RawObject, *, gated: bool) -> RawObject:
    free = {"tolerations", "schedulingGates", "activeDeadlineSeconds"}
    if gated:
        # A pod that no scheduler has looked at may still be sent elsewhere.
        free |= {"nodeSelector", "affinity"}
    fixed = {key: value for key, value in spec.items() if key not in free}
    for field in ("initContainers", "containers"):
        if field in fixed:
            fixed[field] = [{**c, "image": ""} for c in fixed[field]]
    return fixed
