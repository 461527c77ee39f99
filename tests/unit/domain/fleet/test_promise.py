"""What the configuration that a label names would make of a node."""

from autoscaler.domain.cluster.objects import ConfigMap
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.promise import Promises
from autoscaler.domain.policy.policy import MigManager
from autoscaler.domain.reasons import Reason
from tests.builders import model, observation
from tests.fleets import config_map, entry

THREE = {"3g.20gb": 2}
TWO = {"2g.10gb": 3}
DEFAULT = "default-mig-parted-config"


def layouts(*maps, config="mine", read_map=None, node="node-a", num_gpus=2):
    """Return what a name may mean."""
    seen = observation(config_maps=maps, mig_config_map=read_map)
    promises = Promises(seen, MigManager())
    return promises.layouts(node, config, model=model(), num_gpus=num_gpus)


def test_a_configuration_covers_every_gpu_by_its_index():
    """Entries for single GPUs and for all are expanded."""
    found = layouts(config_map({"mine": [entry([1], THREE), entry([0], None)]}))
    assert found == ((None, Counts(THREE)),)


def test_a_configuration_with_gaps_means_nothing():
    """GPU 0 is not covered, so MIG manager would run again and again."""
    assert layouts(config_map({"mine": [entry([1], THREE)]})) == ()


def test_a_name_that_no_file_defines_means_nothing():
    """The label may be older than the file."""
    assert layouts(config_map({"other": [entry("all", THREE)]})) == ()
    assert layouts() == ()


def test_names_of_nvidia_mean_what_nvidia_says_without_a_file():
    """Dumps often leave ConfigMaps out."""
    assert layouts(config="all-1g.5gb") == ((Counts({"1g.5gb": 7}),) * 2,)
    assert layouts(config="all-disabled") == ((None, None),)


def test_a_file_that_redefines_a_name_of_nvidia_wins():
    """What is written there is what the manager does."""
    found = layouts(config_map({"all-1g.5gb": [entry("all", TWO)]}), config="all-1g.5gb")
    assert found == ((Counts(TWO),) * 2,)


def test_several_files_give_several_meanings_unless_one_is_known_to_be_read():
    """The ClusterPolicy says which file counts."""
    ours = config_map({"mine": [entry("all", THREE)]})
    other = config_map({"mine": [entry("all", TWO)]}, "team-config")
    assert set(layouts(ours, other)) == {(Counts(THREE),) * 2, (Counts(TWO),) * 2}
    assert layouts(ours, other, read_map="team-config") == ((Counts(TWO),) * 2,)


def test_a_generated_file_is_for_its_own_node_only():
    """MIG manager writes one for each node, from its hardware."""
    labels = {"nvidia.com/node-name": "node-a"}
    own = config_map({"mine": [entry("all", TWO)]}, "node-a-mig-config", labels=labels)
    assert layouts(own) == ((Counts(TWO),) * 2,)
    assert layouts(own, node="node-b") == ()


def hold_texts(*maps, read_map=None):
    """Return reason and message of each hold."""
    seen = observation(config_maps=maps, mig_config_map=read_map)
    return [(hold.reason, hold.message) for hold in Promises(seen, MigManager()).holds()]


def test_d07_a_manager_that_reads_the_operators_file_is_told_with_the_way_out():
    """The operator overwrites its own file, so ours must be named in the ClusterPolicy."""
    owned = config_map({"all-1g.5gb": [entry("all", TWO)]}, DEFAULT, operator_owned=True)
    ((reason, text),) = hold_texts(owned, read_map=DEFAULT)
    assert reason is Reason.OPERATOR_CONFIG
    assert "create gpu-operator/mig-autoscaler-config" in text
    assert "migManager.config.name" in text


def test_d09_generated_files_serve_where_no_own_file_is_set():
    """They say which names can be applied; ours cannot be added to them."""
    labels = {"nvidia.com/node-name": "node-a"}
    own = config_map({"mine": [entry("all", TWO)]}, "node-a-mig-config", labels=labels)
    assert layouts(own, read_map=DEFAULT) == ((Counts(TWO),) * 2,)
    assert hold_texts(own, read_map=DEFAULT)[0][0] is Reason.OPERATOR_CONFIG


def test_our_own_file_in_the_cluster_policy_is_fine():
    """Nothing is to be told."""
    ours = config_map({"mine": [entry("all", THREE)]})
    assert hold_texts(ours, read_map="mig-autoscaler-config") == []
    assert hold_texts(ours) == []


def test_a_file_of_ours_that_cannot_be_read_is_told_with_its_place():
    """Files of others are their own business."""
    broken = "version: v1\nmig-configs:\n  x:\n  - devices: 3\n    mig-enabled: true\n"
    data = {"config.yaml": broken}
    ours = ConfigMap("gpu-operator", "mig-autoscaler-config", data=data)
    ((reason, text),) = hold_texts(ours)
    assert reason is Reason.UNREADABLE
    assert "mig-autoscaler-config[config.yaml]:4: mig-configs.x[0].devices" in text
    assert hold_texts(ConfigMap("gpu-operator", "team-config", data=data)) == []


def test_a_board_that_is_not_known_offers_at_least_what_all_of_them_would():
    """NVIDIA's name means four instances on one board and seven on another."""
    boards = [model("a100-40gb"), model("a100-80gb"), model("a30-24gb")]
    promises = Promises(observation(), MigManager())
    found = promises.least_supply("node-a", "all-1g.10gb", models=boards, num_gpus=2)
    assert found == Counts({"nvidia.com/mig-1g.10gb": 8})
    assert not promises.least_supply("node-a", "unheard-of", models=boards, num_gpus=2)
