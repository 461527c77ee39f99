"""Advice as a document, a file and a table, from runs whose outcome is known."""

import pytest

from autoscaler.adapters.policy_file import parse_policy
from autoscaler.cli.advice_document import advice_document, advised_text, longer_waits
from autoscaler.cli.advice_view import draw_advice
from autoscaler.cli.output import console
from autoscaler.domain.policy.policy import Mode
from autoscaler.simulation.study.advice.advice import advise
from autoscaler.simulation.study.advice.rounds import Budget
from tests.advices import DEFAULT, FIXED_S, bench_of, case_of
from tests.studies import ONE


def advice_of(takes_s, fixed_s=FIXED_S):
    bench, _ = bench_of(takes_s, fixed_s)
    return advise(bench, case_of(), Budget(240))


def helped(policy, _):
    return 700.0 if policy.planning.hedge == 0.5 else 900.0


def harmed(policy, run_s):
    """Help on the days that choose, and double waiting on those that prove."""
    if policy.planning.hedge != 0.5:
        return 1000.0
    return 600.0 if run_s <= 6 else 3000.0


def test_what_is_proven_is_the_effect():
    """The ratio of the later days, with what is changed and what else was tried."""
    document = advice_document(advice_of(helped), case_of(), DEFAULT)
    assert document["advice"] == "use"
    assert document["changes"] == {"planning.hedge": 0.5}
    assert document["effect"]["ratio"] == 0.7
    assert "0.700 times that of the best fixed mix" in document["summary"]
    assert "4 later days that chose nothing" in document["summary"]
    assert document["proof"][0]["policy"] == "a fixed mix"
    assert document["proof"][0]["meanCompletion"] == 1000.0
    rounds = {own["round"]: own["days"] for own in document["tried"]}
    assert list(rounds) == [1, 2, 3]


def test_a_policy_that_runs_what_the_fixed_mix_never_runs_is_advised():
    """And of those that run everything the one under which jobs take the least."""
    document = advice_document(advice_of(helped, fixed_s=None), case_of(), DEFAULT)
    assert document["advice"] == "use"
    assert document["changes"] == {"planning.hedge": 0.5}
    assert (document["effect"]["ratio"], document["effect"]["verdict"]) == (None, "better")
    assert "some of which never ran under the best fixed mix" in document["summary"]


def test_where_neither_runs_all_nothing_is_advised():
    """There are no two means to compare."""
    document = advice_document(advice_of(lambda *_: None, fixed_s=None), case_of(), DEFAULT)
    assert (document["advice"], document["effect"]["verdict"]) == ("fixed-mix", "tie")
    assert "nothing can be compared" in document["summary"]


def test_the_file_is_the_policy_with_what_was_proven():
    """In the mode that it had, and with the effect in its first lines."""
    text = advised_text(advice_of(helped), case_of(), DEFAULT)
    policy = parse_policy(text, "advised.yaml").policy
    assert policy.planning.hedge == 0.5
    assert (policy.mode, policy.metadata.name) == (Mode.DRY_RUN, "default-advised")
    assert policy.pools == DEFAULT.pools
    assert text.startswith("# Advised by `mig-autoscaler simulate --recommend` for tiny.")


def test_what_is_not_confirmed_becomes_a_fixed_mix():
    """The file does nothing, and a comment names the mix; what failed is not in it."""
    advice = advice_of(harmed)
    document = advice_document(advice, case_of(), DEFAULT)
    assert document["advice"] == "fixed-mix"
    assert document["summary"].startswith("Keep a fixed mix")
    assert sum(own["gpus"] for own in document["fixedMix"]) == 8
    text = advised_text(advice, case_of(), DEFAULT)
    policy = parse_policy(text, "advised.yaml").policy
    assert policy.mode is Mode.OFF
    assert policy.planning.hedge == DEFAULT.planning.hedge
    assert "# The fixed mix, in GPUs and the instances of each:" in text


def test_a_tie_is_told():
    """No change is shown to help, so none is made."""
    document = advice_document(advice_of(lambda *_: 800.0), case_of(), DEFAULT)
    assert (document["changes"], document["chosen"]) == ({}, "as it is")
    assert "Other candidates are as good as far as one can tell" in document["summary"]


def test_who_waits_longer_is_told():
    """A quarter and ten minutes more, in one of twenty cases."""
    (told,) = longer_waits(advice_of(harmed))
    assert told.startswith(f"{ONE} waits longer")
    assert longer_waits(advice_of(helped)) == []


@pytest.mark.parametrize("wide", [False, True])
def test_the_table_shows_proof_and_rounds(wide, capsys):
    """All candidates only where they are asked for."""
    document = advice_document(advice_of(helped), case_of(), DEFAULT)
    draw_advice(console(), document, wide=wide)
    out = capsys.readouterr().out
    assert "ON 4 LATER DAYS THAT CHOSE NOTHING" in out
    assert "  planning.hedge: 0.5" in out
    assert ("cooldown 2h" in out) is wide
    assert ("; -o wide shows all of them." in out) is not wide
