"""The search, with runs whose outcome is known beforehand."""

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.advice.advice import Kind, advise
from autoscaler.simulation.study.advice.candidates import BASE, Candidate, first_candidates
from autoscaler.simulation.study.advice.rounds import Budget, draws_for, search
from tests.advices import DEFAULT, bench_of, case_of


def found_by(takes_s, days=240):
    bench, oracle = bench_of(takes_s)
    return search(bench, case_of(), first_candidates(DEFAULT, 8), Budget(days)), oracle


def test_what_is_better_on_all_days_is_found():
    """One value of one field makes all the difference."""
    found, _ = found_by(lambda policy, _: 700.0 if policy.planning.hedge == 0.5 else 950.0)
    assert dict(found.chosen.changes) == {"planning.hedge": "0.5"}
    assert found.ratio.value == pytest.approx(0.7)
    rounds = [[own for own in found.tried if own.number == number] for number in (1, 2, 3)]
    assert len(rounds[0]) > len(rounds[1]) > len(rounds[2])
    assert rounds[0][0].days < rounds[1][0].days < rounds[2][0].days
    assert [own.candidate for own in rounds[2] if own.goes_on] == [found.chosen]


def test_what_is_good_alone_is_tried_together():
    """Each of two fields saves a tenth."""

    def takes_s(policy, _):
        rules = policy.planning
        return 1000.0 - 100 * (rules.hedge == 0.5) - 100 * (rules.min_gain == 3)

    found, _ = found_by(takes_s)
    assert found.chosen.name == "hedge 0.5, minGain 3"
    assert not found.is_tie


def test_the_policy_as_it_is_wins_a_tie():
    """No field matters, so none is changed."""
    found, _ = found_by(lambda policy, _: 800.0)
    assert found.chosen == Candidate()
    assert found.is_tie


def test_a_gain_that_days_do_not_agree_on_is_a_tie():
    """Better on even days and worse on odd ones: the policy stays as it is."""

    def takes_s(policy, run_s):
        return 800.0 + (0 if policy.planning.hedge == 0.2 else 300 * (-1) ** run_s)

    found, _ = found_by(takes_s)
    assert found.chosen.name == BASE
    assert found.is_tie


def test_a_hundredth_is_not_worth_a_change():
    """However sure it is."""
    found, _ = found_by(lambda policy, _: 800.0 - 5 * (policy.planning.hedge == 0.5))
    assert found.chosen == Candidate()


def test_all_candidates_of_a_round_see_the_same_days():
    """And no round those of another."""
    _, oracle = found_by(lambda policy, _: 800.0)
    names = [case.name for case, _ in oracle.asked]
    draws = dict.fromkeys(names)
    assert [names.count(name) for name in draws] == sorted(
        (names.count(name) for name in draws), reverse=True
    )


def test_a_budget_bounds_what_is_simulated():
    """A small one leaves out the candidates that tell least."""
    few, _ = found_by(lambda policy, _: 800.0, days=30)
    many, _ = found_by(lambda policy, _: 800.0, days=240)
    for found, budget in ((few, 30), (many, 240)):
        assert sum(own.days for own in found.tried) <= budget
    assert len(few.tried) < len(many.tried)
    with pytest.raises(ConfigError, match="a budget of 26 simulated days is too small"):
        Budget(26)


def test_draws_are_no_longer_than_the_days_there_are():
    """Twenty-five days of ten are two draws of all of them."""
    assert [len(draw.sources) for draw in draws_for(case_of(), 25, 1)] == [10, 10]
    assert [len(draw.sources) for draw in draws_for(case_of(), 3, 1)] == [3]


def test_what_is_chosen_is_proven_on_days_that_chose_nothing():
    """The search sees the first six days of ten only, the proof the last four only."""
    bench, oracle = bench_of(lambda policy, _: 700.0 if policy.planning.hedge == 0.5 else 900.0)
    advice = advise(bench, case_of(), Budget(240))
    assert (advice.kind, advice.choosing, advice.proving) == (Kind.USE, 6, 4)
    assert advice.chosen.ratio.value == pytest.approx(0.7)
    # Three policies and two draws; everything before was the search.
    search_days = {job.run_s for case, _ in oracle.asked[:-6] for job in case.present.jobs}
    proof_days = {job.run_s for case, _ in oracle.asked[-6:] for job in case.present.jobs}
    assert search_days <= {1, 2, 3, 4, 5, 6}
    assert proof_days <= {7, 8, 9, 10}
    names = [own.trial.candidate.name for own in advice.proofs]
    assert names == ["a fixed mix", BASE, "hedge 0.5"]
    assert advice.simulated == sum(own.days for own in advice.search.tried) + 2 * 2 * 4


def test_what_later_days_do_not_confirm_is_not_advised():
    """A field that helped on the days that chose it, and harms on those after them."""

    def takes_s(policy, run_s):
        if policy.planning.hedge != 0.5:
            return 1000.0
        return 600.0 if run_s <= 6 else 1200.0

    bench, _ = bench_of(takes_s)
    advice = advise(bench, case_of(), Budget(240))
    assert advice.search.chosen.name == "hedge 0.5"
    assert advice.search.ratio.value == pytest.approx(0.6)
    assert advice.chosen.ratio.value == pytest.approx(1.2)
    assert advice.kind is Kind.FIXED_MIX
    assert sum(counts.total() for counts in advice.mix) >= 8
