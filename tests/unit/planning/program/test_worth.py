"""What instances are worth."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.resource import GPU, resource_name
from autoscaler.domain.policy.policy import Driver, PlanningRules
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.program.worth import (
    Worth,
    hedge_steps,
    hedges_by_pool,
    slices_by_resource,
)
from tests.builders import model
from tests.fleets import policy, pool

SMALL, LARGE = resource_name("1g.5gb"), resource_name("7g.40gb")


def worth(**changes) -> Worth:
    """Return prices over 1,000 seconds for an A100."""
    return Worth(1000.0, slices_by_resource([model()]), **changes)


def test_a_request_is_worth_its_slices_over_the_horizon():
    """Two small and one large: nine slices, times the weight."""
    bundle = Counts({SMALL: 2, LARGE: 1})
    assert worth().of_bundle(bundle) == 9000.0
    assert worth().of_bundle(bundle, priority=2.5) == 22500.0


def test_a_whole_gpu_counts_all_its_slices():
    """Shares of it count as much: how many there are of one is not known."""
    assert worth().slices_of(GPU) == 7
    assert worth().slices_of(f"{SMALL}.shared") == 1
    assert worth().slices_of("nvidia.com/mig-9g.90gb") == 1


def test_requests_that_run_long_count_less():
    """Four times the usual service time halves the weight."""
    history = ValueHistory(service_s={LARGE: 12000.0})
    assert worth(history=history).weight_of(LARGE) == 3.5
    assert worth(history=history).weight_of(SMALL) == 1.0


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_service_time_that_makes_no_sense_is_ignored(seconds):
    """A hole in the history is no weight of infinity."""
    assert worth(history=ValueHistory(service_s={LARGE: seconds})).weight_of(LARGE) == 7.0


def test_the_hedge_falls_with_the_chance():
    """Instances that are wanted now are left out, equal chances go together."""
    assert hedge_steps((1.0, 0.5, 0.5, 0.2, 0.0), wanted=1) == [(2, 0.5), (1, 0.2)]


def test_a_larger_number_is_never_likelier():
    """A jump in the history is flattened, and NaN ends it."""
    assert hedge_steps((0.3, 0.9), wanted=0) == [(2, 0.3)]
    assert hedge_steps((0.3, float("nan"), 0.2), wanted=0) == [(1, 0.3)]


def test_what_may_come_counts_more_where_a_gpu_in_use_cannot_be_changed():
    """MIG manager leaves a GPU as it is until it is idle; what people say goes for both."""
    pools = (pool("quick", driver=Driver.AGENT), pool("slow", driver=Driver.MIG_MANAGER))
    assert hedges_by_pool(policy(*pools)) == {"quick": 0.2, "slow": 1.0}
    told = policy(*pools, planning=PlanningRules(hedge=0.5))
    assert hedges_by_pool(told) == {"quick": 0.5, "slow": 0.5}
    own = worth(hedges={"slow": 1.0})
    assert own.of_hedge(LARGE, 0.5, "slow") == 3500.0
    assert own.of_hedge(LARGE, 0.5, "other") == 700.0
    assert own.of_queued(LARGE) == 1400.0
    assert worth(rules=PlanningRules(hedge=0.5)).of_queued(LARGE) == 3500.0


def test_a_rule_outweighs_the_heaviest_demand():
    """One slice short costs more than eight GPUs of the largest weight are worth."""
    heaviest = 10.0
    price = worth().of_rule(1, heaviest)
    assert price > 8 * worth().of_bundle(Counts({LARGE: 1}), heaviest)
