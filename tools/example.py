"""Write the example cluster of the README: what a real kubectl prints of a small fleet.

The fleet is the embedded cluster's; the file is what
``kubectl get nodes,pods,pdb,configmaps -A -o json`` says of it.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from autoscaler.domain.counts import Counts
from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from autoscaler.simulation.fleet import Fleet, NodeGroup, numbered
from autoscaler.simulation.workload import Task
from autoscaler.simulation.world import World, WorldSettings

START_S = 1_924_000_000.0  # 2030-12-20T12:26:40Z
MODEL = "a100-40gb"
WHOLE, HALVES = Counts({"7g.40gb": 1}), Counts({"3g.20gb": 2})
SMALL = Counts({"1g.5gb": 7})


def build() -> World:
    """Return three nodes cut for last month's work, and this morning's queue."""
    groups = (
        NodeGroup(("gpu-01",), MODEL, (None,) * 4),
        NodeGroup(("gpu-02",), MODEL, (WHOLE,) * 4),
        NodeGroup(("gpu-03",), MODEL, (HALVES, HALVES, HALVES, SMALL)),
    )
    world = World(Fleet(groups), WorldSettings(START_S, bring_up_s=3600.0))
    ran = {"2xtrain": "3g.20gb", "4xinfer": "1g.5gb"}
    waits = {"9xeval": "1g.5gb", "3xtune": "2g.10gb", "1xlegacy": "1g.10gb"}
    world.submit([*tasks(ran, 30.0), *tasks(waits, 60.0)])
    world.run_for(900.0)
    return world


def tasks(numbers: dict[str, str], after_s: float) -> list[Task]:
    """Return tasks from texts such as ``9xeval``, each asking for one instance."""
    made = []
    for text, profile in numbers.items():
        number, name = text.split("x", 1)
        for pod in numbered(name, int(number)):
            resource = f"nvidia.com/mig-{profile}"
            made.append(Task(pod, START_S + after_s, None, Counts({resource: 1})))
    return made


def main() -> int:
    """Write the file named by the first argument."""
    target = Path(sys.argv[1])
    world = build()
    with ApiServer(world.store) as server, tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder, "kubeconfig")
        write_kubeconfig(kubeconfig, server.url)
        command = ["kubectl", "--kubeconfig", str(kubeconfig), "get"]
        command += ["nodes,pods,pdb,configmaps", "-A", "-o", "json"]
        answer = subprocess.run(command, capture_output=True, check=True)
    target.write_bytes(answer.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
