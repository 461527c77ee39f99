"""Samples as any source gives them: labels, a value, and the time where it is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

LabelSet = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series.

    Parameters
    ----------
    name
        Metric name, empty where an expression dropped it.
    labels
        With their names in lower case, because some pipelines write them so.
    value
        Finite.
    """

    name: str
    labels: Mapping[str, str]
    value: float

    @property
    def series(self) -> LabelSet:
        """What tells this series from others of any metric with the same labels."""
        return frozenset(self.labels.items())


# Label names are few and repeat on every sample.
lower = lru_cache(maxsize=1024)(str.lower)


def sample_from(labels: Mapping[str, str], value: float, name: str = "") -> Sample:
    """Return a sample with label names in lower case and the metric name apart."""
    lowered = {lower(key): text for key, text in labels.items()}
    return Sample(lowered.pop("__name__", name), lowered, value)
