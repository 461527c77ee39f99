"""What is deployed: manifests that an API server takes, and rights that fit exactly."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import typer
import yaml

from autoscaler.adapters.policy_file import parse_policy
from autoscaler.cli.initial_configuration import initial_manifest
from autoscaler.cli.main import main, make_app
from autoscaler.cli.run import parse_address
from autoscaler.domain.cluster.placeholder import PRIORITY_CLASS
from autoscaler.domain.mig.configuration import initial_configurations, parse_configurations
from autoscaler.domain.policy.policy import Mode
from autoscaler.ports import CONFIG_MAPS
from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from autoscaler.simulation.store import Store, StoreClient
from autoscaler.simulation.study.seen_metrics import SeenMetrics
from autoscaler.simulation.world import PLACEHOLDER_CLASS
from tests.builders import NOW_S
from tests.floods import FULL, Steady, flood
from tests.floods import POLICY as FLOODED
from tests.loops import Replica, auto_policy, world_with_namespace
from tests.rbac import Grant, forbidden, grants_of, unused
from tests.servers import namespace
from tests.worlds import HALVES, ONE, task

pytestmark = pytest.mark.kubectl

ROOT = Path(__file__).parents[2]
FOLDERS = ("deploy", "deploy/recommend", "deploy/auto", "deploy/initial")
ACCOUNT = ("mig-autoscaler", "mig-autoscaler")
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
# Rights that the scenario below does not come to need, and what they are for.
SELDOM = {
    "mig-autoscaler-auto: get pods": "after a conflict: whether a pod to evict is still there",
    "mig-autoscaler-configurations: create configmaps in gpu-operator": (
        "where deploy/initial was never applied"
    ),
    "mig-autoscaler-observe: list clusterqueues.kueue.x-k8s.io": "where Kueue is installed",
    "mig-autoscaler-observe: list localqueues.kueue.x-k8s.io": "where Kueue is installed",
}


@cache
def rendered(folder):
    """Return the objects of a kustomization."""
    done = subprocess.run(
        ["kubectl", "kustomize", folder], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return tuple(yaml.safe_load_all(done.stdout))


def of_kind(folder, kind):
    return [o for o in rendered(folder) if o["kind"] == kind]


def deployment():
    (found,) = of_kind("deploy", "Deployment")
    return found


def container():
    (found,) = deployment()["spec"]["template"]["spec"]["containers"]
    return found


@pytest.fixture
def store():
    """A cluster that has the GPU operator's namespace and nothing of ours."""
    own = Store(lambda: NOW_S)
    own.load([namespace("gpu-operator")])
    return own


