"""Which pods must be replaced to see new instances, and when a new plugin serves."""

from dataclasses import replace

import pytest

from autoscaler.agent.operands import operands_among
from autoscaler.domain.cluster.objects import Owner
from tests.agents import PLUGIN, operand
from tests.builders import pod

OLD = operand()
NEW = operand(uid="uid-plugin-1")
FEATURES = operand("gpu-feature-discovery", uid="uid-gfd-0")


def test_plugin_discovery_and_exporter_are_the_operands():
    """By the label of the operator, or of the plugin's own chart."""
    exporter = operand("nvidia-dcgm-exporter", uid="uid-exporter-0")
    chart = replace(
        operand(uid="uid-chart-0"), labels={"app.kubernetes.io/name": "nvidia-device-plugin"}
    )
    found = operands_among([OLD, FEATURES, exporter, chart])
    assert found.uids == ("uid-chart-0", "uid-exporter-0", "uid-gfd-0", "uid-plugin-0")


@pytest.mark.parametrize(
    "other",
    [
        operand("nvidia-mig-manager"),
        replace(operand(), phase="Succeeded"),
        replace(operand(), owner=Owner("ReplicaSet", "x")),
        pod("x", labels={"app": PLUGIN}),
    ],
    ids=["another app", "finished", "no DaemonSet", "no owner"],
)
def test_nobody_else_is_replaced(other):
    """Not even a pod that carries the label."""
    assert operands_among([other]).uids == ()


def test_the_plugin_goes_first():
    """Without it nobody gets a device, so its time counts."""
    found = operands_among([FEATURES, OLD, NEW])
    assert [p.uid for p in found.old(["uid-gfd-0", "uid-plugin-0"])] == [
        "uid-plugin-0",
        "uid-gfd-0",
    ]


@pytest.mark.parametrize(
    ("pods", "serves"),
    [
        ([OLD], False),
        ([], False),
        ([replace(NEW, ready=False)], False),
        ([NEW], True),
        ([OLD, NEW], False),
        ([NEW, FEATURES], True),
        ([FEATURES], False),
    ],
    ids=["old", "none", "not ready", "new", "both", "new beside old discovery", "no plugin"],
)
def test_only_a_new_and_ready_plugin_serves(pods, serves):
    """While an old one is there, what is advertised may be old."""
    found = operands_among(pods)
    assert found.has_new_plugin(["uid-plugin-0", "uid-gfd-0"]) is serves
