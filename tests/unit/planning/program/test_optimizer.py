"""Settling mix problems: answers in hand, stops and failures."""

import numpy as np
import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.plan.plan import StoppedBy
from autoscaler.planning.program.mix import Bonus, GpuKind, Mix, NodeKind, Option, Rule, Want
from autoscaler.planning.program.optimizer import settle, steadied, with_decisions
from autoscaler.planning.solving.answer import Answer, SolverLimits, Status
from autoscaler.planning.solving.solver import solve

HERE = frozenset({0})
LARGE = Option((("large", 1), ("small", -7)), cost=10.0)


def fleet(number: int = 1, **changes) -> tuple[NodeKind, ...]:
    """Return so many nodes alike, each with one GPU of seven small instances."""
    return (NodeKind(0, number, Counts({"small": 7}), (GpuKind(1, (LARGE,)),), **changes),)


def want(name: str, number: int, value: float = 100.0, **changes) -> Want:
    """Return requests for one instance each."""
    return Want(Counts({name: 1}), number, value, HERE, **changes)


def test_nothing_changes_where_all_are_served():
    """Demand that free instances serve needs no branching."""
    settled = settle(Mix(fleet(), (want("small", 5),)))
    assert settled.stopped_by is StoppedBy.NOTHING_TO_DO
    assert settled.choice.taken == {}
    assert settled.choice.objective == settled.bound == 500.0


def test_a_change_that_gains_is_taken():
    """One large request is worth more than the price of a change."""
    settled = settle(Mix(fleet(2), (want("small", 7), want("large", 2))))
    assert settled.choice.taken == {(0, 0, 0): 1}
    assert settled.choice.served == (7, 1)
    assert settled.choice.objective == 790.0
    assert settled.stopped_by is StoppedBy.OPTIMAL


def test_a_change_that_costs_more_than_it_gains_is_not():
    """Closing the node is part of the price."""
    settled = settle(Mix(fleet(closing_cost=91.0), (want("large", 1),)))
    assert settled.choice.taken == {}
    assert settled.bound == 0.0


def test_one_closing_pays_for_all_gpus_of_a_node():
    """Two GPUs of one node are changed at one closing, not one of each node."""
    kind = NodeKind(0, 2, Counts({"small": 14}), (GpuKind(2, (LARGE,)),), closing_cost=50.0)
    settled = settle(Mix((kind,), (want("large", 2),)))
    assert settled.choice.closed == {0: 1}
    assert settled.choice.objective == 200.0 - 20.0 - 50.0


def test_a_gang_is_served_whole_or_not_at_all():
    """Three of four instances are of no use to a gang of four."""
    gang = want("large", 4, gang="team", gang_min=4)
    assert settle(Mix(fleet(3), (gang,))).choice.served == (0,)
    assert settle(Mix(fleet(4), (gang,))).choice.served == (4,)


def test_a_bundle_needs_one_node():
    """Two nodes with three small ones each do not serve a request for four."""
    hosts = tuple(NodeKind(0, 1, Counts({"small": 3}), is_host=True) for _ in range(2))
    bundle = Want(Counts({"small": 3}), 3, 100.0, HERE)
    large = Want(Counts({"small": 4}), 1, 1000.0, HERE)
    assert settle(Mix(hosts, (bundle, large))).choice.served == (2, 0)


def test_a_limit_for_each_node_is_kept():
    """Requests that keep apart take one instance of a node each."""
    host = (NodeKind(0, 1, Counts({"small": 7}), is_host=True),)
    assert settle(Mix(host, (want("small", 3, per_node=1),))).choice.served == (1,)


def test_a_bonus_is_earned_once_an_instance():
    """The first instances are worth more, the others as usual."""
    bonus = Bonus("small", HERE, 2, 5.0)
    settled = settle(Mix(fleet(), (want("small", 4),), bonuses=(bonus,)))
    assert settled.choice.bonuses == (2,)
    assert settled.choice.objective == 410.0


def test_a_rule_outweighs_demand():
    """A floor of a large instance is kept though small ones are asked for."""
    rule = Rule("large", HERE, present=0, least=1, price=10_000.0)
    settled = settle(Mix(fleet(), (want("small", 7),), rules=(rule,)))
    assert settled.choice.taken == {(0, 0, 0): 1}
    assert settled.choice.short == (0,)


def test_a_rule_that_cannot_be_kept_leaves_the_rest_of_the_program_alone():
    """Its price is not in the objective, and it is named by what is short."""
    rule = Rule("large", HERE, present=0, least=5, price=10_000.0)
    settled = settle(Mix(fleet(2), (want("small", 7),), rules=(rule,)))
    assert settled.choice.short == (3,)
    assert settled.choice.objective == settled.bound == -20.0


def test_a_ceiling_makes_room():
    """Too many of a name are cut into something else, if that is possible."""
    rule = Rule("small", HERE, present=14, most=7, price=10_000.0)
    settled = settle(Mix(fleet(2), (), rules=(rule,)))
    assert settled.choice.taken == {(0, 0, 0): 1}


