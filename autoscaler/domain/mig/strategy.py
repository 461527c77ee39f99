"""The MIG strategy of NVIDIA's device plugin."""

from enum import StrEnum


class Strategy(StrEnum):
    """MIG strategy of the device plugin."""

    NONE = "none"
    SINGLE = "single"
    MIXED = "mixed"
