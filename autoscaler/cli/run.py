"""``run``: the loop, in a cluster or from a kubeconfig."""

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import FrameType
from typing import Annotated

import typer

from autoscaler.adapters.solver_process import SolverProcess
from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.logs import LogFormat, open_log
from autoscaler.cli.output import console
from autoscaler.cli.policy_source import PolicySource
from autoscaler.cli.service import Service, has_succeeded
from autoscaler.cli.stopping import StoppableClient
from autoscaler.cli.wiring import (
    CONTEXT_OPTION,
    KUBECONFIG_OPTION,
    NAMESPACE_OPTION,
    Access,
    cluster_of,
    connect_client,
    history_of,
    metrics_of,
    own_identity,
    own_namespace,
    system_clock,
)
from autoscaler.control.outside import Outside
from autoscaler.domain.policy.policy import Mode, Policy
from autoscaler.serving.app import Pages, make_app
from autoscaler.serving.server import Server

JOB = "cycle"


def run_loop(
    policy: Annotated[
        str | None,
        typer.Option(help="Policy file, watched; default: one pool for each product of GPU."),
    ] = None,
    mode: Annotated[Mode | None, typer.Option(help="Mode, whatever the policy says.")] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Run one cycle, without waiting for persistence.")
    ] = False,
    listen: Annotated[
        str, typer.Option(help="Address of the pages.", metavar="HOST:PORT")
    ] = "127.0.0.1:8080",
    log_format: Annotated[LogFormat, typer.Option(help="Form of the log.")] = LogFormat.JSON,
    kubeconfig: Annotated[str | None, KUBECONFIG_OPTION] = None,
    context: Annotated[str | None, CONTEXT_OPTION] = None,
    namespace: Annotated[str | None, NAMESPACE_OPTION] = None,
) -> int:
    """Run the loop: observe, plan, and in mode auto change the cluster."""
    host, port = parse_address(listen)
    source = PolicySource(policy, mode)
    access = Access(kubeconfig, context, namespace)
    client = StoppableClient(connect_client(access, system_clock()))
    ports = Ports(client, access)
    service = Service(
        source=source,
        outside_for=ports.outside_for,
        log=open_log(log_format),
        clock=system_clock(),
        is_patient=not once,
    )
    if once:
        return run_once(service)
    pages = Pages(service.health, service.board, service.exporter.exposition)
    server = Server(make_app(pages), host, port)
    server.start()
    service.log.info("serving", url=server.url)
    try:
        run_until_stopped(service, client)
    finally:
        server.stop()
    return ExitCode.OK


@dataclass(frozen=True, slots=True)
class Ports:
    """Builds the ports of this process."""

    client: StoppableClient
    access: Access
    identity: str = field(default_factory=own_identity)

    def outside_for(self, policy: Policy) -> Outside:
        """Return the ports that a policy asks for."""
        clock = system_clock()
        return Outside(
            cluster=cluster_of(self.client, policy, clock, self.access.namespace),
            clock=clock,
            metrics=metrics_of(policy, clock),
            history=history_of(policy, clock),
            guard=SolverProcess(policy.planning.solve_limit_s),
            identity=self.identity,
            namespace=own_namespace(self.access.namespace),
        )


def run_once(service: Service) -> int:
    """Run a single cycle and say how it came out."""
    try:
        outcome = service.cycle()
    finally:
        service.close()
    console().print(outcome.message)
    for error in outcome.errors:
        console(stderr=True).print(f"error: {error}")
    return ExitCode.OK if has_succeeded(outcome) and not outcome.errors else ExitCode.ERROR


def run_until_stopped(service: Service, client: StoppableClient) -> None:
    """Run a cycle at each interval until SIGTERM or SIGINT, then give the Lease up."""
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        # The request under way is finished; the next one is refused.
        client.stop()
        stopped.set()

    before = {n: signal.signal(n, stop) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        with_timer(service, stopped.wait)
    finally:
        client.resume()
        service.close()
        for number, handler in before.items():
            signal.signal(number, handler)
        service.log.info("stopped")


def with_timer(service: Service, wait: Callable[[], object]) -> None:
    """Have a timer run the cycles in a thread of its own until ``wait`` returns."""
    from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
    from apscheduler.schedulers.background import BackgroundScheduler

    timer = BackgroundScheduler(timezone=UTC)
    pace = service.interval_s

    def tick() -> None:
        nonlocal pace
        service.tick()
        if service.interval_s != pace:
            pace = service.interval_s
            timer.reschedule_job(JOB, trigger="interval", seconds=pace)

    def listen(event: object) -> None:
        error = getattr(event, "exception", None)
        if error is None:
            service.note_missed()
        else:
            # Faults of a cycle are handled by the service; this one is of the handling.
            service.log.error("timer", exc_info=error)

    timer.add_listener(listen, EVENT_JOB_ERROR | EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES)
    timer.add_job(
        tick,
        "interval",
        seconds=pace,
        id=JOB,
        next_run_time=datetime.now(UTC),
        coalesce=True,
        max_instances=1,
        misfire_grace_time=max(1, int(pace)),
    )
    timer.start()
    try:
        wait()
    finally:
        timer.shutdown(wait=True)


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``; a usage error if it is none."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise typer.BadParameter(f"{text!r} is not HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)
