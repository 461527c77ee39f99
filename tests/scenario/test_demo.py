"""The demo from the command line, on a fleet small enough for a test."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autoscaler.cli.main import main

SMALL = ["demo", "--nodes", "3", "--hours", "2", "--no-live"]


class Demo:
    """One finished run: its exit code, what it printed, and its files."""

    def __init__(self, code: int, out: str, folder: Path) -> None:
        self.code = code
        self.out = out
        self.text = (folder / "demo.json").read_text()
        self.page = (folder / "demo.html").read_text()
        self.document: dict[str, Any] = json.loads(self.text)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    arguments = [*SMALL, "--json", str(folder / "demo.json")]
    arguments += ["--html", str(folder / "demo.html")]
    printed = folder / "printed.txt"
    with printed.open("w") as target:
        before, sys.stdout = sys.stdout, target
        try:
            code = main(arguments)
        finally:
            sys.stdout = before
    return Demo(code, printed.read_text(), folder)


def printed_table(out: str) -> dict[str, tuple[str, str]]:
    """Return both columns of the printed table, by the name of the figure."""
    lines = out.split("THE SAME HOURS TWICE\n")[1].split("\n\n")[0].splitlines()[2:]
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    return {name: (alone, autoscaled) for name, alone, autoscaled, _ in rows}


def computed_table(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Compute the table anew from the pods and changes of the document."""
    alone, autoscaled = (
        figures_of(document["runs"][name], document["durationSeconds"])
        for name in ("alone", "autoscaled")
    )
    done = [c for c in document["changes"] if c["result"] == "done"]
    autoscaled["changes of nodes"] = str(len(done))
    autoscaled["GPUs cut anew"] = str(sum(len(c["gpus"]) for c in done))
    autoscaled["changes given up or undone"] = str(len(document["changes"]) - len(done))
    return {name: (alone.get(name, "0"), text) for name, text in autoscaled.items()}


def figures_of(run: dict[str, Any], end: float) -> dict[str, str]:
    """Compute the figures of one run from the times of its pods."""
    waits: dict[str, list[float]] = {}
    for pod in run["pods"]:
        (resource,) = pod["requests"]
        started = end if pod["started"] is None else pod["started"]
        waits.setdefault(resource.split("mig-")[1], []).append(started - pod["submitted"])
    every = sorted(wait for some in waits.values() for wait in some)
    p95 = every[math.ceil(0.95 * len(every)) - 1]
    work = sum(
        slices * (min(end, pod["ended"] or end) - pod["started"])
        for pod in run["pods"]
        if pod["started"] is not None
        for slices in [int(next(iter(pod["requests"])).split("mig-")[1][0])]
    )
    means = {
        f"waiting time for {name}, mean (s)": f"{sum(w) / len(w):,.1f}"
        for name, w in sorted(waits.items())
    }
    return {
        "waiting time, mean (s)": f"{sum(every) / len(every):,.1f}",
        "waiting time, 95th percentile (s)": f"{p95:,.1f}",
        **means,
        "served (slice-hours)": f"{work / 3600:,.1f}",
        "jobs started": f"{sum(p['started'] is not None for p in run['pods']):,}",
        "jobs finished": f"{sum(p['outcome'] == 'Succeeded' for p in run['pods']):,}",
    }


def instances_by_node(boards: list[dict[str, Any]]) -> dict[str, dict[int, dict[str, int]]]:
    """Return profile counts by node and GPU."""
    found: dict[str, dict[int, dict[str, int]]] = {}
    for board in boards:
        counts: dict[str, int] = {}
        for instance in board["instances"] or ():
            counts[instance["profile"]] = counts.get(instance["profile"], 0) + 1
        found.setdefault(board["node"], {})[board["gpu"]] = counts
    return found


def test_the_demo_ends_well_and_changes_something(demo: Demo) -> None:
    """Exit code 0, at least one change, and no fault at the end."""
    assert demo.code == 0
    assert [c for c in demo.document["changes"] if c["result"] == "done"]
    assert demo.document["faults"] == []
    assert "No node is cordoned" in demo.out


