"""Configurations: what MIG manager is told to make of a node, and under which name.

Names are a function of content. MIG manager takes no notice of new content under an
old name, so a name must never come to mean something else.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.layouts import fits
from autoscaler.domain.mig.mig_parted import (
    Entries,
    Entry,
    parse_configurations,
    render_configurations,
)
from autoscaler.domain.mig.profile import GpuModel, load_models
from autoscaler.domain.mig.resource import label_safe

__all__ = [
    "ALL_BALANCED",
    "ALL_DISABLED",
    "ALL_ENABLED",
    "Entries",
    "Entry",
    "flaws",
    "initial_configurations",
    "layout_of",
    "node_configuration",
    "parse_configurations",
    "render_configurations",
    "uniform_name",
]

ALL_DISABLED = "all-disabled"
ALL_ENABLED = "all-enabled"
ALL_BALANCED = "all-balanced"
HASH_DIGITS = 12

LayoutOfNode = tuple[Counts | None, ...]


def node_configuration(model: GpuModel, layout: Sequence[Counts | None]) -> tuple[str, Entries]:
    """Return the name and the entries of the configuration that makes this layout.

    Parameters
    ----------
    model
        Model of all GPUs of the node.
    layout
        Profile counts of every GPU in index order; ``None`` for MIG off.

    Returns
    -------
    tuple
        NVIDIA's own name, e.g. ``all-1g.10gb``, where its configuration means just
        this layout, since people select nodes by these names; else ``as-`` and a hash
        of the entries. The entries name every GPU exactly once, because MIG manager
        runs again and again on a node with a GPU that no entry names.

    Raises
    ------
    ValueError
        When there is no GPU, or instances do not fit on one.
    """
    wanted = tuple(layout)
    if not wanted:
        raise ValueError("a node without GPUs has no configuration")
    for index, gpu in enumerate(wanted):
        if gpu is not None and not fits(model, gpu):
            raise ValueError(f"GPU {index} ({model.key}) cannot hold {gpu}")
    name = _standard_name(model, wanted)
    standard = _standard().get(name, ())
    if standard and layout_of(standard, len(wanted), model) == wanted:
        return name, standard
    entries = _entries_of(wanted)
    return f"as-{_digest(entries)}", entries


def uniform_name(profile_name: str) -> str:
    """Return NVIDIA's name for "every GPU full of this profile", fit for a label."""
    return label_safe(f"all-{profile_name}")


def initial_configurations(models: Iterable[GpuModel] | None = None) -> dict[str, Entries]:
    """Return the configurations that a file holds from the start, by name.

    Parameters
    ----------
    models
        GPU models to define them for, by device filter; those of the table by default.

    Returns
    -------
    dict
        ``all-disabled``, ``all-enabled``, ``all-balanced`` and ``all-<profile>`` for
        each profile, with as many instances as a GPU takes. Models that make the same
        of a name share an entry; boards of two models that make different things of
        it have none.
    """
    known = tuple(load_models() if models is None else models)
    wishes: dict[str, dict[str, set[Counts]]] = {}
    for model in known:
        full = {uniform_name(p.name): Counts({p.name: p.max_instances}) for p in model.profiles}
        if model.all_balanced:
            full[ALL_BALANCED] = model.all_balanced
        for name, counts in full.items():
            for board in model.device_filters:
                wishes.setdefault(name, {}).setdefault(board, set()).add(counts)
    found = {name: _filtered(by_board) for name, by_board in wishes.items()}
    found[ALL_DISABLED] = (Entry(devices=None, mig_enabled=False),)
    found[ALL_ENABLED] = (Entry(devices=None, mig_enabled=True),)
    return dict(sorted(found.items()))


def layout_of(entries: Entries, num_gpus: int, model: GpuModel) -> LayoutOfNode | None:
    """Return what a configuration makes of each GPU of a node, in index order.

    Parameters
    ----------
    entries
        The configuration.
    num_gpus
        GPUs of the node.
    model
        Model of all of them.

    Returns
    -------
    tuple or None
        ``None`` when the configuration has one of the ``flaws``.
    """
    if flaws(entries, num_gpus, model):
        return None
    found: list[Counts | None] = []
    for index in range(num_gpus):
        entry = next(e for e in entries if _applies(e, index, model))
        found.append(entry.mig_devices if entry.mig_enabled else None)
    return tuple(found)


def flaws(
    entries: Entries, num_gpus: int, model: GpuModel, name: str = "configuration"
) -> tuple[str, ...]:
    """Return what keeps a configuration from being used on a node, one sentence each.

    Parameters
    ----------
    entries
        The configuration.
    num_gpus
        GPUs of the node.
    model
        Model of all of them.
    name
        Its key path, for the sentences.

    Returns
    -------
    tuple
        A GPU that no entry names, or more than one; profiles the model does not have;
        instances that do not fit on one GPU. Empty when it can be used.
    """
    found = []
    for index in range(num_gpus):
        number = sum(1 for entry in entries if _applies(entry, index, model))
        if number == 0:
            found.append(f"{name}: no entry names GPU {index}")
        elif number > 1:
            found.append(f"{name}: {number} entries name GPU {index}")
    for position, entry in enumerate(entries):
        if any(_applies(entry, index, model) for index in range(num_gpus)):
            place = f"{name}[{position}].mig-devices"
            found.extend(f"{place}: {flaw}" for flaw in _misfits(entry.mig_devices, model))
    return tuple(found)


def _misfits(counts: Counts, model: GpuModel) -> list[str]:
    unknown = [name for name in counts if model.profile(name) is None]
    if unknown:
        return [f"{name} is no profile of {model.key}" for name in unknown]
    return [] if fits(model, counts) else [f"one {model.key} cannot hold {counts}"]


def _applies(entry: Entry, index: int, model: GpuModel) -> bool:
    if entry.devices is not None and index not in entry.devices:
        return False
    # Which of its ids a board has is not known, so a filter that names some of them
    # counts as a match; what the node advertises has the last word.
    boards = {item.split(":")[0].upper() for item in entry.device_filter}
    own = {item.upper() for item in model.device_filters}
    return not boards or bool(boards & own)


@cache
def _standard() -> dict[str, Entries]:
    return initial_configurations()


def _standard_name(model: GpuModel, layout: LayoutOfNode) -> str:
    first = layout[0]
    if first is None:
        return ALL_DISABLED
    if first == model.all_balanced:
        return ALL_BALANCED
    return uniform_name(next(iter(first))) if first else ALL_ENABLED


def _filtered(by_board: Mapping[str, set[Counts]]) -> Entries:
    boards: dict[Counts, list[str]] = {}
    for board, wishes in sorted(by_board.items()):
        # One PCI id stands for both kinds of GB200: what fits one breaks the other, so
        # a name that would mean two things is left without a meaning there.
        if len(wishes) == 1:
            boards.setdefault(next(iter(wishes)), []).append(board)
    entries = (Entry(None, True, counts, tuple(ids)) for counts, ids in boards.items())
    return tuple(sorted(entries, key=lambda entry: entry.device_filter))


def _entries_of(layout: LayoutOfNode) -> Entries:
    indexes: dict[Counts | None, list[int]] = {}
    for index, gpu in enumerate(layout):
        indexes.setdefault(gpu, []).append(index)
    return tuple(
        Entry(tuple(devices), gpu is not None, gpu or Counts())
        for gpu, devices in indexes.items()
    )


def _digest(entries: Entries) -> str:
    content = [[entry.devices, entry.mig_enabled, dict(entry.mig_devices)] for entry in entries]
    text = json.dumps(content, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]