def hard() -> Mix:
    """Return a problem whose relaxation is not whole: bundles of two over odd nodes."""
    kinds = tuple(
        NodeKind(0, 1, Counts({"small": 3}), (GpuKind(1, (LARGE,)),), is_host=True)
        for _ in range(3)
    )
    return Mix(kinds, (Want(Counts({"small": 2}), 9, 100.0, HERE), want("large", 1, 5.0)))


def test_a_guard_that_gives_up_leaves_the_rounded_answer():
    """The plan in hand is returned, with the gap that is known by then."""
    settled = settle(hard(), guard=lambda *_: None)
    assert settled.stopped_by is StoppedBy.WALL_CLOCK
    assert settled.choice.served[0] == 3
    assert settled.gap > 0.1


def test_the_rounded_answer_has_the_changes_that_pay_anyway():
    """What is whole in the relaxed program is taken without any branching."""
    spare = NodeKind(0, 4, Counts({"small": 7}), (GpuKind(1, (LARGE,)),), closing_cost=1.0)
    mix = Mix((*hard().kinds, spare), (*hard().wants, want("large", 2, 900.0)))
    settled = settle(mix, guard=lambda *_: None)
    assert settled.stopped_by is StoppedBy.WALL_CLOCK
    assert settled.choice.served[2] == 2
    assert settled.choice == settled.rounded
    assert settled.choice.objective >= settled.unchanged.objective + 1700
    assert 0 < settled.gap == settled.rounded_gap < 1


def test_a_guard_runs_the_branching():
    """It is handed the solver, the program, the gap and the number of nodes."""
    asked = []

    def guard(solver, program, gap, nodes):
        asked.append((program.is_integer.any(), gap, nodes))
        return solver(program, gap, nodes)

    settled = settle(hard(), SolverLimits(small_gap=1e-7, max_nodes=77), guard)
    assert asked == [(True, 1e-7, 77)]
    assert settled.stopped_by is StoppedBy.OPTIMAL


def test_trouble_while_branching_keeps_the_answer_in_hand():
    """A solver that fails on whole numbers is named, and nothing is lost."""

    def failing(program, gap, nodes):
        broken = program.is_integer.any() and nodes == SolverLimits().max_nodes
        return Answer(Status.FAILURE) if broken else solve(program, gap, nodes)

    settled = settle(hard(), solver=failing)
    assert settled.stopped_by is StoppedBy.FAILURE
    assert settled.choice.served[0] == 3


def test_a_solver_that_always_fails_settles_nothing():
    """Without an answer for the fleet as it is, nothing is known."""
    assert settle(hard(), solver=lambda *_: Answer(Status.FAILURE)) is None


def failing_from(first: int, last: int):
    """Return a solver that fails at its calls from one to another, counted from 0."""
    calls = iter(range(1000))

    def run(program, gap, nodes):
        if first <= next(calls) <= last:
            return Answer(Status.FAILURE)
        return solve(program, gap, nodes)

    return run


@pytest.mark.parametrize("first", range(8))
@pytest.mark.parametrize("length", [1, 1000])
def test_trouble_at_any_moment_leaves_what_was_in_hand(first, length):
    """Nothing is raised, no answer is worse than doing nothing, and the bound is true."""
    best = settle(hard()).choice.objective
    settled = settle(hard(), solver=failing_from(first, first + length - 1))
    if settled is None:
        assert first <= 2
        return
    assert settled.unchanged.objective <= settled.choice.objective <= best
    assert settled.bound >= best
    if settled.choice.objective < best and settled.stopped_by is not StoppedBy.GAP:
        assert settled.stopped_by is StoppedBy.FAILURE
    assert settled.choice.objective == best or settled.gap > 0


def test_a_relaxation_that_fails_keeps_the_fleet_as_it_is():
    """What doing nothing is worth is known, and nothing is claimed about more."""
    settled = settle(hard(), solver=failing_from(0, 0))
    assert settled.stopped_by is StoppedBy.FAILURE
    assert settled.choice == settled.unchanged
    assert settled.gap == float("inf")


def test_ties_serve_who_is_served_anyway():
    """Where one of two equal groups must give way, it is the one that was not served."""
    waits = (want("small", 7), want("small", 7))
    settled = steadied(settle(Mix(fleet(), waits)))
    assert sum(settled.choice.served) == 7
    assert settled.choice.served == settled.unchanged.served


def test_other_decisions_are_taken_only_if_no_worse():
    """A change that is dropped must not be missed."""
    settled = settle(Mix(fleet(2), (want("large", 1),)))
    nothing = np.zeros(len(settled.formulation.decisions))
    assert with_decisions(settled, nothing) is None
    same = settled.formulation.decisions_of(settled.choice)
    assert with_decisions(settled, same).choice == settled.choice


def test_a_host_is_one_node():
    """What several nodes have together says nothing about any of them."""
    with pytest.raises(ValueError, match="one node"):
        NodeKind(0, 2, Counts(), is_host=True)
