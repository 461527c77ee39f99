"""Pods as they were last read: a version that was read before need not be read again."""

from collections.abc import Callable

from autoscaler.adapters.kubernetes.pods import pod_from
from autoscaler.domain.cluster.objects import Pod
from autoscaler.ports import RawObject


class PodMemory:
    """Remembers the pods of the latest pass.

    Most pods are the same from one pass to the next. Uid and resource version say so
    without a doubt; what lacks either is read each time.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Pod] = {}

    def reader(self) -> Callable[[RawObject], Pod]:
        """Return what reads the pods of one pass; pods that it does not meet are forgotten."""
        known = self._known
        met: dict[tuple[str, str], Pod] = {}
        self._known = met

        def read(raw: RawObject) -> Pod:
            key = _key_of(raw)
            pod = None if key is None else known.get(key)
            if pod is None:
                pod = pod_from(raw)
            if key is not None:
                met[key] = pod
            return pod

        return read


def _key_of(raw: RawObject) -> tuple[str, str] | None:
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        return None
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if not (isinstance(uid, str) and isinstance(version, str) and uid and version):
        return None
    return uid, version
