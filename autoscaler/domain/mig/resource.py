"""Resource names: what nodes advertise and pods ask for.

The device plugin writes a profile's ``+`` as ``.`` in a resource name. Names are read
back only against the profiles of a known model, never by pattern: one name means
different shapes on different boards, and cleaned names cannot be undone.
"""

import re
from collections.abc import Sequence

from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.strategy import Strategy

GPU = "nvidia.com/gpu"
PREFIX = "nvidia.com/mig-"
SHARED_SUFFIX = ".shared"

_VARIANT = re.compile(rf"({re.escape(PREFIX)}\d+g\.\d+gb)[.+-]")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def resource_name(profile_name: str, strategy: Strategy = Strategy.MIXED) -> str:
    """Return the resource under which an instance of a profile is advertised.

    Parameters
    ----------
    profile_name
        E.g. ``"1g.10gb+me"``.
    strategy
        With mixed every profile has a name of its own; with single and none all are
        ``nvidia.com/gpu``.
    """
    if strategy is not Strategy.MIXED:
        return GPU
    return PREFIX + profile_name.replace("+", ".")


def shared_name(resource: str) -> str:
    """Return the name a resource gets when time-slicing renames it."""
    return resource + SHARED_SUFFIX


def is_shared(resource: str) -> bool:
    """Say whether a resource counts shares of devices rather than devices."""
    return resource.endswith(SHARED_SUFFIX)


def is_gpu_resource(resource: str) -> bool:
    """Say whether a resource is a GPU, an instance of one, or a share of either."""
    return resource in {GPU, shared_name(GPU)} or resource.startswith(PREFIX)


def parse_resource(model: GpuModel, resource: str) -> str | None:
    """Return the profile that a resource of this model means.

    Parameters
    ----------
    model
        The GPU model that advertises it.
    resource
        With or without ``nvidia.com/mig-``; a variant may be written with ``+`` or
        with ``.``. A bare name is the standard profile, also where a plugin folds
        variants into it (see ``folded``).

    Returns
    -------
    str or None
        ``None`` for a whole GPU, for shares, and for what the model does not have.
    """
    wanted = resource.removeprefix(PREFIX)
    for profile in model.profiles:
        if wanted in {profile.name, profile.name.replace("+", ".")}:
            return profile.name
    return None


def plain_profile(name: str) -> str:
    """Return the standard profile that a profile is a variant of, or the profile itself."""
    return re.split(r"[+-]", name)[0]


def folded(resources: Counts) -> Counts:
    """Return amounts with the variants of a profile counted as the standard profile.

    Some versions of the device plugin advertise ``1g.10gb+me`` as plain ``1g.10gb``.
    Two supplies are the same for verification when they are equal, or equal folded.

    Parameters
    ----------
    resources
        Amounts by resource name.
    """
    total: dict[str, int] = {}
    for resource, number in resources.items():
        found = _VARIANT.match(resource)
        name = found.group(1) if found else resource
        total[name] = total.get(name, 0) + number
    return Counts(total)


def supply_of(layout: Sequence[Counts | None], strategy: Strategy = Strategy.MIXED) -> Counts:
    """Return what a node with these GPUs advertises.

    Parameters
    ----------
    layout
        Profile counts of every GPU; ``None`` for a GPU with MIG off.
    strategy
        Under single a node whose instances are not all alike advertises nothing: the
        device plugin refuses to start there. Under none every GPU is a whole one.
    """
    if strategy is Strategy.NONE:
        return Counts({GPU: len(layout)})
    if strategy is Strategy.SINGLE and not is_uniform(layout):
        return Counts()
    return sum_of({GPU: 1} if gpu is None else _resources_of(gpu, strategy) for gpu in layout)


def is_uniform(layout: Sequence[Counts | None]) -> bool:
    """Say whether strategy single can advertise a node: all instances of one kind.

    That is one MIG mode on all GPUs, one profile only, and no GPU without an instance.
    """
    cut = [gpu for gpu in layout if gpu is not None]
    if not cut:
        return True
    names = {name for gpu in cut for name in gpu}
    return len(cut) == len(layout) and len(names) == 1 and all(cut)


def prometheus_name(resource: str) -> str:
    """Return a resource as kube-state-metrics writes it in its ``resource`` label.

    There is no way back: different resources may share one such name. Translate the
    known resources forward and compare.
    """
    return re.sub(r"[^a-zA-Z0-9_]", "_", resource)


def label_safe(config_name: str) -> str:
    """Return a configuration's name in a form that fits into a label.

    Raises
    ------
    ValueError
        When more than a ``+`` is wrong with it, e.g. over 63 characters.
    """
    name = config_name.replace("+", ".")
    if not _LABEL_VALUE.fullmatch(name):
        raise ValueError(f"not a label value: {config_name!r}")
    return name


def _resources_of(gpu: Counts, strategy: Strategy) -> Counts:
    total: dict[str, int] = {}
    for profile, number in gpu.items():
        name = resource_name(profile, strategy)
        total[name] = total.get(name, 0) + number
    return Counts(total)
