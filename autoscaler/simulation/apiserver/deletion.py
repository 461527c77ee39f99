"""DELETE: preconditions, grace, finalizers, and what goes with an object."""

from autoscaler.ports import NAMESPACES, PODS, Kind, RawObject
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.apiserver.resources import Resource
from autoscaler.simulation.apiserver.status import bad_request, conflict, forbidden, success
from autoscaler.simulation.apiserver.storage import Key, key_of
from autoscaler.simulation.apiserver.timestamps import epoch_s, timestamp

_KEPT_NAMESPACES = ("default", "kube-system", "kube-public")
_DEFAULT_GRACE_S = 30
_POLICIES = (None, "Orphan", "Background", "Foreground")


def delete(backend: Backend, request: Request) -> RawObject:
    """Delete the object of a request; return it where it lives on, else a ``Status``."""
    resource = backend.registry.of(request.kind)
    item = backend.read(resource, request.namespace, request.name)
    return delete_item(backend, resource, item, request.body or {}, dry_run=request.dry_run)


def delete_item(
    backend: Backend,
    resource: Resource,
    item: RawObject,
    options: RawObject,
    *,
    dry_run: bool = False,
) -> RawObject:
    """Delete one object as DeleteOptions say."""
    kind, metadata = resource.stored, item["metadata"]
    _check_options(resource.kind, item, options)
    if kind == NAMESPACES:
        return _terminate_namespace(backend, item, dry_run=dry_run)
    if options.get("propagationPolicy") == "Orphan" and not dry_run:
        _orphan_dependents(backend, metadata["uid"])
    grace_s = _grace_s(item, options) if kind == PODS else 0
    if grace_s > 0 or metadata.get("finalizers"):
        marked = _marked(backend, item, grace_s)
        return item if marked is item else backend.put(kind, marked, dry_run=dry_run)
    removed = backend.remove(kind, item, dry_run=dry_run)
    return (
        removed if kind == PODS else success(resource.kind, metadata["name"], metadata["uid"])
    )


def _check_options(kind: Kind, item: RawObject, options: RawObject) -> None:
    if options.get("propagationPolicy") not in _POLICIES:
        raise bad_request(f"invalid propagationPolicy: {options['propagationPolicy']!r}")
    metadata, preconditions = item["metadata"], options.get("preconditions") or {}
    for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted = preconditions.get(field)
        if wanted and wanted != metadata[field]:
            why = (
                f"Precondition failed: {label} in precondition: {wanted}, {label} in object"
                f" meta: {metadata[field]}"
            )
            raise conflict(kind, metadata["name"], why)


def _grace_s(pod: RawObject, options: RawObject) -> int:
    """Return how long a pod may still run: not at all where no kubelet runs it."""
    spec, status = pod["spec"], pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in {"Succeeded", "Failed"}:
        return 0
    asked = options.get("gracePeriodSeconds")
    if asked is None:
        asked = spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE_S)
    return 1 if asked < 0 else int(asked)


def _marked(backend: Backend, item: RawObject, grace_s: int) -> RawObject:
    """Return an object marked for deletion; a later request may only shorten the grace."""
    metadata = item["metadata"]
    until_s = backend.now_s() + grace_s
    if metadata.get("deletionTimestamp"):
        given_s = metadata.get("deletionGracePeriodSeconds", 0)
        if grace_s >= given_s:
            return item
        until_s = (epoch_s(metadata["deletionTimestamp"]) or until_s) - given_s + grace_s
    marks = {
        "deletionTimestamp": timestamp(until_s),
        "deletionGracePeriodSeconds": grace_s,
    }
    return {**item, "metadata": {**metadata, **marks}}


def _terminate_namespace(backend: Backend, item: RawObject, *, dry_run: bool) -> RawObject:
    name = item["metadata"]["name"]
    if name in _KEPT_NAMESPACES:
        raise forbidden(NAMESPACES, name, "this namespace may not be deleted")
    if dry_run or item["metadata"].get("deletionTimestamp"):
        return item
    marked = {**_marked(backend, item, 0), "status": {"phase": "Terminating"}}
    marked = backend.put(NAMESPACES, marked)
    for resource in list(backend.registry):
        if resource.kind.namespaced and not resource.alias_of:
            for content in backend.storage.of(resource.kind).select(name):
                if backend.find(resource.kind, key_of(content)):
                    delete_item(backend, resource, content, {})
    finish_namespace(backend, name)
    return marked


def finish_namespace(backend: Backend, name: str) -> None:
    """Remove a namespace that is to go once nothing is left in it."""
    namespace = backend.find(NAMESPACES, ("", name))
    if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
        return
    kinds = [kind for kind in backend.storage.kinds() if kind.namespaced]
    if not any(backend.storage.of(kind).select(name) for kind in kinds):
        backend.remove(NAMESPACES, namespace)


def _orphan_dependents(backend: Backend, uid: str) -> None:
    for kind in backend.storage.kinds():
        for item in backend.storage.of(kind).select():
            references = item["metadata"].get("ownerReferences") or []
            if any(reference.get("uid") == uid for reference in references):
                backend.put(kind, without_owner(item, uid))


def without_owner(item: RawObject, uid: str) -> RawObject:
    """Return an object without the references to one owner."""
    metadata = item["metadata"]
    left = [r for r in metadata.get("ownerReferences") or [] if r.get("uid") != uid]
    rest = {key: value for key, value in metadata.items() if key != "ownerReferences"}
    return {**item, "metadata": {**rest, "ownerReferences": left} if left else rest}


class GarbageCollector:
    """Deletes what belonged to objects that are gone, and finishes namespaces."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._owned: dict[str, dict[tuple[Kind, Key], None]] = {}

    def react(self, kind: Kind, new: RawObject | None, old: RawObject | None) -> None:
        """Follow the references after a write."""
        self._index(kind, new, old)
        if new is not None or old is None:
            return
        for dependent_kind, key in list(self._owned.pop(old["metadata"]["uid"], {})):
            self._release(dependent_kind, key, old["metadata"]["uid"])
        if kind.namespaced:
            finish_namespace(self._backend, old["metadata"]["namespace"])

    def _index(self, kind: Kind, new: RawObject | None, old: RawObject | None) -> None:
        before, after = _owners(old), _owners(new)
        if before is after or before == after:
            return
        entry = (kind, key_of(new or old or {}))
        for uid in before - after:
            self._owned.get(uid, {}).pop(entry, None)
        for uid in after - before:
            self._owned.setdefault(uid, {})[entry] = None

    def _release(self, kind: Kind, key: Key, uid: str) -> None:
        item = self._backend.find(kind, key)
        if item is None:
            return
        left = without_owner(item, uid)
        if left["metadata"].get("ownerReferences"):
            self._backend.put(kind, left)
        else:
            delete_item(self._backend, self._backend.registry.of(kind), item, {})


_NO_OWNERS: frozenset[str] = frozenset()


def _owners(item: RawObject | None) -> frozenset[str]:
    references = item["metadata"].get("ownerReferences") if item else None
    return frozenset(r.get("uid", "") for r in references) if references else _NO_OWNERS
