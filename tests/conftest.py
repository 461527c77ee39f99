"""What all tests share: Hypothesis profiles, and markers for tools that may be missing."""

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")

PROGRAMS = {
    "kubectl": ["kubectl"],
    "prometheus": ["prometheus", "promtool"],
    "browser": ["chromium"],
}


def missing(marker: str) -> list[str]:
    """Return the programs of a marker that are not on the path."""
    return [name for name in PROGRAMS.get(marker, [marker]) if shutil.which(name) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a missing program, unless the environment requires it."""
    required = set(filter(None, os.environ.get("REQUIRED_MARKERS", "").split(",")))
    for item in items:
        for marker in PROGRAMS:
            if item.get_closest_marker(marker) is None or not missing(marker):
                continue
            if marker in required:
                raise pytest.UsageError(
                    f"{marker} tests are required: {missing(marker)} not found"
                )
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing(marker))}"))
