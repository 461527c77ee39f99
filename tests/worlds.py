"""Small embedded clusters for tests, and what tests do to them."""

from collections.abc import Mapping, Sequence
from typing import Any

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.configuration import (
    node_configuration,
    parse_configurations,
    render_configurations,
)
from autoscaler.ports import CONFIG_MAPS, NODES, PODS, RawObject
from autoscaler.simulation.fleet import Fleet, NodeGroup
from autoscaler.simulation.timing import Span, Timing
from autoscaler.simulation.workload import NAMESPACE, Task
from autoscaler.simulation.world import World, WorldSettings
from tests.builders import model

START_S = 1_700_000_000.0
OPERATOR = "gpu-operator"
CONFIG_MAP = "mig-autoscaler-config"
CONFIG = "nvidia.com/mig.config"
STATE = "nvidia.com/mig.config.state"
PLUGIN_SWITCH = "nvidia.com/gpu.deploy.device-plugin"
PAUSED = "paused-for-mig-change"
ONE = "nvidia.com/mig-1g.5gb"
TWO = "nvidia.com/mig-2g.10gb"
THREE = "nvidia.com/mig-3g.20gb"
WHOLE = "nvidia.com/mig-7g.40gb"

SEVENS: Mapping[str, int] = {"1g.5gb": 7}
HALVES: Mapping[str, int] = {"3g.20gb": 2}
MIXED: Mapping[str, int] = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}

# Without delays a test need not know how long things take.
PROMPT = Timing(
    pod_start=Span(0, 0),
    pod_stop=Span(0, 0),
    node_status=Span(0, 0),
    config_tick=Span(1, 1),
)


def layout(*gpus: Mapping[str, int] | None) -> tuple[Counts | None, ...]:
    return tuple(None if counts is None else Counts(counts) for counts in gpus)


def make_world(
    *gpus: Mapping[str, int] | None, nodes: Sequence[str] = ("n1",), **changes: Any
) -> World:
    """Return a started cluster whose nodes all have these A100 GPUs."""
    group_keys = {"strategy", "taints", "labels", "cpu", "model", "driver"}
    group = {key: value for key, value in changes.items() if key in group_keys}
    group = {"model": "a100-40gb", "layout": layout(*(gpus or (HALVES,)))} | group
    fleet = Fleet((NodeGroup(names=tuple(nodes), **group),))
    settings = {key: value for key, value in changes.items() if key not in group_keys}
    return World(fleet, WorldSettings(**({"start_s": START_S, "timing": PROMPT} | settings)))


def task(name: str, requests: Mapping[str, int], **changes: Any) -> Task:
    """Return a task that arrives at the start and runs for 100 s."""
    defaults = {"arrival_s": START_S, "run_s": 100.0}
    return Task(name=name, requests=Counts(requests), **(defaults | changes))


def node(world: World, name: str = "n1") -> RawObject:
    return world.platform.client.get(NODES, None, name)


def label(world: World, key: str, name: str = "n1") -> str | None:
    return node(world, name)["metadata"]["labels"].get(key)


def set_labels(world: World, labels: Mapping[str, str | None], name: str = "n1") -> None:
    body = {"metadata": {"labels": dict(labels)}}
    world.platform.client.patch(NODES, None, name, body)


def cordon(world: World, name: str = "n1", *, closed: bool = True) -> None:
    world.platform.client.patch(NODES, None, name, {"spec": {"unschedulable": closed}})


def devices(world: World, name: str = "n1", part: str = "allocatable") -> dict[str, int]:
    amounts = node(world, name)["status"][part]
    return {key: int(text) for key, text in amounts.items() if key.startswith("nvidia.com/")}


def pod(world: World, name: str, namespace: str = NAMESPACE) -> RawObject:
    return world.platform.client.get(PODS, namespace, name)


def pods(world: World, namespace: str = NAMESPACE) -> dict[str, RawObject]:
    items = world.platform.client.list(PODS, namespace).items
    return {item["metadata"]["name"]: item for item in items}


def operands(world: World, app: str) -> list[str]:
    return [
        n for n, p in pods(world, OPERATOR).items() if p["metadata"]["labels"]["app"] == app
    ]


def add_configuration(world: World, *gpus: Mapping[str, int] | None, name: str = "") -> str:
    """Write one more configuration into the file; return its name."""
    client = world.platform.client
    own, entries = node_configuration(model(), layout(*gpus))
    item = client.get(CONFIG_MAPS, OPERATOR, CONFIG_MAP)
    known = dict(parse_configurations(item["data"]["config.yaml"]))
    known[name or own] = entries
    data = {"config.yaml": render_configurations(known)}
    client.patch(CONFIG_MAPS, OPERATOR, CONFIG_MAP, {"data": data})
    return name or own


def apply_configuration(world: World, *gpus: Mapping[str, int] | None) -> str:
    """Write a configuration, wait until every node sees it, label the first node."""
    name = add_configuration(world, *gpus)
    world.run_for(120)
    set_labels(world, {CONFIG: name, STATE: None})
    return name


def states_seen(world: World, seconds: int, name: str = "n1") -> list[str]:
    """Let time pass; return the values of the state label in their order."""
    seen: list[str] = []
    for _ in range(seconds):
        world.run_for(1)
        value = label(world, STATE, name)
        if value is not None and (not seen or seen[-1] != value):
            seen.append(value)
    return seen


def geometries(world: World, name: str = "n1") -> list[str]:
    return [str(gpu.geometry) for gpu in world.hardware.gpus(name)]
