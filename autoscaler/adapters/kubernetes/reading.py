"""Reads fields of raw objects, each of which may be null, absent or of a wrong type.

One odd field must not lose a list of thousands of objects: what cannot be read is
named in ``faults`` with its path, and its place stays empty.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from sys import intern

from autoscaler.domain.cluster.objects import Owner
from autoscaler.domain.counts import Counts

GPU_PREFIX = "nvidia.com/"
EMPTY: Mapping[str, object] = {}
# Kinds of owners that count without the mark of a controller.
HAND_WRITTEN = frozenset({"Job", "DaemonSet"})
# Longer values are cut in messages.
SHOWN = 80


def mapping_at(
    raw: Mapping[str, object], key: str, faults: list[str], path: str = ""
) -> Mapping[str, object]:
    """Return the object under ``key``, empty when it is null or absent."""
    value = raw.get(key)
    if isinstance(value, dict):
        return value
    if value is not None:
        faults.append(fault(path + key, value, "not an object"))
    return EMPTY


def sequence_at(
    raw: Mapping[str, object], key: str, faults: list[str], path: str = ""
) -> list[Mapping[str, object]]:
    """Return the objects of the list under ``key``, empty when it is null or absent."""
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        faults.append(fault(path + key, value, "not a list"))
        return []
    odd = [item for item in value if not isinstance(item, dict)]
    if odd:
        faults.append(fault(path + key, odd[0], "an entry that is not an object"))
        return [item for item in value if isinstance(item, dict)]
    return value


def texts_at(
    raw: Mapping[str, object], key: str, faults: list[str], path: str = ""
) -> dict[str, str]:
    """Return a map of texts (labels, annotations); other values become faults."""
    found = mapping_at(raw, key, faults, path)
    texts = {}
    for name, value in found.items():
        if isinstance(value, str):
            texts[intern(name)] = intern(value)
        elif value is None:
            # The API server reads null as the empty text.
            texts[intern(name)] = ""
        else:
            faults.append(fault(f"{path}{key}[{name}]", value, "not a text"))
    return texts


def text_at(raw: Mapping[str, object], key: str) -> str:
    """Return a text, empty when it is null, absent or of another type."""
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def strings_at(
    raw: Mapping[str, object], key: str, faults: list[str], path: str = ""
) -> list[str]:
    """Return a list of texts, empty when it is null or absent."""
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        faults.append(fault(path + key, value, "not a list of texts"))
        return []
    return value


def integer_at(raw: Mapping[str, object], key: str, faults: list[str], path: str = "") -> int:
    """Return a whole number, 0 when it is null or absent."""
    value = raw.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if value is not None:
        faults.append(fault(path + key, value, "not a whole number"))
    return 0


def time_at(
    raw: Mapping[str, object], key: str, faults: list[str], path: str = ""
) -> float | None:
    """Return epoch seconds of a timestamp, ``None`` when it is null or absent."""
    value = raw.get(key)
    if value is None:
        return None
    try:
        return parse_time(str(value))
    except ValueError:
        faults.append(fault(path + key, value, "not a timestamp"))
        return None


@lru_cache(maxsize=4096)
def parse_time(text: str) -> float:
    """Return epoch seconds of an RFC 3339 text; ValueError when it is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"no time zone: {text}")
    return moment.timestamp()


def format_time(epoch_s: float, micro: bool = False) -> str:
    """Return the API's text for a time: whole seconds, or microseconds for Leases."""
    moment = datetime.fromtimestamp(epoch_s, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def amounts_at(
    raw: Mapping[str, object], read: Callable[[object], int], faults: list[str], path: str
) -> Counts:
    """Return the ``nvidia.com/…`` amounts of a resource list."""
    amounts = {}
    for name, value in raw.items():
        if not name.startswith(GPU_PREFIX):
            continue
        number = amount_of(value, read, faults, f"{path}[{name}]")
        if number:
            amounts[intern(name)] = number
    return Counts(amounts) if amounts else NO_COUNTS


def amount_of(
    value: object, read: Callable[[object], int], faults: list[str], path: str
) -> int | None:
    """Return an amount, ``None`` and a fault when it cannot be read."""
    try:
        return read(value)
    except ValueError as error:
        faults.append(fault(path, value, str(error)))
        return None


def owner_of(metadata: Mapping[str, object], faults: list[str]) -> Owner | None:
    """Return the controlling owner, ``None`` without one."""
    references = sequence_at(metadata, "ownerReferences", faults, "metadata.")
    for reference in references:
        if reference.get("controller") is True or _is_written_by_hand(reference):
            return Owner(
                intern(text_at(reference, "kind")),
                intern(text_at(reference, "name")),
                intern(text_at(reference, "uid")),
            )
    return None


def _is_written_by_hand(reference: Mapping[str, object]) -> bool:
    # Controllers always set ``controller``. Where it is left out, only kinds for which
    # "owned" is the careful reading count: their pods are not evicted by default.
    return "controller" not in reference and text_at(reference, "kind") in HAND_WRITTEN


def fault(path: str, value: object, problem: str) -> str:
    """Return the sentence for a field that cannot be read."""
    shown = repr(value)
    if len(shown) > SHOWN:
        shown = shown[:SHOWN] + "…"
    return f"{path} = {shown}: {problem}"


NO_COUNTS = Counts()
