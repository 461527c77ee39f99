"""Tables of ``forecast``, drawn from the document that the other forms print."""

from collections.abc import Iterable, Mapping

from rich.console import Console

from autoscaler.cli.moment import span_text
from autoscaler.cli.output import Document, section, table

NUMBERS = ("NOW", "P10", "P50", "P90", "HOME", "MEAN RUN")


def draw_forecast(out: Console, document: Document, wide: bool) -> None:
    """Draw what is expected of each pool."""
    pools = items(document.get("pools"))
    if not pools:
        out.print("no pool has nodes")
    for pool in pools:
        known, horizon = float_of(pool, "knownSeconds"), float_of(pool, "horizonSeconds")
        out.print(
            f"pool {pool['pool']}: the next {span_text(horizon)} from {pool['madeAt']},"
            f" out of {span_text(known)} of the past"
        )
        home = pool.get("homeMix")
        out.print(f"  forecast: {forecast_text(pool)}")
        out.print(f"  home mix: {home_text(home if isinstance(home, Mapping) else None)}")
        more = ("MEAN RUN",) if wide else ()
        drawn = table("RESOURCE", "NOW", "P10", "P50", "P90", "HOME", *more, right=NUMBERS)
        for own in items(pool.get("profiles")):
            cells = [shown(own.get(key)) for key in ("now", "p10", "p50", "p90", "home")]
            mean = own.get("meanServiceSeconds")
            run = span_text(mean) if isinstance(mean, float | int) else "?"
            drawn.add_row(str(own["resource"]), *cells, *([run] if wide else []))
        section(out, drawn)
        for notice in texts(pool.get("notices")):
            out.print(f"note: {notice}")


def draw_backtest(out: Console, document: Document) -> None:
    """Draw how forecasts of the past would have done."""
    out.print(f"{document['trace']}: {document['from']} to {document['to']}")
    if document.get("reason"):
        out.print(f"no scores: {document['reason']}")
        return
    drawn = table("METHOD", "PINBALL LOSS", "IN SLICES", right=("PINBALL LOSS", "IN SLICES"))
    for own in items(document.get("methods")):
        drawn.add_row(
            str(own["method"]), shown(own["pinballLoss"]), shown(own["pinballLossSlices"])
        )
    section(out, drawn)
    numbers = ("PINBALL LOSS", "COVERAGE", "FORECASTS")
    drawn = table("RESOURCE", "METHOD", *numbers, right=numbers)
    scores = sorted(items(document.get("scores")), key=lambda s: str(s["resource"]))
    for own in scores:
        cells = (shown(own[key]) for key in ("pinballLoss", "coverage", "forecasts"))
        drawn.add_row(str(own["resource"]), str(own["method"]), *cells)
    section(out, drawn)
    out.print("coverage: share of the truths between p10 and p90; 0.8 would be right")


def forecast_text(pool: Mapping[str, object]) -> str:
    """Say whether there is a forecast, and whether plans go by it."""
    if pool.get("usedByPlans"):
        return "plans go by it"
    return f"plans do not go by it: {pool.get('reason')}"


def home_text(home: Mapping[str, object] | None) -> str:
    """Say where the home mix comes from, or why there is none."""
    if home is None:
        return "not looked for"
    if home.get("reason"):
        return f"none: {home['reason']}"
    sources = ", ".join(texts(home.get("sources"))) or "nothing"
    known = span_text(float_of(home, "knownSeconds"))
    return f"of {home['gpus'] or 'no GPUs'}, found {home['madeAt']} in {known} from {sources}"


def shown(value: object) -> str:
    """Return a number as short as it is; what is not known is a question mark."""
    if value is None:
        return "?"
    return f"{value:g}" if isinstance(value, float) else str(value)


def items(value: object) -> list[Mapping[str, object]]:
    """Return the mappings of a list."""
    return [own for own in value if isinstance(own, Mapping)] if isinstance(value, list) else []


def texts(value: object) -> Iterable[str]:
    """Return the texts of a list."""
    return [str(own) for own in value] if isinstance(value, list) else []


def float_of(document: Mapping[str, object], key: str) -> float:
    """Return a number of a document, 0 where there is none."""
    value = document.get(key)
    return float(value) if isinstance(value, int | float) else 0.0
