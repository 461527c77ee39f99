"""NVIDIA's MIG manager as a driver: configurations in our own ConfigMap.

It reads the file afresh on every run, takes no notice of new content under an old
name, and fails on a name that it does not find. So names follow content, are written
well before a label asks for them, and stay while anything asks for them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaler.control.outside import Outside
from autoscaler.domain.cluster.marks import WRITTEN
from autoscaler.domain.cluster.objects import ConfigMap
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError, Refused
from autoscaler.domain.journal.rollout import Journal, Layout
from autoscaler.domain.mig.configuration import (
    Entries,
    initial_configurations,
    layout_of,
    node_configuration,
    parse_configurations,
    render_configurations,
)
from autoscaler.domain.mig.profile import GpuModel, model_of
from autoscaler.domain.policy.policy import MigManager

FILE = "config.yaml"
OWN_PREFIX = "as-"
# A name that nothing asks for is kept this long, for whoever just read it.
KEEP_S = 86400.0


@dataclass(frozen=True, slots=True)
class Configurations:
    """What our ConfigMap holds.

    Parameters
    ----------
    entries, written_s
        By name; the time of writing only where we know it, epoch seconds.
    problem
        Why it cannot be used; empty when it can.
    """

    config_map: ConfigMap | None
    entries: Mapping[str, Entries]
    written_s: Mapping[str, float]
    problem: str = ""


def read_configurations(config_map: ConfigMap | None) -> Configurations:
    """Read our ConfigMap; what is not ours to write is a problem, not an error."""
    if config_map is None:
        return Configurations(None, {}, {})
    where = f"{config_map.namespace}/{config_map.name}"
    if config_map.operator_owned:
        problem = f"ConfigMap {where} belongs to the GPU operator, which undoes our writes"
        return Configurations(config_map, {}, {}, problem)
    text = config_map.data.get(FILE)
    try:
        entries = {} if text is None else parse_configurations(text, f"{where} {FILE}")
    except ConfigError as error:
        return Configurations(config_map, {}, {}, str(error))
    return Configurations(config_map, entries, _times(config_map))


def _times(config_map: ConfigMap) -> Mapping[str, float]:
    """Return when we wrote each name; an annotation that cannot be read knows nothing."""
    try:
        found = json.loads(config_map.annotations.get(WRITTEN, "{}"))
        return {str(name): float(time_s) for name, time_s in found.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def names_for(
    known: Configurations, journal: Journal
) -> tuple[Mapping[str, float | None], str]:
    """Return which needed names are there and since when, and what is wrong.

    A name that means something else for this node is never written over: another node
    may carry it.
    """
    if known.problem:
        return {}, known.problem
    model = model_of(journal.model)
    if model is None:
        return {}, f"GPU model {journal.model!r} is not known"
    names: dict[str, float | None] = {}
    for layout in journal.needed:
        name = layout.config_name or ""
        if name not in known.entries:
            continue
        if layout_of(known.entries[name], len(layout.gpus), model) != layout.gpus:
            return names, f"configuration {name} exists and means something else"
        names[name] = known.written_s.get(name)
    return names, ""


def rollback_name(
    known: Configurations,
    config_name: str | None,
    layout: tuple[Counts | None, ...],
    model: GpuModel,
) -> str:
    """Return a configuration that brings a layout back: its own name where it is known.

    A node may carry no name, one that our file does not hold, or one that it has
    drifted away from; then a name of its content is made.
    """
    entries = known.entries.get(config_name or "")
    if config_name and entries and layout_of(entries, len(layout), model) == layout:
        return config_name
    return node_configuration(model, layout)[0]


class MigManagerDriver:
    """Our ConfigMap, read and written for one policy."""

    def __init__(self, outside: Outside, rules: MigManager) -> None:
        self._outside = outside
        self._rules = rules

    def read(self) -> Configurations:
        """Return what our ConfigMap holds now."""
        rules = self._rules
        found = self._outside.cluster.read_config_map(rules.namespace, rules.config_map)
        return read_configurations(found)

    def write(
        self, journal: Journal, layouts: Iterable[Layout], in_use: frozenset[str]
    ) -> None:
        """Add configurations, and drop old ones that nothing asks for.

        Parameters
        ----------
        in_use
            Every name that a label or a journal of any node asks for.

        Raises
        ------
        Refused
            When the ConfigMap is not ours to write, or cannot be read.
        """
        known, model = self.read(), model_of(journal.model)
        if known.problem or model is None:
            raise Refused(known.problem or f"GPU model {journal.model!r} is not known")
        new = {x.config_name or "": node_configuration(model, x.gpus)[1] for x in layouts}
        wanted = with_new(known, new, in_use, self._outside.clock.now_s())
        empty = ConfigMap(self._rules.namespace, self._rules.config_map)
        text = json.dumps(wanted.written_s, sort_keys=True, separators=(",", ":"))
        self._outside.cluster.write_config_map(
            replace(
                known.config_map or empty, data={FILE: render_configurations(wanted.entries)}
            ),
            {WRITTEN: text},
        )


def with_new(
    known: Configurations, new: Mapping[str, Entries], in_use: frozenset[str], now_s: float
) -> Configurations:
    """Return configurations with new ones added and stale ones dropped."""
    entries, written_s = dict(known.entries), dict(known.written_s)
    if known.config_map is None or any(not name.startswith(OWN_PREFIX) for name in new):
        # People select nodes by NVIDIA's names, so these are there for all models.
        new = {**initial_configurations(), **new}
    for name, own in new.items():
        if name not in entries:
            entries[name], written_s[name] = own, now_s
    for name in stale_names(written_s, in_use | new.keys(), now_s):
        entries.pop(name, None)
        del written_s[name]
    return replace(known, entries=entries, written_s=written_s)


def stale_names(
    written_s: Mapping[str, float], in_use: frozenset[str], now_s: float
) -> tuple[str, ...]:
    """Return names of ours that nothing has asked for since long."""
    return tuple(
        name
        for name, time_s in sorted(written_s.items())
        if name.startswith(OWN_PREFIX) and name not in in_use and now_s - time_s > KEEP_S
    )
