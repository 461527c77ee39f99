"""Which nodes could ever offer what a pod needs."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.eligibility import needs_of
from autoscaler.domain.demand.impossibility import nearest_profile
from autoscaler.domain.demand.possibility import Possibilities
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.reasons import Hold, Reason
from tests.builders import fleet_node, model, node, pod, snapshot
from tests.fleets import pool

SMALL = "nvidia.com/mig-1g.5gb"
LARGE = "nvidia.com/mig-7g.40gb"
WHOLE = "nvidia.com/gpu"


def judged(bundle, *nodes, own=None, outsiders=(), **changes):
    """Return where a pod with this bundle could be served."""
    fleet = snapshot(*nodes, outsiders=tuple(outsiders))
    possibilities = Possibilities(fleet, [pool(**changes)])
    return possibilities.judge(Counts(bundle), needs_of(own or pod()))


def test_a_profile_of_the_model_is_possible_whatever_is_cut_now():
    """All nodes of the model may take it."""
    nodes = [fleet_node("a"), fleet_node("b", [{"3g.20gb": 2}])]
    assert judged({LARGE: 1}, *nodes).eligible == {"a", "b"}


def test_nodes_of_other_models_are_left_out():
    """One name may be of one board only."""
    nodes = [fleet_node("a"), fleet_node("b", [{"1g.10gb": 7}], key="h100-80gb")]
    assert judged({SMALL: 1}, *nodes).eligible == {"a"}
    both = judged({"nvidia.com/mig-1g.10gb": 1}, *nodes)
    assert both.eligible == {"a", "b"}


def test_a_profile_that_no_board_has_is_impossible():
    """With the nearest on each model."""
    verdict = judged({"nvidia.com/mig-2g.24gb": 1}, fleet_node())
    assert verdict.reason is Reason.IMPOSSIBLE_PROFILE
    assert "nearest is 7g.40gb on a100-40gb" in verdict.message


@pytest.mark.parametrize(
    ("key", "resource", "nearest"),
    [
        ("h100-80gb", "nvidia.com/mig-1g.5gb", "1g.10gb"),
        ("h100-80gb", "nvidia.com/mig-3g.20gb", "3g.40gb"),
        ("a100-40gb", "nvidia.com/mig-1g.20gb", "3g.20gb"),
        ("a100-40gb", "nvidia.com/mig-7g.80gb", "7g.40gb"),
        ("a100-40gb", "nvidia.com/mig-3g.21gb", "3g.20gb"),
        ("h100-94gb", "nvidia.com/mig-1g.11gb", "1g.12gb"),
        ("a100-40gb", "nvidia.com/mig-odd", "7g.40gb"),
    ],
)
def test_the_nearest_profile_is_the_smallest_that_is_large_enough(key, resource, nearest):
    """In compute and in memory; else the whole GPU."""
    assert nearest_profile(model(key), resource).name == nearest


def test_profiles_that_the_pool_does_not_allow_are_told():
    """Unless the node has them already."""
    verdict = judged({LARGE: 1}, fleet_node(), profiles=("1g.5gb",))
    assert verdict.reason is Reason.NOT_ALLOWED
    assert "7g.40gb is not among the profiles of pool pool" in verdict.message
    assert judged({SMALL: 1}, fleet_node(), profiles=("3g.20gb",)).eligible == {"node-a"}


def test_whole_gpus_are_those_with_mig_off():
    """A mode change is not for the loop to make."""
    verdict = judged({WHOLE: 1}, fleet_node())
    assert verdict.reason is Reason.WHOLE_GPU
    nodes = [fleet_node("a"), fleet_node("b", [None, {"1g.5gb": 7}])]
    assert judged({WHOLE: 1}, *nodes).eligible == {"b"}
    assert judged({WHOLE: 1, SMALL: 1}, *nodes).eligible == {"b"}


@pytest.mark.parametrize(
    ("bundle", "fits"),
    [
        ({SMALL: 14}, True),
        ({SMALL: 15}, False),
        ({LARGE: 2}, True),
        ({LARGE: 2, SMALL: 1}, False),
        ({"nvidia.com/mig-3g.20gb": 4}, True),
        ({"nvidia.com/mig-3g.20gb": 5}, False),
    ],
)
def test_a_bundle_must_fit_on_one_node(bundle, fits):
    """Two boards hold fourteen small or two large ones."""
    verdict = judged(bundle, fleet_node(layout=[{"1g.5gb": 7}] * 2))
    assert bool(verdict.eligible) is fits
    if not fits:
        assert verdict.reason is Reason.BUNDLE_TOO_LARGE


def test_nobody_may_run_there():
    """How many nodes each filter turns down is told."""
    own = pod(node_selector={"zone": "b"})
    verdict = judged({SMALL: 1}, fleet_node(), own=own)
    assert verdict.reason is Reason.NO_ELIGIBLE_NODE
    assert "of 1 GPU nodes 1 without the labels of its node selector" in verdict.message


def test_a_leaving_node_is_no_place():
    """And is counted apart."""
    leaving = Hold(Reason.NODE_LEAVING, "it leaves", "node-a")
    verdict = judged({SMALL: 1}, fleet_node(holds=(leaving,)))
    assert verdict.reason is Reason.NO_ELIGIBLE_NODE
    assert "1 more are leaving" in verdict.message


def test_on_a_node_of_which_nothing_is_known_nothing_is_impossible():
    """Its labels may come back with the end of a change."""
    unknown = fleet_node(model=None, gpus=())
    assert judged({LARGE: 1}, unknown).eligible == {"node-a"}


def test_nodes_of_no_pool_serve_what_they_offer_and_no_more():
    """They are never cut."""
    other = fleet_node("x", pool="")
    assert judged({SMALL: 1}, fleet_node("a"), outsiders=[other]).eligible == {"a", "x"}
    assert judged({LARGE: 1}, fleet_node("a"), outsiders=[other]).eligible == {"a"}
    assert (
        judged(
            {SMALL: 9},
            fleet_node("a", key="h100-80gb", layout=[{"1g.10gb": 7}]),
            outsiders=[other],
        ).reason
        is Reason.BUNDLE_TOO_LARGE
    )


def test_shares_are_served_where_they_are_shared():
    """Nothing is cut for them."""
    verdict = judged({"nvidia.com/mig-1g.5gb.shared": 1}, fleet_node())
    assert verdict.reason is Reason.IMPOSSIBLE_PROFILE
    assert "shares its devices" in verdict.message


def test_what_a_rollout_is_about_to_offer_is_possible():
    """Also where the pool would not allow it any more."""
    coming = fleet_node(target_supply=Counts({LARGE: 1}))
    assert judged({LARGE: 1}, coming, profiles=("1g.5gb",)).eligible == {"node-a"}


def test_under_single_no_profile_has_a_name_of_its_own():
    """All instances are plain GPUs there."""
    single = fleet_node(strategy=Strategy.SINGLE)
    assert judged({SMALL: 1}, single).reason is Reason.IMPOSSIBLE_PROFILE
    assert judged({WHOLE: 1}, fleet_node(node=node(strategy=Strategy.SINGLE))).eligible
