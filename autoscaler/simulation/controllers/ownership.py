"""Which pods belong to which owner, kept up to date from the watch."""

from autoscaler.ports import PODS, RawObject
from autoscaler.simulation.controllers.informer import Key
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import controller_of, name_of, uid_of


class Ownership:
    """Pods by the uid of the object that controls them."""

    def __init__(self, platform: Platform, kind: str) -> None:
        self._kind = kind
        self._pods = platform.informers.of(PODS)
        self._feed = self._pods.subscribe()
        self._owned: dict[str, dict[Key, None]] = {}

    def take_changed(self) -> list[str]:
        """Return the uids of owners whose pods changed since the last time."""
        changed: dict[str, None] = {}
        for notice in self._feed.take():
            owner = controller_of(notice.new or notice.old or {"metadata": {}})
            if owner is None or owner["kind"] != self._kind:
                continue
            uid = owner["uid"]
            changed[uid] = None
            if notice.new is not None:
                self._owned.setdefault(uid, {})[notice.key] = None
            else:
                self._owned.get(uid, {}).pop(notice.key, None)
        return list(changed)

    def pods_of(self, uid: str) -> list[RawObject]:
        """Return the pods of an owner, oldest first."""
        keys = self._owned.get(uid, {})
        return [self._pods.objects[key] for key in keys if key in self._pods.objects]


def pod_from_template(owner: RawObject, api_version: str, kind: str) -> RawObject:
    """Return the body of a pod that an owner's template describes."""
    template = owner["spec"]["template"]
    reference = {
        "apiVersion": api_version,
        "kind": kind,
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        **(template.get("metadata") or {}),
        "generateName": f"{name_of(owner)}-",
        "ownerReferences": [reference],
    }
    return {"metadata": metadata, "spec": template["spec"]}
