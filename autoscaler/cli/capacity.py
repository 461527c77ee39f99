"""``capacity``: the fewest GPUs for a demand, or what of it so many GPUs can hold."""

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console

from autoscaler.cli.output import FORM_OPTION, Form, counts_text, emit, table
from autoscaler.cli.profiles import find_models
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.planning.capacity import fewest_gpus, what_fits

# What a person may mean in earnest; more is a slip of the finger.
MOST = 1_000_000


def show_capacity(
    model: Annotated[str, typer.Option(help="Key or product label of the GPU model.")],
    demand: Annotated[str, typer.Option(help="Instances by profile: 1g.5gb=10,3g.20gb=4")],
    gpus: Annotated[
        int | None, typer.Option(min=0, max=MOST, help="Say what fits on so many GPUs.")
    ] = None,
    form: Annotated[Form, FORM_OPTION] = Form.TABLE,
) -> None:
    """Say how many GPUs a demand needs at least; exact, on empty GPUs."""
    chosen, *others = find_models(model)
    if others:
        keys = ", ".join(m.key for m in (chosen, *others))
        raise typer.BadParameter(f"{model!r} may be one of {keys}: say which")
    wanted = parse_demand(chosen, demand)
    fewest = fewest_gpus(chosen, wanted)
    document: dict[str, object] = {
        "model": chosen.key,
        "demand": dict(wanted),
        "gpus": fewest.gpus,
        "bounds": dict(fewest.bounds),
        "binding": fewest.binding or None,
    }
    if gpus is not None:
        served = what_fits(chosen, wanted, gpus)
        document["fits"] = {
            "gpus": gpus,
            "served": dict(served),
            "unserved": dict(wanted.minus(served)),
        }
    emit(document, form, draw=lambda out, _: _draw(out, document), names=[str(fewest.gpus)])


def parse_demand(model: GpuModel, text: str) -> Counts:
    """Return the profile counts of ``1g.5gb=10,3g.20gb=4``; a usage error if it is none."""
    counts: dict[str, int] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, number = part.partition("=")
        if not equals or not number.isascii() or not number.isdigit() or int(number) > MOST:
            raise typer.BadParameter(f"{part!r} is not PROFILE=NUMBER (at most {MOST})")
        if model.profile(name) is None:
            known = ", ".join(p.name for p in model.profiles)
            raise typer.BadParameter(f"{name!r} is no profile of {model.key}: {known}")
        if name in counts:
            raise typer.BadParameter(f"{name} is there twice")
        counts[name] = int(number)
    if not counts:
        raise typer.BadParameter("no demand given")
    return Counts(counts)


def _draw(out: Console, document: Mapping[str, object]) -> None:
    demand, bounds, fits = document["demand"], document["bounds"], document.get("fits")
    if not isinstance(demand, Mapping) or not isinstance(bounds, Mapping):
        return
    out.print(f"{document['gpus']} GPUs of {document['model']} for {counts_text(demand)}")
    drawn = table("BOUND", "GPUS", right=["GPUS"])
    for name, number in bounds.items():
        mark = "  (binding)" if name == document["binding"] else ""
        drawn.add_row(f"{name}{mark}", str(number))
    out.print(drawn)
    if isinstance(fits, Mapping):
        out.print(f"on {fits['gpus']} GPUs: served {counts_text(fits['served'])}")
        out.print(f"unserved {counts_text(fits['unserved'])}")
