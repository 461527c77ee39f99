"""Prices of a plan for people: each term apart, by node, by profile and by scenario."""

from collections.abc import Sequence

from rich.console import Console

from autoscaler.cli.output import amount_text, section, table
from autoscaler.domain.plan.plan import Avoided, NodeChange, Plan, Price, Scenario

TERMS = (
    "WAITING",
    "HOME",
    "HEDGE",
    "RULE",
    "OUT OF SERVICE",
    "WORK LOST",
    "RESTARTS",
    "CHURN",
    "NET",
)
WHOSE = {
    Scenario.PENDING: "pending pods",
    Scenario.SCHEDULED: "scheduled peaks",
    Scenario.QUEUED: "queued work",
    Scenario.LIKELY: "likely by the past",
}


def draw_prices(out: Console, plan: Plan) -> None:
    """Draw gain and cost of each change and of all, and whose waiting they avoid."""
    if not plan.changes:
        return
    _draw_terms(out, plan.changes, plan.terms)
    _draw_avoided(out, plan.terms)


def _draw_terms(out: Console, changes: Sequence[NodeChange], total: Price) -> None:
    drawn = table("NODE", *TERMS, title="PRICE (slice-seconds)", right=TERMS)
    rows = [(change.node, change.price) for change in changes]
    rows += [("all", total)] if len(rows) > 1 else []
    for name, price in rows:
        gains = (price.waiting_avoided, price.home, price.hedge, price.rule)
        costs = (price.out_of_service, price.work_lost, price.restarts, price.churn)
        signed = (*gains, *(-cost for cost in costs), price.net)
        drawn.add_row(name, *map(amount_text, signed))
    section(out, drawn)


def _draw_avoided(out: Console, total: Price) -> None:
    """Draw what waiting and hedge are made of; without parts there is nothing to say."""
    rows = [(_whose(own), own.resource, own.worth) for own in total.avoided]
    if round(total.displaced):
        rows.append(("displaced", "-", -total.displaced))
    if not rows:
        return
    title = "WAITING AVOIDED (slice-seconds)"
    drawn = table("OF", "RESOURCE", "WORTH", title=title, right=["WORTH"])
    for whose, resource, worth in rows:
        drawn.add_row(whose, resource, amount_text(worth))
    section(out, drawn)


def _whose(own: Avoided) -> str:
    return WHOSE[own.scenario]
