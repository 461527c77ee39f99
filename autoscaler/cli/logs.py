"""Logs of the loop: one line an event, fields instead of sentences."""

import logging
import sys
from enum import StrEnum

import structlog


class LogFormat(StrEnum):
    """Value of ``--log-format``."""

    JSON = "json"
    TEXT = "text"


def open_log(form: LogFormat) -> structlog.stdlib.BoundLogger:
    """Return a logger on standard error; other libraries' warnings go there too."""
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if form is LogFormat.TEXT:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    if form is LogFormat.JSON:
        shared.append(structlog.processors.format_exc_info)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    own = logging.getLogger("mig-autoscaler")
    own.setLevel(logging.INFO)
    own.propagate = False
    own.handlers = [handler]
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(handler)
    bound: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        own,
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return bound
