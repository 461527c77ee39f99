"""``profiles``: the profile and placement table, with how far to trust each part."""

from typing import Annotated

import typer
from rich.console import Console

from autoscaler.cli.output import FORM_OPTION, Form, counts_text, emit, table
from autoscaler.domain.mig.profile import GpuModel, Profile, load_models, models_for_product


def find_models(name: str) -> tuple[GpuModel, ...]:
    """Return the models of a key (``a100-40gb``) or product label; a usage error if none."""
    found = tuple(m for m in load_models() if m.key == name.lower())
    found = found or models_for_product(name)
    if not found:
        known = ", ".join(m.key for m in load_models())
        raise typer.BadParameter(f"no GPU model {name!r}; known: {known}")
    return found


def show_profiles(
    model: Annotated[
        str | None, typer.Argument(help="Key or product label of a model.")
    ] = None,
    form: Annotated[Form, FORM_OPTION] = Form.TABLE,
) -> None:
    """Show the MIG profiles of GPU models and where their instances may sit."""
    models = find_models(model) if model else load_models()
    document = {"models": [_document(m) for m in models]}
    names = [f"{m.key}/{p.name}" for m in models for p in m.profiles]
    emit(document, form, draw=lambda out, wide: _draw(out, models, wide), names=names)


def _document(model: GpuModel) -> dict[str, object]:
    return {
        "key": model.key,
        "products": list(model.products),
        "architecture": model.architecture,
        "memoryGb": model.memory_gb,
        "computeSlices": model.compute_slices,
        "memorySlices": model.memory_slices,
        "allBalanced": dict(model.all_balanced),
        "confidence": dict(model.confidence),
        "profiles": [_profile(p) for p in model.profiles],
    }


def _profile(profile: Profile) -> dict[str, object]:
    return {
        "name": profile.name,
        "computeSlices": profile.compute_slices,
        "memorySlices": profile.memory_slices,
        "starts": list(profile.starts),
        "maxInstances": profile.max_instances,
        "memoryMib": profile.memory_mib,
        "smCount": profile.sm_count,
        "media": str(profile.media),
        "engines": None if profile.engines is None else dict(profile.engines),
        "giProfileId": profile.gi_profile_id,
        "nvmlProfileIndex": profile.nvml_profile_index,
        "minDriver": profile.min_driver or None,
    }


def _draw(out: Console, models: tuple[GpuModel, ...], wide: bool) -> None:
    for model in models:
        columns = ["PROFILE", "COMPUTE", "MEMORY", "STARTS", "MAX", "MIB"]
        more = ["SMS", "MEDIA", "ENGINES", "ID", "DRIVER"] if wide else []
        numbers = ("COMPUTE", "MEMORY", "MAX", "MIB", "SMS", "ID")
        drawn = table(*columns, *more, right=numbers)
        for p in model.profiles:
            starts = ",".join(map(str, p.starts))
            row = [p.name, p.compute_slices, p.memory_slices, starts, p.max_instances]
            row.append(_known(p.memory_mib))
            if wide:
                engines = "?" if p.engines is None else counts_text(p.engines)
                row += [_known(p.sm_count), p.media, engines]
                row += [_known(p.gi_profile_id), p.min_driver or "any"]
            drawn.add_row(*map(str, row))
        marks = ", ".join(f"{part} {mark}" for part, mark in model.confidence.items())
        out.print(
            f"{model.key}: {', '.join(model.products) or 'no known product label'};"
            f" {model.compute_slices} compute and {model.memory_slices} memory slices"
        )
        out.print(f"confidence: {marks}")
        out.print(drawn)


def _known(value: int | None) -> str:
    # What no source states is shown as unknown, never as 0.
    return "?" if value is None else str(value)
