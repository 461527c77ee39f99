"""Presets: layouts that people name, and when the nodes of a pool shall have one.

They are wishes like floors: what cannot be had is named, and what pods hold stays.
"""

from typing import Annotated

from pydantic import Field

from autoscaler.domain.policy.quantity import Duration, NumberOrPercent, duration
from autoscaler.domain.policy.schedule import DailySpan, ProfileAmounts
from autoscaler.domain.policy.section import Name, Section, Text

Presets = dict[Name, dict[Text, ProfileAmounts]]
"""Profile counts of one GPU, by name of the preset and key of the GPU model."""


class Threshold(Section):
    """A number of waiting pods from which a preset holds."""

    profile: Text
    """Profile that the pods ask for."""

    more_than: Annotated[int, Field(ge=0)] = 0
    """The preset holds while more pods than this wait. Default: 0, so that one is enough."""

    for_s: Duration = duration("0s")
    """Only pods that have waited at least this long count. Default: 0s, all of them."""


class PresetUse(Section):
    """When, where and on how many GPUs a preset holds; conditions left out always hold."""

    preset: Name
    """Name of the preset."""

    at: DailySpan | None = None
    """Time of day and week. Default: any time."""

    node_selector: dict[Text, str] = Field(default={})
    """Labels of the nodes it is for, all of them. Default: none, which takes all nodes."""

    when: Threshold | None = None
    """Waiting pods that call for it. Default: none are needed."""

    gpus: NumberOrPercent = "100%"
    """How many GPUs shall have the layout: a number, or a percentage of those of the nodes
    it is for, rounded down. Default: 100%; the fewer, the more is left to the optimizer."""
