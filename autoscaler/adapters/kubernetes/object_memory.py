"""Objects as they were last read: a version that was read before need not be read again."""

from collections.abc import Callable
from typing import Generic, TypeVar

from autoscaler.ports import RawObject

T = TypeVar("T")


class ObjectMemory(Generic[T]):
    """Remembers the objects of one kind that the latest pass met.

    Most are the same from one pass to the next. Uid and resource version say so without
    a doubt; what lacks either is read each time.

    Parameters
    ----------
    convert
        Turns a raw object into a value.
    """

    def __init__(self, convert: Callable[[RawObject], T]) -> None:
        self._convert = convert
        self._known: dict[tuple[str, str], T] = {}

    def reader(self) -> Callable[[RawObject], T]:
        """Return what reads the objects of one pass; those it does not meet are forgotten."""
        known = self._known
        met: dict[tuple[str, str], T] = {}
        self._known = met

        def read(raw: RawObject) -> T:
            key = _key_of(raw)
            value = None if key is None else known.get(key)
            if value is None:
                value = self._convert(raw)
            if key is not None:
                met[key] = value
            return value

        return read

    def read(self, raw: RawObject) -> T:
        """Return an object outside of a pass, which adds nothing to what is remembered."""
        key = _key_of(raw)
        value = None if key is None else self._known.get(key)
        return self._convert(raw) if value is None else value


def _key_of(raw: RawObject) -> tuple[str, str] | None:
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        return None
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if not (isinstance(uid, str) and isinstance(version, str) and uid and version):
        return None
    return uid, version
