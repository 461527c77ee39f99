"""The journal as the text of an annotation, and back, strictly."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.journal.quarantine import LAST_S
from autoscaler.domain.journal.rollout import Journal, Layout, State
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.policy.pool import Driver

T = TypeVar("T")
# No amount of slice-seconds comes near it.
MOST = 1e300

# Field of the journal -> key of the JSON form.
KEYS: Mapping[str, str] = {
    "id": "id",
    "plan": "plan",
    "holder": "holder",
    "epoch": "epoch",
    "state": "state",
    "state_since_s": "stateSince",
    "deadline_s": "deadline",
    "node_uid": "nodeUid",
    "attempt": "attempt",
    "cordoned_at_s": "cordonedAt",
    "config_written_at_s": "configWrittenAt",
    "settled_since_s": "settledSince",
    "was_unschedulable": "wasUnschedulable",
    "recordoned": "recordoned",
    "marks": "marks",
    "gpus": "gpus",
    "evictions": "evictions",
    "reason": "reason",
    "pool": "pool",
    "model": "model",
    "started_at_s": "startedAt",
    "rollback_name": "configBack",
    "serves": "serves",
    "gain": "gain",
    "cost": "cost",
    "manager_pod": "managerPod",
}
LAYOUT_KEYS = ("configBefore", "layoutBefore", "observedBefore", "target")
# Only in the journal of a driver that chooses places.
AGENT_KEYS = ("driver", "placesBefore", "placesTarget", "awaits")


def journal_to_text(journal: Journal) -> str:
    """Return the annotation's value: compact, keys sorted, same journal same bytes."""
    fields: dict[str, object] = {key: getattr(journal, name) for name, key in KEYS.items()}
    fields["marks"] = dict(journal.marks)
    fields["configBefore"] = journal.before.config_name
    fields["layoutBefore"] = layout_to_json(journal.before.gpus)
    fields["observedBefore"] = dict(journal.before.resources)
    fields["target"] = {
        "config": journal.target.config_name,
        "layout": layout_to_json(journal.target.gpus),
        "resources": dict(journal.target.resources),
    }
    if journal.driver is not Driver.MIG_MANAGER:
        fields["driver"] = journal.driver.value
        fields["placesBefore"] = places_to_json(journal.before.places)
        fields["placesTarget"] = places_to_json(journal.target.places)
        if journal.awaits:
            fields["awaits"] = list(journal.awaits)
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)


def layout_to_json(gpus: tuple[Counts | None, ...]) -> list[dict[str, int] | None]:
    """Return profile counts of each GPU, null for MIG off."""
    return [None if counts is None else dict(counts) for counts in gpus]


def places_to_json(
    places: tuple[Geometry | None, ...],
) -> list[list[tuple[str, int, int]] | None]:
    """Return profile, start and size of each instance of each GPU, null for MIG off."""
    return [
        None if gpu is None else [(i.profile, i.start, i.size) for i in gpu.instances]
        for gpu in places
    ]


# A journal is looked at by several parts in each cycle and seldom written.
@lru_cache(maxsize=1024)
def journal_from_text(text: str) -> Journal:
    """Read the annotation's value.

    Raises
    ------
    ConfigError
        When it is not a whole journal; the message names the key. Such a node is
        left alone: what we do not understand we do not continue.
    """
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the journal is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ConfigError("the journal is not a JSON object")
    unknown = sorted(set(fields) - set(KEYS.values()) - set(LAYOUT_KEYS) - set(AGENT_KEYS))
    if unknown:
        raise ConfigError(f"the journal has an unknown key: {unknown[0]}")
    return Reader(fields).journal()