def test_the_printed_table_follows_from_the_document(demo: Demo) -> None:
    """Whoever has the file can compute every figure that was printed."""
    assert printed_table(demo.out) == computed_table(demo.document)


def test_the_dry_run_writes_nothing(demo: Demo) -> None:
    """The log of the API server holds reads only until the mode was switched."""
    rehearsal, log = demo.document["dryRun"], demo.document["requestLog"]
    first = log["requests"][: rehearsal["requests"]]
    assert rehearsal["requests"] > 100
    assert [r for r in first if r["mutating"]] == []
    assert rehearsal["mutatingRequests"] == 0
    assert rehearsal["plan"]["mode"] == "dry-run"
    assert rehearsal["plan"]["changes"]
    assert f"{rehearsal['requests']:,} requests of the autoscaler, 0 of them" in demo.out


def test_nodes_are_written_only_when_changes_may_start(demo: Demo) -> None:
    """The first write to a node is made in the window, in mode auto."""
    log = demo.document["requestLog"]
    writes = [r for r in log["requests"] if r["mutating"] and r["resource"] == "nodes"]
    began = min(r["at"] for r in log["requests"]) + demo.document["autoFrom"]
    assert log["dropped"] == 0
    assert {r["verb"] for r in writes} == {"patch"}
    assert min(r["at"] for r in writes) >= began


def test_changed_nodes_are_as_planned(demo: Demo) -> None:
    """The boards of the simulated hardware hold what the last change of their node says."""
    after = instances_by_node(demo.document["runs"]["autoscaled"]["after"])
    last = {
        (c["node"], gpu["index"]): gpu["after"]
        for c in demo.document["changes"]
        if c["result"] == "done"
        for gpu in c["gpus"]
    }
    assert last
    assert {key: after[key[0]][key[1]] for key in last} == last


def test_the_reserved_node_keeps_its_whole_gpus(demo: Demo) -> None:
    """MIG stays off on the first node, in both runs."""
    for run in demo.document["runs"].values():
        boards = [b for when in ("before", "after") for b in run[when] if b["node"] == "gpu-01"]
        assert {b["instances"] for b in boards} == {None}


def test_both_runs_get_the_same_jobs_and_layout(demo: Demo) -> None:
    """Nothing but the autoscaler differs between the runs."""
    alone, autoscaled = (demo.document["runs"][name] for name in ("alone", "autoscaled"))
    pods = [
        [(p["name"], p["requests"], p["submitted"]) for p in run["pods"]]
        for run in (alone, autoscaled)
    ]
    assert pods[0] == pods[1]
    assert len(pods[0]) == demo.document["scenario"]["tasks"]
    assert alone["before"] == autoscaled["before"] == alone["after"]


def test_all_factors_are_printed(demo: Demo) -> None:
    """What the figures depend on stands above them."""
    for name, value in demo.document["factors"].items():
        assert re.search(rf"^{name} +{re.escape(value)} *$", demo.out, re.MULTILINE)
    assert demo.document["policy"] in demo.out


def test_another_process_gets_the_same_document(demo: Demo, tmp_path: Path) -> None:
    """Neither the machine nor the order of hashes gets into the figures."""
    target = tmp_path / "again.json"
    subprocess.run(
        [sys.executable, "-m", "autoscaler", *SMALL, "--json", str(target)],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert target.read_text() == demo.text


def test_the_page_needs_no_network(demo: Demo) -> None:
    """No script, style or picture is loaded from anywhere."""
    head, _, rest = demo.page.partition("<script>")
    body = rest.partition("</head>")[2]
    assert not re.findall(r"(?:src|href)\s*=", head + body)
    assert "url(" not in head
    for name in ("layouts", "queues", "changes"):
        assert f'id="{name}"' in body
    for alone, autoscaled in printed_table(demo.out).values():
        assert f">{alone}</td>" in body
        assert f">{autoscaled}</td>" in body