@pytest.fixture
def kubectl(store, tmp_path):
    """Run kubectl against that cluster."""
    with ApiServer(store) as server:
        write_kubeconfig(tmp_path / "config", server.url)

        def run(*arguments, fails=False):
            done = subprocess.run(
                ["kubectl", *arguments],
                cwd=ROOT,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(tmp_path),
                    "KUBECONFIG": str(tmp_path / "config"),
                },
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode != 0) is fails, done.stderr
            return done.stdout + done.stderr

        yield run


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_are_valid_and_there_once(folder):
    """Objects of a kind differ in namespace or name."""
    keys = [
        (o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"])
        for o in rendered(folder)
    ]
    assert len(set(keys)) == len(keys)
    assert [key for key in keys if not NAME.fullmatch(key[2])] == []


@pytest.mark.parametrize("folder", FOLDERS[:3])
def test_an_api_server_takes_every_object(kubectl, store, folder):
    """Created for good, object by object, and taken again unchanged."""
    kubectl("apply", "-k", folder)
    again = kubectl("apply", "-k", folder)
    assert "created" not in again
    assert again.count("unchanged") + again.count("configured") == len(rendered(folder))


def test_selectors_find_their_pods():
    """Deployment, service and anti-affinity mean the same label."""
    pod = deployment()["spec"]["template"]
    labels = pod["metadata"]["labels"]
    (service,) = of_kind("deploy", "Service")
    anti = pod["spec"]["affinity"]["podAntiAffinity"]
    (term,) = anti["preferredDuringSchedulingIgnoredDuringExecution"]
    for selector in (
        deployment()["spec"]["selector"]["matchLabels"],
        service["spec"]["selector"],
        term["podAffinityTerm"]["labelSelector"]["matchLabels"],
    ):
        assert selector.items() <= labels.items()
        assert selector


def test_ports_of_probes_and_service_exist():
    """And the process listens on it, on all addresses of the pod."""
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    for probe in ("livenessProbe", "readinessProbe"):
        assert container()[probe]["httpGet"]["port"] in ports
    assert container()["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container()["readinessProbe"]["httpGet"]["path"] == "/readyz"
    (service,) = of_kind("deploy", "Service")
    assert [port["targetPort"] in ports for port in service["spec"]["ports"]] == [True]
    arguments = container()["args"]
    listen = arguments[arguments.index("--listen") + 1]
    assert parse_address(listen) == ("0.0.0.0", ports["http"])
    annotations = deployment()["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(ports["http"])


def test_the_arguments_are_those_of_the_command():
    """Each option exists, and the policy is where it is mounted."""
    command, *options = container()["args"]
    run = typer.main.get_command(make_app([command])).commands[command]
    known = {name for parameter in run.params for name in parameter.opts}
    assert {option for option in options if option.startswith("--")} <= known
    path = Path(options[options.index("--policy") + 1])
    mounts = {m["mountPath"]: m for m in container()["volumeMounts"]}
    mount = mounts[str(path.parent)]
    # A file mounted alone never changes.
    assert "subPath" not in mount
    volumes = {v["name"]: v for v in deployment()["spec"]["template"]["spec"]["volumes"]}
    name = volumes[mount["name"]]["configMap"]["name"]
    (config_map,) = [o for o in of_kind("deploy", "ConfigMap") if o["metadata"]["name"] == name]
    loaded = parse_policy(config_map["data"][path.name], path.name)
    assert loaded.policy.mode is Mode.DRY_RUN
    assert loaded.warnings == ()


def test_the_pod_is_restricted():
    """As the Pod Security Standard of its namespace demands, and a little more."""
    pod, own = deployment()["spec"]["template"]["spec"], container()
    (space,) = of_kind("deploy", "Namespace")
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert [v for v in pod["volumes"] if not v.keys() & {"configMap", "emptyDir"}] == []
    assert pod["enableServiceLinks"] is False


def test_it_never_runs_on_a_gpu_node():
    """It stops the device plugin there, and cordons the node."""
    affinity = deployment()["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    assert expression == {
        "key": "nvidia.com/gpu.present",
        "operator": "NotIn",
        "values": ["true"],
    }


def test_the_image_runs_as_the_user_of_the_pod():
    """Without root; its entry point is the command."""
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    user = str(deployment()["spec"]["template"]["spec"]["securityContext"]["runAsUser"])
    assert f"USER {user}:{user}" in text
    assert 'ENTRYPOINT ["mig-autoscaler"]' in text
    assert main(["run", "--help"]) == 0


def test_the_initial_configurations_are_what_the_code_makes():
    """Generated; the file holds nothing else."""
    path = ROOT / "deploy" / "initial" / "mig-configurations.yaml"
    assert path.read_text() == initial_manifest()
    (config_map,) = rendered("deploy/initial")
    text = config_map["data"]["config.yaml"]
    assert parse_configurations(text, "config.yaml") == initial_configurations()


def test_a_later_apply_leaves_the_configurations_alone(kubectl, store):
    """Created once; what the autoscaler added since is not overwritten."""
    kubectl("create", "-k", "deploy/initial")
    client = StoreClient(store, "test")
    key = ("gpu-operator", "mig-autoscaler-config")
    client.patch(CONFIG_MAPS, *key, {"data": {"config.yaml": "grown"}})
    for folder in FOLDERS[:3]:
        kubectl("apply", "-k", folder)
    assert "already exists" in kubectl("create", "-k", "deploy/initial", fails=True)
    assert client.get(CONFIG_MAPS, *key)["data"] == {"config.yaml": "grown"}


def requests_of(mode, *, stuck=False):
    """Return all requests of a loop on a node with waiting pods, in some mode.

    One of its two GPUs is to be cut anew, so a new configuration is written.
    ``stuck``: MIG manager hangs, so that the loop also repairs and rolls back.
    """
    world = world_with_namespace(HALVES, HALVES, nodes=("n1",))
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=90_000.0) for i in range(7)])
    if stuck:
        world.faults.stuck_operands.add(("n1", "nvidia-dcgm-exporter"))
    Replica(world, auto_policy(mode))
    world.run_for(9000 if stuck else 900)
    return world.store.requests.entries(lambda e: e.user_agent == "replica-1")


