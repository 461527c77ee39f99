"""Draws advice."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from autoscaler.cli.output import section, table
from autoscaler.cli.simulate_view import ratio_text

Part = Mapping[str, object]


def draw_advice(out: Console, document: Part, *, wide: bool) -> None:
    """Draw the advice, its proof, and with ``wide`` everything that was tried."""
    out.print(f"{document['case']}, {document['gpus']} x {document['model']}\n")
    out.print(str(document["summary"]))
    if document["advice"] == "fixed-mix":
        mix = ", ".join(
            f"{own['gpus']} x ({own['layout']})" for own in _all(document, "fixedMix")
        )
        out.print(f"The fixed mix: {mix}.")
    else:
        for line in _texts(document, "longerWaits"):
            out.print(f"But {line}.")
    for key, value in _part(document, "changes").items():
        out.print(f"  {key}: {value}")
    _draw_proof(out, document)
    _draw_tried(out, document, wide=wide)
    if "written" in document:
        out.print(f"\nThe policy is in {document['written']}.")


def _draw_proof(out: Console, document: Part) -> None:
    proofs, days = _all(document, "proof"), _part(document, "days")
    profiles = list(dict.fromkeys(name for own in proofs for name in _part(own, "p95Wait")))
    numbers = ["completion s", "to the fixed mix", "wait s"]
    numbers += [f"p95 wait {name}" for name in profiles] + ["changes"]
    title = f"ON {days['proving']} LATER DAYS THAT CHOSE NOTHING, AS THEY CAME AND DRAWN AGAIN"
    drawn = table("policy", *numbers, title=title, right=numbers)
    for own in proofs:
        ratio, waits = own["versusFixedMix"], _part(own, "p95Wait")
        drawn.add_row(
            str(own["policy"]),
            _seconds(own["meanCompletion"]),
            ratio_text(ratio) if isinstance(ratio, Mapping) else "",
            _seconds(own["meanWait"]),
            *(_seconds(waits.get(name)) for name in profiles),
            str(own["nodeChanges"]),
        )
    section(out, drawn)


def _draw_tried(out: Console, document: Part, *, wide: bool) -> None:
    tried, days = _all(document, "tried"), _part(document, "days")
    title = f"WHAT WAS TRIED ON {days['choosing']} EARLIER DAYS"
    numbers = ["round", "days", "to the fixed mix"]
    drawn = table("policy", *numbers, "goes on", title=title, right=numbers)
    # Of the first rounds only the best are of interest to most.
    for own in tried if wide else [own for own in tried if own["goesOn"]]:
        drawn.add_row(
            str(own["policy"]),
            str(own["round"]),
            str(own["days"]),
            ratio_text(_part(own, "versusFixedMix")),
            "yes" if own["goesOn"] else "",
        )
    section(out, drawn)
    names = {str(own["policy"]) for own in tried}
    told = "" if wide else "; -o wide shows all of them"
    out.print(f"\n{len(names)} candidates, {days['simulated']} days simulated{told}.")


def _seconds(value: object) -> str:
    return f"{value:,.0f}" if isinstance(value, int | float) else "-"


def _part(document: Part, name: str) -> Part:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}


def _all(document: Part, name: str) -> Sequence[Part]:
    found = document.get(name)
    return [own for own in found if isinstance(own, Mapping)] if isinstance(found, list) else []


def _texts(document: Part, name: str) -> Sequence[str]:
    found = document.get(name)
    return [str(own) for own in found] if isinstance(found, list) else []
