"""Impossibility: why no node that may take a pod can ever offer what it asks for.

The pod's owner reads this, so it says what is in the way and what to ask for instead.
"""

import re
from collections.abc import Collection, Sequence

from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.profile import GpuModel, Profile
from autoscaler.domain.mig.resource import GPU, PREFIX, is_shared, parse_resource
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.reasons import Reason

NAME = re.compile(r"(\d+)g\.(\d+)gb")
# Programs round the memory in a name differently: 1g.11gb and 1g.12gb are one profile.
ROUNDING = 1.1


def why_impossible(
    resource: str, nodes: Sequence[FleetNode], objections: Collection[Reason | None]
) -> tuple[Reason, str]:
    """Return why a resource is impossible, as a reason and a sentence.

    Parameters
    ----------
    resource
        What the pod asks for.
    nodes
        All nodes that may take the pod, by name.
    objections
        Why each of them cannot offer it.
    """
    profile = resource.removeprefix(PREFIX)
    if Reason.WHOLE_GPU in objections:
        text = f"no node it may run on has a GPU with MIG off, and only such are {GPU}"
        return Reason.WHOLE_GPU, text
    if Reason.FOLDED_PROFILE in objections:
        text = (
            f"the device plugin of its nodes offers {profile} under the plain name, so"
            f" {resource} never appears there"
        )
        return Reason.FOLDED_PROFILE, text
    if Reason.NOT_ALLOWED in objections:
        pools = sorted({node.pool for node in nodes if node.pool})
        text = f"{profile} is not among the profiles of pool {', '.join(pools)}"
        return Reason.NOT_ALLOWED, text
    if Reason.MIG_OFF in objections:
        text = (
            f"the GPUs of its nodes that could hold {profile} have MIG off; MIG mode is for"
            " people to change"
        )
        return Reason.MIG_OFF, text
    return _no_such_offer(resource, nodes)


def _no_such_offer(resource: str, nodes: Sequence[FleetNode]) -> tuple[Reason, str]:
    if is_shared(resource):
        text = f"no node it may run on shares its devices as {resource}"
        return Reason.IMPOSSIBLE_PROFILE, text
    if "+" in resource:
        offered = resource.replace("+", ".")
        text = f"{resource} is no name of a resource; the device plugin offers {offered}"
        return Reason.IMPOSSIBLE_PROFILE, text
    able = [n for n in nodes if n.model is not None and parse_resource(n.model, resource)]
    if any(node.pool for node in able):
        strategies = sorted({n.strategy for n in able if n.strategy is not Strategy.MIXED})
        text = (
            f"the nodes it may run on have MIG strategy {' or '.join(strategies)}, which"
            f" offers every instance as {GPU} and none as {resource}"
        )
        return Reason.IMPOSSIBLE_PROFILE, text
    planned = [node for node in nodes if node.pool]
    if not planned:
        text = (
            f"the {len(nodes)} GPU nodes it may run on are in no pool of the policy, and"
            f" none of them offers {resource}"
        )
        return Reason.NO_ELIGIBLE_NODE, text
    models = {node.model for node in planned if node.model is not None}
    return Reason.IMPOSSIBLE_PROFILE, _no_such_profile(resource, models)


def _no_such_profile(resource: str, models: Collection[GpuModel]) -> str:
    text = f"no GPU model it may run on has the profile of {resource}"
    if NAME.search(resource) is None:
        return text
    ordered = sorted(models, key=lambda model: model.key)
    near = [f"{nearest_profile(m, resource).name} on {m.key}" for m in ordered]
    return f"{text}; nearest is {', '.join(near)}" if near else text


def nearest_profile(model: GpuModel, resource: str) -> Profile:
    """Return the smallest standard profile with at least what a name asks for.

    Parameters
    ----------
    resource
        Its name says compute slices and memory. When nothing is as large, or the name
        cannot be read, the whole GPU is nearest.
    """
    match = NAME.search(resource)
    plain = [profile for profile in model.profiles if profile.is_plain]
    if match is None or not plain:
        return model.whole_gpu
    compute, memory_gb = int(match[1]), int(match[2])
    enough = [
        profile
        for profile in plain
        if profile.compute_slices >= compute and ROUNDING * _gigabytes(profile) >= memory_gb
    ]
    if not enough:
        return model.whole_gpu
    return min(enough, key=lambda p: (p.compute_slices, p.memory_slices))


def _gigabytes(profile: Profile) -> int:
    match = NAME.search(profile.name)
    return int(match[2]) if match is not None else 0
