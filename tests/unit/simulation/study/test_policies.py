"""Policies by name, and policy files in place of the usual one."""

from pathlib import Path

import pytest

from autoscaler.adapters.policy_file import load_policy
from autoscaler.agent.wiring import new_agent
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.policy.policy import Driver, Mode
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.policies import Conditions, for_study, require, run_policy
from autoscaler.simulation.study.splits import Case, Work
from autoscaler.simulation.study.unthrottled import unthrottled
from tests.studies import MODEL, THREE, WHOLE, jobs

DEFAULT = load_policy(Path("policies/default.yaml")).policy


def by_key(key):
    return next(m for m in load_models() if m.key == key)


def test_a_file_for_many_products_acts_through_the_pool_of_the_model():
    """On all nodes, and whatever its mode is."""
    found = for_study(DEFAULT, by_key("a30-24gb"), Driver.AGENT)
    assert [pool.name for pool in found.pools] == ["a30"]
    assert found.pools[0].node_selector == {"nvidia.com/gpu.present": "true"}
    assert (DEFAULT.mode, found.mode) == (Mode.DRY_RUN, Mode.AUTO)
    assert found.pools[0].driver is Driver.AGENT


def test_other_labels_of_a_pool_are_taken_to_be_there():
    """Nodes of a study have none of a user's own."""
    own = load_policy(Path("policies/ci.yaml")).policy
    found = for_study(own, by_key("a30-24gb"), Driver.MIG_MANAGER)
    assert found.pools[0].node_selector == {"nvidia.com/gpu.present": "true"}


def test_a_file_without_a_pool_for_the_model_is_refused():
    """It would change nothing, and look like a static mix."""
    own = load_policy(Path("policies/training.yaml")).policy
    with pytest.raises(ConfigError, match="no pool of policy training is for a30-24gb"):
        for_study(own, by_key("a30-24gb"), Driver.AGENT)


def test_policies_with_files_of_their_own_are_compared_under_their_names():
    """The same file does the same under another name; one with a long cooldown does less."""
    rules = unthrottled().disruption.model_copy(update={"cooldown_s": 7200.0})
    slow = unthrottled().model_copy(update={"disruption": rules})
    named = (("same", unthrottled()), ("slow", slow))
    conditions = Conditions(unthrottled(), agent=new_agent, named=named)
    past = Work(jobs((0, 300, WHOLE)), 2 * DAY_S)
    own = jobs((0, 600, THREE), (0, 600, THREE), (1500, 600, WHOLE))
    case = Case("tiny", MODEL, 1, 0.5, past, Work(own, 3600.0))
    usual, same, slower = (
        run_policy(name, case, conditions) for name in ("autoscaler", "same", "slow")
    )
    assert (same.policy, same.jobs) == ("same", usual.jobs)
    # The whole GPU is asked for within the cooldown of the change for the halves.
    assert slower.jobs[2].wait_s > usual.jobs[2].wait_s + 3600


def test_a_name_is_that_of_one_policy():
    """Neither one of ours nor one that is there already; unknown ones are refused."""
    for names in (("static-past",), ("own", "own")):
        with pytest.raises(ConfigError, match="is the name of another policy"):
            Conditions(unthrottled(), named=tuple((name, unthrottled()) for name in names))
    conditions = Conditions(unthrottled(), named=(("own", unthrottled()),))
    require(["own", "autoscaler"], conditions)
    with pytest.raises(ConfigError, match=r"other is no policy; known are autoscaler.*own"):
        require(["other"], conditions)


def test_another_file_under_a_name_makes_other_results():
    """Kept results of the one are not taken for those of the other."""
    prints = {
        Conditions(unthrottled(), named=own).fingerprint()
        for own in ((), (("own", unthrottled()),), (("own", DEFAULT),))
    }
    assert len(prints) == 3
