"""The configuration file of mig-parted: its entries, read strictly and written plainly.

One wrong entry makes every configuration of a file unusable to MIG manager, so a file
is taken as a whole or refused as a whole, and a refusal says where it is wrong.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import yaml

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.resource import label_safe

VERSION = "v1"
DEVICE_FILTER = re.compile(r"0x[0-9a-fA-F]{8}(:0x[0-9a-fA-F]{8})?")
PROFILE = re.compile(r"([1-9]c\.)?[1-9][0-9]?g\.[0-9]+gb([+-][a-z]+([.,][a-z]+)*)*")
# Keys that YAML takes for nothing but text without quotes.
PLAIN_KEY = re.compile(r"(all|as)-[A-Za-z0-9._-]+")
ENTRY_KEYS = ("devices", "device-filter", "mig-enabled", "mig-devices")

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """What one entry of a configuration makes of some GPUs.

    Parameters
    ----------
    devices
        GPU indexes in PCI bus order, ascending; ``None`` for all.
    mig_enabled
        MIG mode.
    mig_devices
        Instances of each of these GPUs by profile; empty when MIG is off, or on
        without any instance.
    device_filter
        PCI ids of the boards it is for; empty for all.
    """

    devices: tuple[int, ...] | None
    mig_enabled: bool
    mig_devices: Counts = Counts()
    device_filter: tuple[str, ...] = ()


Entries = tuple[Entry, ...]


class _Fault(Exception):
    """Something wrong at a place in the document; becomes a ConfigError with a line."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


def parse_configurations(text: str, source: str = "config.yaml") -> dict[str, Entries]:
    """Return the configurations of a file by name, in name order.

    Parameters
    ----------
    text
        The file.
    source
        Its name, for messages.

    Raises
    ------
    ConfigError
        When any part of it is wrong: no YAML, several documents, another version, an
        unknown or repeated key, a value of the wrong kind, a name no label can carry.
        The message names file, line and key.
    """
    return dict(_parsed(text, source))


# A file changes seldom and is read in every cycle.
@lru_cache(maxsize=32)
def _parsed(text: str, source: str) -> tuple[tuple[str, Entries], ...]:
    root = _compose(text, source)
    try:
        _check_keys(root, (), set())
        return tuple(sorted(_configurations(yaml.load(text, Loader=yaml.CSafeLoader))))
    except _Fault as fault:
        line = _line_of(root, fault.path)
        place = f"{_text(fault.path)}: " if fault.path else ""
        raise ConfigError(f"{source}:{line}: {place}{fault}") from None
    # ValueError: what looks like a date need not be one.
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{source}: {error}") from error


def render_configurations(configurations: Mapping[str, Entries]) -> str:
    """Return the file that holds these configurations, sorted by name.

    Raises
    ------
    ValueError
        When a name does not fit into a label.
    """
    lines = [f"version: {VERSION}", "mig-configs:"]
    if not configurations:
        lines[-1] += " {}"
    for name in sorted(configurations):
        if label_safe(name) != name:
            raise ValueError(f"not a label value: {name!r}")
        lines.append(f"  {name if PLAIN_KEY.fullmatch(name) else json.dumps(name)}:")
        lines.extend(line for entry in configurations[name] for line in _render(entry))
    return "\n".join(lines) + "\n"


def _render(entry: Entry) -> Iterator[str]:
    # JSON on one line is valid YAML and leaves no doubt about types.
    devices = "all" if entry.devices is None else json.dumps(list(entry.devices))
    yield f"    - devices: {devices}"
    if entry.device_filter:
        yield f"      device-filter: {json.dumps(list(entry.device_filter))}"
    yield f"      mig-enabled: {json.dumps(entry.mig_enabled)}"
    if entry.mig_enabled:
        yield f"      mig-devices: {json.dumps(dict(entry.mig_devices))}"


def _configurations(document: object) -> Iterator[tuple[str, Entries]]:
    top = _mapping(document, (), ("version", "mig-configs"))
    if top.get("version") != VERSION:
        raise _Fault(("version",), f"must be {VERSION}, is {_shown(top.get('version'))}")
    if "mig-configs" not in top:
        raise _Fault((), "has no mig-configs")
    path: Path = ("mig-configs",)
    for name, entries in _mapping(top["mig-configs"], path).items():
        place = (*path, name)
        _check_name(name, place)
        if not isinstance(entries, list):
            raise _Fault(place, f"must be a list of entries, is {_shown(entries)}")
        yield name, tuple(_entry(e, (*place, i)) for i, e in enumerate(entries))


