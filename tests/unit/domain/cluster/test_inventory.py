"""The agent's report is read as a whole or refused with the key that is wrong."""

import json

import pytest

from autoscaler.domain.cluster.board import Board, BoardInstance
from autoscaler.domain.cluster.inventory import inventory_of, parse_inventory, render_inventory
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from tests.builders import node
from tests.fleets import inventory

KEY = "mig-autoscaler.io/inventory"


def gpu(**changes):
    """Return one GPU of a report."""
    instance = {"profile": "3g.20gb", "start": 0, "size": 4}
    row = {"index": 0, "model": "NVIDIA-A100-SXM4-40GB", "migEnabled": True}
    return {**row, "instances": [instance], **changes}


def text(*gpus):
    """Return a report of these GPUs."""
    return json.dumps({"driver": "580.1", "gpus": list(gpus)})


def test_a_report_tells_placements_and_holders():
    """One instance is held, the other free; the second GPU is whole."""
    own = node(annotations=inventory([{"3g.20gb": 2}, None], pods={1: "team-x/train-0"}))
    found = inventory_of(own)
    assert found is not None
    assert found.layout == (Counts({"3g.20gb": 2}), None)
    assert [i.start for i in found.gpus[0].geometry.instances] == [0, 4]
    ((pod, instance),) = found.gpus[0].holders
    assert (str(pod), instance.start) == ("team-x/train-0", 4)
    assert (found.index_of("GPU-1"), found.index_of("GPU-9"), found.index_of("")) == (
        1,
        None,
        None,
    )


def test_a_node_without_a_report_has_none():
    """That is the usual case without the agent."""
    assert inventory_of(node()) is None


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ("{", "not JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "gpus: must be list, is null"),
        (text(), "indexes must be 0 to n-1"),
        (text(gpu(index=1)), "indexes must be 0 to n-1"),
        (text(gpu(), gpu()), "indexes must be 0 to n-1"),
        (text(gpu(index="0")), 'gpus[0].index: must be int, is "0"'),
        (text(gpu(index=True)), "gpus[0].index: must be int, is true"),
        (text(gpu(migEnabled=None)), "gpus[0].migEnabled: must be bool"),
        (text(gpu(model=None)), "gpus[0].model: must be str"),
        (text(gpu(migEnabled=False)), "must be empty where MIG is off"),
        (text(gpu(instances=[3])), "gpus[0].instances[0]: must be a JSON object"),
        (
            text(gpu(instances=[{"profile": "1g.5gb", "start": -1, "size": 1}])),
            "gpus[0].instances[0]: no such placement",
        ),
        (
            text(gpu(instances=[{"profile": "3g.20gb", "start": 0, "size": 4}] * 2)),
            "gpus[0].instances: 3g.20gb@0 overlaps 3g.20gb@0",
        ),
        (
            text(gpu(instances=[{"profile": "1g.5gb", "start": 0, "size": 1, "pod": "x"}])),
            "gpus[0].instances[0].pod: must be namespace/name",
        ),
    ],
)
def test_a_wrong_report_is_refused_with_its_key(report, message):
    """Half a report would be a guess."""
    with pytest.raises(ConfigError) as error:
        parse_inventory(report)
    assert message in str(error.value)


def test_a_report_that_is_written_can_be_read():
    """Placements, holders and modes come back; what nobody can use is left out."""
    small, half = GpuInstance(0, 1, "1g.5gb"), GpuInstance(4, 4, "3g.20gb")
    product = "NVIDIA-A100-SXM4-40GB"
    instances = (
        BoardInstance(7, small, ("MIG-a",)),
        BoardInstance(9, GpuInstance(1, 1, "1g.5gb")),
        BoardInstance(1, half, ("MIG-b", "MIG-c")),
    )
    boards = (
        Board(1, "GPU-1", product, False),
        Board(0, "GPU-0", product, True, instances),
    )
    text = render_inventory("580.1", boards, {"MIG-c": PodRef("team", "train-0")})
    found = parse_inventory(text)
    assert [gpu.uuid for gpu in found.gpus] == ["GPU-0", "GPU-1"]
    assert [gpu.mig_enabled for gpu in found.gpus] == [True, False]
    assert found.gpus[0].geometry == Geometry((small, half))
    assert found.gpus[0].holders == ((PodRef("team", "train-0"), half),)
    assert json.loads(text)["driver"] == "580.1"
    assert json.loads(text)["gpus"][0]["instances"][0] == {
        "profile": "1g.5gb",
        "start": 0,
        "size": 1,
        "id": 7,
        "uuid": "MIG-a",
    }
