"""Whatever a dump holds: a plan, a hold or a clear error, never a traceback."""

import copy
import io
import json
from contextlib import redirect_stderr, redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.cli.main import main
from tests.dumps import AT, SEVEN, dump_configurations, dump_list, dump_node, dump_pod

ODD = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    "-3",
    "1e99",
    [],
    {},
    [None],
    {"x": None},
    "2030-13-99T99:99:99Z",
    "\u2028",
    10**400,
)


def base():
    """Return a dump with a bit of everything."""
    inventory = {
        "driver": "580.1",
        "gpus": [
            {
                "index": 0,
                "uuid": "GPU-1",
                "model": "NVIDIA-A100-SXM4-40GB",
                "migEnabled": True,
                "instances": [
                    {
                        "profile": "1g.5gb",
                        "start": s,
                        "size": 1,
                        "id": s,
                        "uuid": f"MIG-{s}",
                        "pod": "team/run" if s == 0 else None,
                    }
                    for s in range(7)
                ],
            }
        ],
    }
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                ]
            }
        }
    }
    waiting = {
        "affinity": affinity,
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "initContainers": [{"name": "i", "restartPolicy": "Always"}],
    }
    return dump_list(
        dump_node(
            layout=[SEVEN],
            annotations={
                "mig-autoscaler.io/inventory": json.dumps(inventory),
                "mig-autoscaler.io/quarantine": "{}",
            },
            spec={"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        ),
        dump_node("gpu-2", layout=[SEVEN, None]),
        dump_pod("run", "1g.5gb", node="gpu-1"),
        dump_pod("wait", spec=waiting),
        dump_pod("plain"),
        dump_configurations([[SEVEN]]),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "team"},
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "x"}}},
            "status": {"disruptionsAllowed": 0},
        },
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "q", "namespace": "team"},
            "spec": {"hard": {"requests.nvidia.com/mig-3g.20gb": "1"}},
            "status": {"used": {"requests.nvidia.com/mig-3g.20gb": "0"}},
        },
        {
            "apiVersion": "nvidia.com/v1",
            "kind": "ClusterPolicy",
            "metadata": {"name": "p"},
            "spec": {"migManager": {"config": {"name": "mig-autoscaler-config"}}},
        },
    )


def places(value, path=()):
    """Yield the path of every value in a document."""
    yield path
    children = value.items() if isinstance(value, dict) else ()
    children = enumerate(value) if isinstance(value, list) else children
    for key, child in children:
        yield from places(child, (*path, key))


BASE = base()
PLACES = [path for path in places(BASE) if path]


def changed(document, path, how):
    """Return the document with one value replaced, or taken away."""
    mutant = copy.deepcopy(document)
    target = mutant
    for key in path[:-1]:
        target = target[key] if not isinstance(target, str) else {}
        if not isinstance(target, (dict, list)):
            return mutant
    if how == "gone":
        del target[path[-1]]
    else:
        target[path[-1]] = how
    return mutant


def run(text, folder, *options):
    """Run a dry run on a text; return exit code, output and errors."""
    path = folder / "dump.json"
    path.write_text(text)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["plan", "--from", str(path), "--at", AT, *options])
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def check(text, folder):
    """Hold a dry run to what is promised for any input."""
    code, out, err = run(text, folder, "-o", "json")
    assert code in {0, 65}, err
    if code == 65:
        assert err.startswith("error: ")
        assert out == ""
    else:
        json.loads(out)
        assert run(text, folder, "-o", "wide")[0] == 0


@given(path=st.sampled_from(PLACES), how=st.sampled_from([*ODD, "gone"]))
def test_one_odd_value_is_survived(folder, path, how):
    """Any value of any object, replaced by something else or missing."""
    check(json.dumps(changed(BASE, path, how)), folder)


@given(
    changes=st.lists(
        st.tuples(st.sampled_from(PLACES), st.sampled_from(ODD)), min_size=2, max_size=6
    )
)
def test_several_odd_values_are_survived(folder, changes):
    """Deeper places first, so that each change finds its place."""
    document = BASE
    for path, how in sorted(changes, key=lambda change: -len(change[0])):
        document = changed(document, path, how)
    check(json.dumps(document), folder)


@given(text=st.text(max_size=200))
def test_any_text_is_survived(folder, text):
    """Most are no dump at all."""
    check(text, folder)
