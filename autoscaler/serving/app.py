"""The pages of the loop: metrics, health, status."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment, Template
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from autoscaler import __version__
from autoscaler.serving.board import Board
from autoscaler.serving.health import Health

TEMPLATE = "page.html"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Pages:
    """Answers of each path.

    Parameters
    ----------
    metrics
        Returns the exposition text of all metrics.
    """

    health: Health
    board: Board
    metrics: Callable[[], bytes]

    async def healthz(self, _: Request) -> Response:
        """Say whether the loop still gets somewhere: the liveness probe."""
        return _verdict(self.health.ailment())

    async def readyz(self, _: Request) -> Response:
        """Say whether a policy is loaded and the cluster was observed."""
        return _verdict(self.health.obstacle())

    async def exposition(self, _: Request) -> Response:
        """Return all metrics."""
        return Response(self.metrics(), headers={"Content-Type": METRICS_TYPE})

    async def status(self, _: Request) -> Response:
        """Return the status as JSON."""
        return JSONResponse(dict(self.board.read().status))

    async def plan(self, _: Request) -> Response:
        """Return the plan in force as JSON."""
        plan = self.board.read().plan
        if plan is None:
            return JSONResponse({"error": "there is no plan yet"}, status_code=404)
        return JSONResponse(dict(plan))

    async def front(self, _: Request) -> Response:
        """Return the page for people."""
        notes = self.board.read()
        text = front_page().render(
            version=__version__,
            status=notes.status,
            plan=notes.plan,
            holds=notes.holds,
            ailment=self.health.ailment() or self.health.obstacle(),
        )
        return HTMLResponse(text)


def _verdict(trouble: str) -> Response:
    if trouble:
        return PlainTextResponse(f"{trouble}\n", status_code=503)
    return PlainTextResponse("ok\n")


@cache
def front_page() -> Template:
    """Return the template of the page; whatever it shows is escaped."""
    text = resources.files("autoscaler.serving").joinpath(TEMPLATE).read_text("utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)


def make_app(pages: Pages) -> Starlette:
    """Return the application."""
    return Starlette(
        routes=[
            Route("/", pages.front),
            Route("/healthz", pages.healthz),
            Route("/readyz", pages.readyz),
            Route("/metrics", pages.exposition),
            Route("/status", pages.status),
            Route("/plan", pages.plan),
        ]
    )