def requests_in_a_flood():
    """Return all requests of a loop that keeps whole GPUs from those who would be next."""
    world = world_with_namespace(FULL, FULL)
    flood(world, 2)
    policy = auto_policy(**FLOODED)
    Replica(world, policy, metrics=SeenMetrics(world), history=Steady())
    world.run_for(1500)
    return world.store.requests.entries(lambda e: e.user_agent == "replica-1")


@cache
def auto_requests():
    alone = (*requests_of(Mode.AUTO), *requests_of(Mode.AUTO, stuck=True))
    return (*alone, *requests_in_a_flood())


@pytest.mark.parametrize(
    ("folder", "mode"),
    [
        ("deploy", Mode.OFF),
        ("deploy", Mode.DRY_RUN),
        ("deploy/recommend", Mode.RECOMMEND),
        ("deploy/auto", Mode.AUTO),
    ],
)
def test_each_mode_has_the_rights_it_needs(folder, mode):
    """Every request of a whole run is allowed by the roles of its mode."""
    requests = auto_requests() if mode is Mode.AUTO else requests_of(mode)
    assert len(requests) > 20
    assert forbidden(grants_of(rendered(folder), ACCOUNT), requests) == []


def test_a_run_with_the_rights_of_another_mode_is_noticed():
    """The check itself can fail."""
    grants = grants_of(rendered("deploy"), ACCOUNT)
    missing = forbidden(grants, auto_requests())
    assert any(text.startswith("patch nodes/") for text in missing)
    assert any(text.startswith("create pods/eviction") for text in missing)


def test_no_right_is_given_that_is_never_needed():
    """But for a few, each with its reason."""
    grants = grants_of(rendered("deploy/auto"), ACCOUNT)
    recommend = requests_of(Mode.RECOMMEND)
    assert unused(grants, (*auto_requests(), *recommend)) == set(SELDOM)


@pytest.mark.parametrize("folder", FOLDERS[:3])
def test_no_right_is_unlimited(folder):
    """No star, no deleting of pods of others, no secrets, no writing of roles."""
    grants = grants_of(rendered(folder), ACCOUNT)
    assert [str(g) for g in grants if "*" in (g.verb, g.group, g.resource)] == []
    deletes = [g for g in grants if g.verb in {"delete", "deletecollection"}]
    assert {(g.resource, g.namespace) for g in deletes} <= {("pods", ACCOUNT[0])}
    makes = [g for g in grants if g.resource == "pods" and g.verb == "create"]
    assert {g.namespace for g in makes} <= {ACCOUNT[0]}
    assert [str(g) for g in grants if g.resource == "secrets" or "rbac" in g.group] == []


def test_placeholders_go_before_pods_without_a_priority_and_take_nothing_from_anyone():
    """As the class that the pods name says."""
    (own,) = of_kind("deploy/auto", "PriorityClass")
    assert own["metadata"]["name"] == PRIORITY_CLASS
    # Any higher, and whoever preempts a pod might not get what that frees.
    assert (own["value"], own["preemptionPolicy"]) == (1, "Never")
    assert {
        k: own[k] for k in ("value", "preemptionPolicy")
    }.items() <= PLACEHOLDER_CLASS.items()


def test_modes_that_observe_may_not_write():
    """Not even by accident: the role has no verb for it."""
    grants = grants_of(rendered("deploy"), ACCOUNT)
    assert {grant.verb for grant in grants} == {"get", "list"}


def test_names_limit_only_what_has_one():
    """A create or a list is never allowed by a rule with names."""
    (entry,) = [e for e in auto_requests() if e.verb == "create" and e.resource == "leases"][:1]
    assert not Grant("r", "create", entry.group, "leases", entry.namespace, "x").allows(entry)
    assert Grant("r", "create", entry.group, "leases", entry.namespace).allows(entry)
