"""Candidates: what is changed of a policy, and that it stays one."""

from autoscaler.adapters.default_policy import default_policy_for
from autoscaler.adapters.policy_file import load_policy
from autoscaler.domain.policy.policy import Mode
from autoscaler.simulation.study.advice.candidates import (
    BASE,
    FIXED,
    Candidate,
    candidate,
    combined,
    first_candidates,
)

DEFAULT = default_policy_for(["NVIDIA-A100-SXM4-40GB"])


def test_a_candidate_changes_its_keys_only():
    """Everything else stays, the mode too."""
    own = candidate("x", {"planning.minGain": 3.0, "disruption.budgets.nodes": 2})
    policy = own.policy(DEFAULT)
    assert (policy.planning.min_gain, policy.disruption.budgets.nodes) == (3.0, 2)
    assert policy.disruption.budgets.per_hour == DEFAULT.disruption.budgets.per_hour
    assert policy.mode is DEFAULT.mode is Mode.DRY_RUN


def test_no_change_is_the_policy_itself():
    """Its file says the same, whatever it sets."""
    for path in ("policies/research.yaml", "policies/presets.yaml"):
        policy = load_policy(path).policy
        assert Candidate().policy(policy) == policy


def test_all_first_candidates_are_policies_and_differ():
    """The policy as it is leads; what it says already is not tried again."""
    for nodes in (1, 7, 40):
        found = first_candidates(DEFAULT, nodes)
        assert found[0].name == BASE
        policies = [own.policy(DEFAULT).model_dump_json() for own in found]
        assert len(set(policies)) == len(policies) > 15


def test_what_the_policy_says_already_is_no_candidate():
    """A cooldown of 2h is tried on a policy of 30m, and not on one of 2h."""
    slow = candidate("x", {"disruption.cooldown": "2h"}).policy(DEFAULT)
    names = [own.name for own in first_candidates(slow, 7)]
    assert "cooldown 2h" not in names
    assert "cooldown 2h" in [own.name for own in first_candidates(DEFAULT, 7)]


def test_candidates_that_change_other_keys_go_together():
    """Names and keys are in order, so that the same pair is the same candidate."""
    gain = candidate("minGain 3", {"planning.minGain": 3.0})
    hedge = candidate("hedge 0.5", {"planning.hedge": 0.5})
    both = gain.plus(hedge)
    assert both == hedge.plus(gain)
    assert both.name == "hedge 0.5, minGain 3"
    assert gain.plus(candidate("minGain 1", {"planning.minGain": 1.0})) is None
    assert Candidate().plus(gain) == gain


def test_pairs_are_new_and_of_the_best_first():
    """The policy as it is adds nothing to a pair."""
    own = [
        candidate(name, {f"planning.{key}": value})
        for name, key, value in (
            ("a", "minGain", 3.0),
            ("b", "hedge", 0.5),
            ("c", "homeBonus", 0.3),
        )
    ]
    pairs = combined([own[0], Candidate(), *own[1:]])
    assert [pair.name for pair in pairs] == ["a, b", "a, c", "b, c"]


def test_the_fixed_mix_is_not_the_policy_as_it_is():
    """One re-cuts nothing, the other changes nothing of the policy."""
    assert Candidate() != FIXED
