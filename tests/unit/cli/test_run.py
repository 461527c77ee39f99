"""The process that runs the loop: its start, its pages, its end."""

import json
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from autoscaler.ports import LEASES
from tests.commands import Shell, write_policy
from tests.dumps import dump_node, dump_pod
from tests.servers import OWN, serving

ROOT = Path(__file__).parents[3]


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@contextmanager
def process(*arguments):
    """Run the command as a process of its own; its log is on standard error."""
    command = [sys.executable, "-m", "autoscaler", "run", "--listen", "127.0.0.1:0", *arguments]
    own = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield own
    finally:
        if own.poll() is None:
            own.kill()
        own.communicate()


def line_with(own, event):
    """Read the log up to the first line about an event."""
    assert own.stderr is not None
    for text in own.stderr:
        line = json.loads(text)
        if event(line):
            return line
    raise AssertionError("the log ended before")


def get(url, path):
    with urllib.request.urlopen(url + path, timeout=10) as answer:
        return answer.read().decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_serves_and_ends_at_a_signal(tmp_path, number):
    """Pages answer after the first cycle; then the Lease is given up and all is well."""
    policy = write_policy(tmp_path, "mode: recommend")
    with serving(tmp_path, dump_node(), dump_pod()) as api:
        with process("--policy", policy, "--kubeconfig", api.kubeconfig) as own:
            url = line_with(own, lambda line: line["event"] == "serving")["url"]
            cycle = line_with(own, lambda line: "decision" in line)
            assert cycle["decision"] == "planned"
            assert get(url, "/healthz") == "ok\n"
            assert get(url, "/readyz") == "ok\n"
            assert json.loads(get(url, "/status"))["mode"] == "recommend"
            assert "mig_autoscaler_cycles_total" in get(url, "/metrics")
            own.send_signal(number)
            assert own.wait(timeout=30) == 0
        lease = api.client.get(LEASES, OWN, "mig-autoscaler-recommend")
        assert not lease["spec"].get("holderIdentity")


def test_one_cycle_says_how_it_came_out(shell, tmp_path):
    """Without a policy, there is a pool for the product that is there."""
    with serving(tmp_path, dump_node(), dump_pod()) as api:
        result = shell.run("run", "--once", "--kubeconfig", api.kubeconfig)
        assert result.code == 0
        assert result.out.strip()
        assert api.mutations() == []


def test_a_cycle_that_sees_nothing_is_an_error(shell, tmp_path):
    """The API server is gone."""
    with serving(tmp_path, dump_node()) as api:
        kubeconfig = api.kubeconfig
    result = shell.run("run", "--once", "--kubeconfig", kubeconfig)
    assert result.code == 1
    assert "no plan" in result.out


def test_a_bad_policy_ends_before_the_first_cycle(shell, tmp_path):
    """With the exit code of bad input."""
    policy = write_policy(tmp_path, "mode: sideways")
    with serving(tmp_path, dump_node()) as api:
        result = shell.run("run", "--policy", policy, "--kubeconfig", api.kubeconfig)
        assert result.code == 65
        assert f"{policy}:7:" in result.err


@pytest.mark.parametrize("listen", ["8080", "localhost:", "localhost:x", "localhost:70000"])
def test_an_address_is_host_and_port(shell, tmp_path, listen):
    """Anything else is a usage error."""
    result = shell.run("run", "--listen", listen, "--kubeconfig", str(tmp_path))
    assert result.code == 64
    assert listen in result.err


def test_an_address_in_use_is_one_line(shell, tmp_path):
    """And no cycle is run."""
    with serving(tmp_path, dump_node()) as api:
        server = json.loads(Path(api.kubeconfig).read_text())["clusters"][0]["cluster"][
            "server"
        ]
        taken = server.removeprefix("http://")
        result = shell.run("run", "--listen", taken, "--kubeconfig", api.kubeconfig)
        assert result.code == 1
        assert result.err.count("\n") == 1
        assert f"cannot listen on {taken}" in result.err
