"""The benchmark of dry runs, on a small cluster: it measures what it says."""

import json

from benchmarks.large_dump import Size, write_large_dump
from benchmarks.plan_from import main


def test_the_same_seed_gives_the_same_dump(tmp_path):
    """Byte for byte; another seed another one."""
    paths = [tmp_path / name for name in "abc"]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        write_large_dump(path, Size(nodes=3, pods=30, seed=seed))
    first, same, other = (path.read_bytes() for path in paths)
    assert first == same != other


def test_a_dump_is_as_large_as_asked_for(tmp_path):
    """Nodes, pods, and no instance is held twice."""
    path = tmp_path / "dump.json"
    write_large_dump(path, Size(nodes=4, pods=50))
    items = json.loads(path.read_text())["items"]
    kinds = [item["kind"] for item in items]
    assert (kinds.count("Node"), kinds.count("Pod")) == (4, 50)
    for node in (item for item in items if item["kind"] == "Node"):
        held = [
            resource
            for pod in items
            if pod["kind"] == "Pod" and pod["spec"].get("nodeName") == node["metadata"]["name"]
            for resource in pod["spec"]["containers"][0]["resources"]["limits"]
        ]
        for resource in set(held) - {"memory"}:
            assert held.count(resource) <= int(node["status"]["allocatable"][resource])


def test_seconds_and_memory_are_those_of_the_dry_run(capfd):
    """A plan on a tiny fleet takes some of both."""
    assert main(["--nodes", "3", "--pods", "20", "--busy", "0.1", "-o", "json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert (result["nodes"], result["gpus"], result["pods"]) == (3, 24, 20)
    assert result["seconds"] > 0
    assert 20 < result["memory_mb"] < 1000
    assert result["served"] > 0
