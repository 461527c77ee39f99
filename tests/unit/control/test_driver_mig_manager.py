"""Configurations in our ConfigMap: written in time, never written over, never lost."""

from dataclasses import replace

import pytest

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.control.driver_mig_manager import (
    MigManagerDriver,
    names_for,
    read_configurations,
    rollback_name,
    stale_names,
)
from autoscaler.control.outside import Outside
from autoscaler.domain.cluster.objects import ConfigMap
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import Refused
from autoscaler.domain.journal.rollout import Layout
from autoscaler.domain.mig.configuration import initial_configurations, parse_configurations
from autoscaler.domain.policy.policy import MigManager
from autoscaler.ports import CONFIG_MAPS, NAMESPACES
from autoscaler.simulation.clock import VirtualClock
from autoscaler.simulation.store import Store, StoreClient
from tests.builders import A100, NOW_S, model
from tests.fleets import config_map, entry
from tests.rollouts import AFTER, BEFORE, BEFORE_NAME, TARGET_NAME, journal

OWN = journal(model=A100)
OPERATOR = "gpu-operator"
ANOTHER = entry("all", {"7g.40gb": 1})
TARGET = [entry([0], dict(AFTER[0])), entry([1], dict(AFTER[1]))]
SMALL = [entry("all", dict(BEFORE[0]))]


def a_driver():
    """Return a driver on an empty store, and the store's client."""
    clock = VirtualClock(NOW_S)
    client = StoreClient(Store(clock.now_s, wait=clock.sleep), "test")
    client.create(NAMESPACES, None, {"metadata": {"name": OPERATOR}})
    cluster = KubernetesCluster(client, clock)
    return MigManagerDriver(Outside(cluster, clock), MigManager()), client


def text_of(client):
    """Return the file that MIG manager reads."""
    found = client.get(CONFIG_MAPS, OPERATOR, "mig-autoscaler-config")
    return parse_configurations(found["data"]["config.yaml"])


def test_the_first_write_brings_nvidias_own_names_for_all_models():
    """Users select nodes by them."""
    driver, client = a_driver()
    driver.write(OWN, OWN.needed, frozenset())
    assert set(text_of(client)) == {*initial_configurations(), TARGET_NAME}
    names, problem = names_for(driver.read(), OWN)
    assert names == {TARGET_NAME: NOW_S, BEFORE_NAME: NOW_S}
    assert problem == ""


def test_what_people_wrote_stays():
    """Their names keep their meaning, and their times are not known."""
    driver, client = a_driver()
    theirs = config_map({"theirs": [ANOTHER], BEFORE_NAME: SMALL})
    body = {"metadata": {"name": theirs.name}, "data": dict(theirs.data)}
    client.create(CONFIG_MAPS, OPERATOR, body)
    driver.write(OWN, (OWN.target,), frozenset())
    assert set(text_of(client)) == {"theirs", BEFORE_NAME, TARGET_NAME}
    assert names_for(driver.read(), OWN)[0] == {TARGET_NAME: NOW_S, BEFORE_NAME: None}


def test_writing_twice_changes_no_time():
    """A name counts from its first write."""
    driver, _ = a_driver()
    driver.write(OWN, OWN.needed, frozenset())
    first = driver.read()
    driver.write(OWN, OWN.needed, frozenset())
    assert driver.read().written_s == first.written_s
    assert driver.read().entries == first.entries


def test_old_names_go_when_nothing_asks_for_them():
    """Not NVIDIA's, not those in use, not yesterday's."""
    day_s = 86400.0
    written = {"as-old": 0.0, "as-used": 0.0, "as-new": 2 * day_s, "all-1g.5gb": 0.0}
    assert stale_names(written, frozenset({"as-used"}), 2 * day_s) == ("as-old",)


def test_a_name_that_means_something_else_is_never_written_over():
    """Another node may carry it."""
    known = read_configurations(config_map({TARGET_NAME: [ANOTHER]}))
    names, problem = names_for(known, OWN)
    assert names == {}
    assert problem == f"configuration {TARGET_NAME} exists and means something else"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (config_map({}, operator_owned=True), "belongs to the GPU operator"),
        (ConfigMap(OPERATOR, "x", data={"config.yaml": "version: v2"}), "config.yaml"),
        (config_map({"a": [entry("all", {"1g.5gb": -1})]}), "mig-configs.a"),
    ],
)
def test_a_file_that_is_not_ours_to_write_is_a_problem(found, said):
    """Told in words, and the file stays as it is."""
    known = read_configurations(found)
    assert said in known.problem
    assert names_for(known, OWN) == ({}, known.problem)


def test_writing_to_such_a_file_is_refused():
    """Whatever the state machine asks for."""
    driver, client = a_driver()
    body = {
        "metadata": {"name": "mig-autoscaler-config"},
        "data": {"config.yaml": "version: v9"},
    }
    client.create(CONFIG_MAPS, OPERATOR, body)
    with pytest.raises(Refused, match=r"config\.yaml"):
        driver.write(OWN, OWN.needed, frozenset())


def test_an_unknown_model_is_a_problem():
    """Without it no name can be checked."""
    strange = replace(OWN, model="b999")
    assert "'b999' is not known" in names_for(read_configurations(None), strange)[1]


@pytest.mark.parametrize(
    ("configurations", "config_name", "name"),
    [
        ({BEFORE_NAME: SMALL}, BEFORE_NAME, BEFORE_NAME),
        ({"own": SMALL}, "own", "own"),
        ({}, BEFORE_NAME, BEFORE_NAME),
        ({"own": [ANOTHER]}, "own", BEFORE_NAME),
        ({}, "own", BEFORE_NAME),
        ({}, None, BEFORE_NAME),
    ],
)
def test_the_way_back_has_a_name_that_means_the_layout(configurations, config_name, name):
    """The node's own where the file knows it so, else one of the content."""
    known = read_configurations(config_map(configurations))
    assert rollback_name(known, config_name, BEFORE, model()) == name


def test_the_way_back_of_a_mix_is_content_addressed():
    """A node that had no name gets one of what it holds."""
    assert rollback_name(read_configurations(None), None, AFTER, model()) == TARGET_NAME


def test_names_with_a_plus_are_made_fit_for_a_label():
    """The profile inside keeps its plus."""
    layout = (Counts({"1g.5gb+me": 1, "1g.5gb": 6}),)
    back = Layout("all-1g.5gb.me", layout, Counts())
    driver, client = a_driver()
    driver.write(OWN, (replace(back, config_name="as-me"),), frozenset())
    (first,) = text_of(client)["as-me"]
    assert first.mig_devices == layout[0]
    assert "all-1g.5gb.me" in text_of(client)


def test_times_that_cannot_be_read_are_not_known():
    """Then a name counts from when it was first looked at."""
    odd = config_map({BEFORE_NAME: SMALL}, annotations={"mig-autoscaler.io/written": "soon"})
    assert read_configurations(odd).written_s == {}