def _check_name(name: str, path: Path) -> None:
    try:
        safe = label_safe(name)
    except ValueError:
        raise _Fault(path, "a node label cannot carry this name") from None
    if safe != name:
        raise _Fault(path, f"a node label cannot carry a +: name it {safe}")


def _entry(value: object, path: Path) -> Entry:
    entry = _mapping(value, path, ENTRY_KEYS)
    for key in ("devices", "mig-enabled"):
        if key not in entry:
            raise _Fault(path, f"has no {key}")
    enabled = entry["mig-enabled"]
    if not isinstance(enabled, bool):
        raise _Fault((*path, "mig-enabled"), f"must be true or false, is {_shown(enabled)}")
    return Entry(
        devices=_devices(entry["devices"], (*path, "devices")),
        mig_enabled=enabled,
        mig_devices=_mig_devices(entry.get("mig-devices"), enabled, (*path, "mig-devices")),
        device_filter=_device_filter(entry.get("device-filter"), (*path, "device-filter")),
    )


def _devices(value: object, path: Path) -> tuple[int, ...] | None:
    if value == "all":
        return None
    if not isinstance(value, list):
        raise _Fault(path, f"must be all or a list of GPU indexes, is {_shown(value)}")
    for index in value:
        if not _is_amount(index):
            raise _Fault(path, f"not a GPU index: {_shown(index)}")
    if len(set(value)) < len(value):
        raise _Fault(path, "names a GPU twice")
    return tuple(sorted(value))


def _mig_devices(value: object, enabled: bool, path: Path) -> Counts:
    if value is None:
        if enabled:
            raise _Fault(path[:-1], "has MIG enabled and no mig-devices")
        return Counts()
    amounts = _mapping(value, path)
    for profile, number in amounts.items():
        if not PROFILE.fullmatch(profile):
            raise _Fault((*path, profile), "not the name of a profile")
        if not _is_amount(number):
            raise _Fault((*path, profile), f"not a number of instances: {_shown(number)}")
    if amounts and not any(amounts.values()):
        raise _Fault(path, "all numbers are 0; for an empty GPU write {}")
    if amounts and not enabled:
        raise _Fault(path, "must be empty where MIG is disabled")
    return Counts({profile: int(str(number)) for profile, number in amounts.items()})


def _device_filter(value: object, path: Path) -> tuple[str, ...]:
    if value is None:
        return ()
    filters = value if isinstance(value, list) else [value]
    for item in filters:
        if not isinstance(item, str) or not DEVICE_FILTER.fullmatch(item):
            raise _Fault(path, f"not a PCI id like 0x20B010DE: {_shown(item)}")
    return tuple(filters)


def _mapping(
    value: object, path: Path, allowed: tuple[str, ...] | None = None
) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _Fault(path, f"must be a mapping, is {_shown(value)}")
    for key in value:
        if not isinstance(key, str):
            raise _Fault((*path, key), "keys must be text")
        if allowed is not None and key not in allowed:
            raise _Fault((*path, key), f"unknown key; known are {', '.join(allowed)}")
    return value


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)


def _compose(text: str, source: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{source}:{line}: no YAML: {error.problem}") from error
    # ValueError: half a surrogate pair, which JSON can carry and UTF-8 cannot.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: no YAML: {error}") from error
    if root is None:
        raise ConfigError(f"{source}: empty, with no configuration in it")
    return root


def _check_keys(node: yaml.Node, path: Path, seen: set[int]) -> None:
    """Refuse repeated keys, of which a YAML loader would silently keep the last."""
    # An alias shows the same node again, or even within itself.
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _check_keys(item, (*path, index), seen)
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            place = (*path, str(key.value))
            if str(key.value) in keys:
                raise _Fault(place, "occurs twice")
            keys.add(str(key.value))
            _check_keys(value, place, seen)


def _line_of(node: yaml.Node, path: Path) -> int:
    """Return the line of the last part of a path that exists, from 1."""
    line = node.start_mark.line + 1
    for part in path:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
            line = node.start_mark.line + 1
            continue
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        # The last of a repeated key is the one that is too many.
        found = [pair for pair in pairs if pair[0].value == str(part)]
        if not found:
            break
        line, node = found[-1][0].start_mark.line + 1, found[-1][1]
    return line


def _text(path: Path) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")
