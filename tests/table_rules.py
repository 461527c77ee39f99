"""What must hold in a profile table, recomputed from its own numbers."""

from collections import Counter
from collections.abc import Iterator
from math import floor

from autoscaler.domain.mig.layouts import fits, maximal_multisets
from autoscaler.domain.mig.profile import GpuModel, Media, Profile

SUFFIXES = {Media.DEFAULT: "", Media.ONE: "+me", Media.ALL: "+me.all", Media.NONE: "-me"}
CONFIDENCE_GROUPS = {"names", "gi_profile_ids", "placements", "memory", "sm", "engines"}


def violations(model: GpuModel) -> list[str]:
    """Return every rule that a model breaks, one sentence each."""
    found = [f"{p.name}: {text}" for p in model.profiles for text in _profile(model, p)]
    return [*found, *_ids(model), *_sums(model), *_whole(model)]


def expected_name(model: GpuModel, profile: Profile) -> str:
    """Return the name the device plugin computes from size and board memory."""
    share = model.memory_gb * profile.memory_slices / model.memory_slices
    media = "+gfx" if profile.gfx else SUFFIXES[profile.media]
    return f"{profile.compute_slices}g.{floor(share + 0.5)}gb{media}"


def _profile(model: GpuModel, profile: Profile) -> Iterator[str]:
    if profile.name != expected_name(model, profile):
        yield f"by rule the name is {expected_name(model, profile)}"
    if profile.max_instances != _most(profile):
        yield f"placements allow {_most(profile)} instances"
    for kind, number in (profile.engines or {}).items():
        if model.engine_totals is not None and number > model.engine_totals[kind]:
            yield f"takes more {kind} than the GPU has"
    if (profile.engines is None) and (model.engine_totals is not None):
        yield "engines are missing"
    same = [p for p in model.profiles if p.compute_slices == profile.compute_slices]
    if profile.more_memory != (profile.memory_slices > min(p.memory_slices for p in same)):
        yield "more_memory contradicts the size"


def _most(profile: Profile) -> int:
    if profile.media in {Media.ONE, Media.ALL}:
        return 1
    number, free_from = 0, 0
    for start in profile.starts:
        if start >= free_from:
            number, free_from = number + 1, start + profile.memory_slices
    return number


def _ids(model: GpuModel) -> Iterator[str]:
    for field in ("gi_profile_id", "nvml_profile_index"):
        values = [getattr(p, field) for p in model.profiles]
        for value, number in Counter(v for v in values if v is not None).items():
            if number > 1:
                yield f"{field} {value} occurs {number} times"


def _sums(model: GpuModel) -> Iterator[str]:
    for field in ("sm_count", "memory_mib"):
        whole = getattr(model.whole_gpu, field)
        if whole is None:
            continue
        for counts in maximal_multisets(model):
            values = [(getattr(model.profile(n), field), k) for n, k in counts.items()]
            if sum((value or 0) * number for value, number in values) > whole:
                yield f"{field}: {counts} has more than the GPU"


def _whole(model: GpuModel) -> Iterator[str]:
    if not fits(model, model.all_balanced):
        yield f"all_balanced does not fit: {model.all_balanced}"
    if set(model.confidence) != CONFIDENCE_GROUPS:
        yield f"confidence is about {sorted(model.confidence)}"
    whole = model.whole_gpu
    if whole.memory_slices != model.memory_slices or whole.max_instances != 1:
        yield f"{whole.name} is not the whole GPU"
