"""Promise: what the configuration that a node's label names would make of its GPUs.

Several ConfigMaps may define a name, and only one of them is the one MIG manager
reads. Where the ClusterPolicy says which, that one counts alone; else all are heard,
and what the node advertises decides.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from autoscaler.domain.cluster.objects import ConfigMap, Observation
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.configuration import (
    Entries,
    LayoutOfNode,
    flaws,
    initial_configurations,
    layout_of,
    parse_configurations,
)
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.policy.policy import MigManager
from autoscaler.domain.reasons import Hold, Reason

NODE_NAME = "nvidia.com/node-name"
GENERATED_SUFFIX = "-mig-config"
DEFAULT_CONFIG_MAP = "default-mig-parted-config"
MARK = "mig-configs"


class Promises:
    """The configurations of one moment.

    Parameters
    ----------
    observation
        Its ConfigMaps, and which of them MIG manager reads where that is known.
    rules
        Where our own ConfigMap is.
    """

    def __init__(self, observation: Observation, rules: MigManager) -> None:
        self._read_map = observation.mig_config_map
        self._rules = rules
        self._maps = tuple(
            config_map
            for config_map in sorted(
                observation.config_maps, key=lambda m: (m.namespace, m.name)
            )
            if any(MARK in text for text in config_map.data.values())
        )
        self._by_node = any(_is_for_one_node(config_map) for config_map in self._maps)
        self._known: dict[tuple[str, str, GpuModel, int], tuple[LayoutOfNode, ...]] = {}

    def layouts(
        self, node: str, config_name: str, *, model: GpuModel, num_gpus: int
    ) -> tuple[LayoutOfNode, ...]:
        """Return what a name may mean on a node, each meaning once.

        Parameters
        ----------
        node, config_name
            Name of the node, and value of its ``mig.config`` label.
        model, num_gpus
            What the node has.

        Returns
        -------
        tuple
            Empty when no file defines the name, or only with flaws such as a GPU that
            no entry covers. NVIDIA's own names mean what NVIDIA says where no file
            that is at hand defines them.
        """
        # Fleets are large and their configurations few.
        key = (node if self._by_node else "", config_name, model, num_gpus)
        if key not in self._known:
            meanings = self._meanings(node, config_name)
            layouts = (layout_of(entries, num_gpus, model) for entries in meanings)
            found = dict.fromkeys(layout for layout in layouts if layout is not None)
            self._known[key] = tuple(found)
        return self._known[key]

    def _meanings(self, node: str, config_name: str) -> list[Entries]:
        meanings = [
            entries[config_name] for entries in self._files_for(node) if config_name in entries
        ]
        if not meanings and config_name in _standard():
            return [_standard()[config_name]]
        return meanings

    def holds(self) -> tuple[Hold, ...]:
        """Return what is wrong with the files themselves, for the whole fleet."""
        found = []
        for config_map in self._maps:
            if self._is_ours(config_map) or config_map.name == self._read_map:
                found += [
                    Hold(Reason.UNREADABLE, f"ConfigMap {config_map.namespace}/{error}")
                    for error in _errors_of(config_map)
                ]
        if self._is_the_operators():
            found.append(self._operators_map())
        elif self._read_map is not None and self._read_map != self._rules.config_map:
            found.append(self._other_map())
        return tuple(found)

    def least_supply(
        self, node: str, config_name: str, *, models: Iterable[GpuModel], num_gpus: int
    ) -> Counts:
        """Return what a node of an unknown board will offer at least under a name.

        Parameters
        ----------
        node, config_name
            As for ``layouts``.
        models
            Those that the node may have.
        num_gpus
            How many it has at least.

        Returns
        -------
        Counts
            What all meanings on all models have in common, by resource name.
        """
        boards = tuple(models)
        found = [
            supply_of(layout)
            for entries in self._meanings(node, config_name)
            for board in boards
            if (layout := layout_of(entries, num_gpus, board)) is not None
        ]
        names = set.intersection(*({*amounts} for amounts in found)) if found else set()
        return Counts({name: min(amounts[name] for amounts in found) for name in names})

    def flaw(self, node: str, config_name: str, *, model: GpuModel, num_gpus: int) -> str:
        """Return why a name that a file defines means nothing on a node.

        Parameters
        ----------
        node, config_name, model, num_gpus
            As for ``layouts``.

        Returns
        -------
        str
            Empty when no file defines the name, or one that can be used.
        """
        path = f"mig-configs.{config_name}"
        for entries in self._meanings(node, config_name):
            found = flaws(entries, num_gpus, model, path)
            if found:
                return found[0]
        return ""

    def _files_for(self, node: str) -> Iterable[Mapping[str, Entries]]:
        maps = tuple(m for m in self._maps if _concerns(m, node))
        named = tuple(m for m in maps if self._read_map and m.name == self._read_map)
        if named and self._read_map != DEFAULT_CONFIG_MAP:
            maps = named
        for config_map in maps:
            for key, text in sorted(config_map.data.items()):
                if MARK in text:
                    yield _parse(text, f"{config_map.name}[{key}]")[0]

    def _is_ours(self, config_map: ConfigMap) -> bool:
        name = (self._rules.namespace, self._rules.config_map)
        return (config_map.namespace, config_map.name) == name

    def _is_the_operators(self) -> bool:
        """Say whether the policy names a file that the operator puts back as it was."""
        owned = any(self._is_ours(m) and m.operator_owned for m in self._maps)
        return owned or self._rules.config_map == DEFAULT_CONFIG_MAP

    def _operators_map(self) -> Hold:
        text = (
            f"the policy's migManager.configMap {self._rules.config_map} is the operator's,"
            " which undoes every change of it: create a ConfigMap of another name with all"
            " configurations in use, and name it in the policy and in migManager.config.name"
            " of the ClusterPolicy"
        )
        return Hold(Reason.OPERATOR_CONFIG, text)

    def _other_map(self) -> Hold:
        owned = self._read_map == DEFAULT_CONFIG_MAP
        whose = "which the operator overwrites" if owned else "which is not ours to write"
        text = (
            f"MIG manager reads ConfigMap {self._read_map}, {whose}: create"
            f" {self._rules.namespace}/{self._rules.config_map} with all configurations in"
            " use, and set migManager.config.name of the ClusterPolicy to it; until then"
            " no new layout can be applied"
        )
        return Hold(Reason.OPERATOR_CONFIG, text)


def _is_for_one_node(config_map: ConfigMap) -> bool:
    """Say whether MIG manager generated a file for its own node."""
    is_generated = config_map.operator_owned and config_map.name.endswith(GENERATED_SUFFIX)
    return NODE_NAME in config_map.labels or is_generated


def _concerns(config_map: ConfigMap, node: str) -> bool:
    if not _is_for_one_node(config_map):
        return True
    owner = config_map.labels.get(NODE_NAME, config_map.name.removesuffix(GENERATED_SUFFIX))
    return owner == node


def _errors_of(config_map: ConfigMap) -> list[str]:
    parsed = (
        _parse(text, f"{config_map.name}[{key}]")
        for key, text in sorted(config_map.data.items())
        if MARK in text
    )
    return [error for _, error in parsed if error]


# Nodes of one kind carry generated files of the same content, and files seldom change.
@lru_cache(maxsize=128)
def _parse(text: str, source: str) -> tuple[Mapping[str, Entries], str]:
    try:
        return parse_configurations(text, source), ""
    except ConfigError as error:
        return {}, str(error)


@lru_cache(maxsize=1)
def _standard() -> Mapping[str, Entries]:
    return initial_configurations()