class Reader:
    """Reads the fields of one journal and says which one is wrong."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        self._fields = fields

    def journal(self) -> Journal:
        """Return the journal."""
        target = self.get("target", as_object)
        return Journal(
            id=self.get("id", as_text),
            plan=self.get("plan", as_text),
            holder=self.get("holder", as_text),
            epoch=self.get("epoch", as_whole),
            state=self.get("state", as_state),
            state_since_s=self.get("stateSince", as_time),
            deadline_s=self.get("deadline", as_time),
            before=Layout(
                self.get("configBefore", as_optional_text),
                self.get("layoutBefore", as_layout),
                self.get("observedBefore", as_counts),
                self.get_or("placesBefore", as_places, ()),
            ),
            target=Layout(
                as_key("target.config", target.get("config"), as_text),
                as_key("target.layout", target.get("layout"), as_layout),
                as_key("target.resources", target.get("resources"), as_counts),
                self.get_or("placesTarget", as_places, ()),
            ),
            node_uid=self.get("nodeUid", as_text),
            attempt=self.get("attempt", as_whole),
            cordoned_at_s=self.get("cordonedAt", as_optional_time),
            config_written_at_s=self.get("configWrittenAt", as_optional_time),
            settled_since_s=self.get("settledSince", as_optional_time),
            was_unschedulable=self.get("wasUnschedulable", as_flag),
            recordoned=self.get("recordoned", as_flag),
            marks=self.get("marks", as_marks),
            gpus=self.get("gpus", as_wholes),
            evictions=self.get("evictions", as_texts),
            reason=self.get("reason", as_text),
            pool=self.get("pool", as_text),
            model=self.get("model", as_text),
            started_at_s=self.get("startedAt", as_time),
            rollback_name=self.get("configBack", as_text),
            serves=self.get("serves", as_texts),
            gain=self.get("gain", as_amount),
            cost=self.get("cost", as_amount),
            manager_pod=self.get("managerPod", as_text),
            driver=self.get_or("driver", as_driver, Driver.MIG_MANAGER),
            awaits=self.get_or("awaits", as_texts, ()),
        )

    def get(self, key: str, read: Callable[[object], T]) -> T:
        """Return one field."""
        if key not in self._fields:
            raise ConfigError(f"the journal lacks {key}")
        return as_key(key, self._fields[key], read)

    def get_or(self, key: str, read: Callable[[object], T], otherwise: T) -> T:
        """Return one field that may be absent."""
        return self.get(key, read) if key in self._fields else otherwise


def as_key(key: str, value: object, read: Callable[[object], T]) -> T:
    """Read a value, naming its key when it is wrong."""
    try:
        return read(value)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"the journal's {key} is wrong: {error}") from error


def as_text(value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise TypeError(f"not a text: {value!r}")
    return value


def as_optional_text(value: object) -> str | None:
    """Return a text or nothing."""
    return None if value is None else as_text(value)


def as_flag(value: object) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise TypeError(f"neither true nor false: {value!r}")
    return value


def as_whole(value: object) -> int:
    """Return a whole number, not negative."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"not a whole number: {value!r}")
    return value


def as_time(value: object) -> float:
    """Return epoch seconds that a calendar can name."""
    number = as_amount(value)
    if not 0 <= number <= LAST_S:
        raise TypeError(f"not a time: {value!r}")
    return number


def as_amount(value: object) -> float:
    """Return a number."""
    # A whole number may be too large for any other kind.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MOST:
        raise TypeError(f"not a number: {str(value)[:40]}")
    return float(value)


def as_state(value: object) -> State:
    """Return a state of the machine."""
    return State(as_text(value))


def as_driver(value: object) -> Driver:
    """Return who cuts the GPUs."""
    return Driver(as_text(value))


def as_optional_time(value: object) -> float | None:
    """Return a number or nothing."""
    return None if value is None else as_time(value)


def as_object(value: object) -> Mapping[str, object]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise TypeError(f"not an object: {value!r}")
    return value


def as_list(value: object) -> list[object]:
    """Return a JSON list."""
    if not isinstance(value, list):
        raise TypeError(f"not a list: {value!r}")
    return value


def as_texts(value: object) -> tuple[str, ...]:
    """Return texts."""
    return tuple(as_text(item) for item in as_list(value))


def as_wholes(value: object) -> tuple[int, ...]:
    """Return whole numbers."""
    return tuple(as_whole(item) for item in as_list(value))


def as_counts(value: object) -> Counts:
    """Return amounts by name."""
    return Counts({name: as_whole(number) for name, number in as_object(value).items()})


def as_layout(value: object) -> tuple[Counts | None, ...]:
    """Return profile counts of each GPU."""
    return tuple(None if gpu is None else as_counts(gpu) for gpu in as_list(value))


def as_marks(value: object) -> Mapping[str, str | None]:
    """Return previous values of annotations."""
    return {name: as_optional_text(before) for name, before in as_object(value).items()}


def as_places(value: object) -> tuple[Geometry | None, ...]:
    """Return the instances of each GPU with their placements."""
    return tuple(None if gpu is None else as_geometry(gpu) for gpu in as_list(value))


def as_geometry(value: object) -> Geometry:
    """Return instances with their placements."""
    return Geometry(tuple(as_instance(row) for row in as_list(value)))


def as_instance(value: object) -> GpuInstance:
    """Return one instance from its profile, start and size."""
    profile, start, size = as_list(value)
    return GpuInstance(as_whole(start), as_whole(size), as_text(profile))
