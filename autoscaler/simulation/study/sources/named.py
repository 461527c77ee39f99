"""Sources by the name or the path that people give."""

from collections.abc import Callable, Mapping
from pathlib import Path

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.sources.itp import WHOLE as WHOLE_GPUS
from autoscaler.simulation.study.sources.itp import ItpTrace
from autoscaler.simulation.study.sources.measured import MeasuredJobs
from autoscaler.simulation.study.sources.source import JobSource, trace_file
from autoscaler.simulation.study.trace_file import shipped_trace

OPENB_COLUMN = "mig_share"


def source_named(text: str, column: str = "") -> JobSource:
    """Return the source of a name such as ``msitp`` or ``msitp:8``, or of a trace's path.

    Parameters
    ----------
    column
        What says which profile a job asks for; empty for the usual one.
    """
    name, _, part = text.partition(":")
    make = SHIPPED.get(name)
    if make is None:
        return trace_file(Path(text), column)
    return make(column, part)


def _openb(column: str, part: str) -> JobSource:
    _no_parts("openb", part)
    return trace_file(shipped_trace(), column or OPENB_COLUMN)


def _itp(column: str, part: str) -> JobSource:
    return ItpTrace(column or WHOLE_GPUS, part)


def _miso(column: str, part: str) -> JobSource:
    _no_parts("miso", part)
    return MeasuredJobs(column) if column else MeasuredJobs()


def _no_parts(name: str, part: str) -> None:
    if part:
        raise ConfigError(f"{name} has no parts, so {name}:{part} is none of them")


SHIPPED: Mapping[str, Callable[[str, str], JobSource]] = {
    "openb": _openb,
    "msitp": _itp,
    "miso": _miso,
}
