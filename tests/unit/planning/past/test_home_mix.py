"""The home mix: larger instances count as room for smaller requests."""

from itertools import combinations_with_replacement
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.profile import load_models
from autoscaler.planning.past.exact_mix import exact_mix
from autoscaler.planning.past.home_mix import home_mix
from autoscaler.planning.past.mix_replay import Order, requests_of, sizes_of, total_wait_s
from autoscaler.planning.past.mix_search import MixSearch
from autoscaler.planning.past.queue_model import Job

MODELS = {model.key: model for model in load_models()}
A100 = MODELS["a100-40gb"]
A30 = MODELS["a30-24gb"]
DAY_S = 86400.0
ONE, TWO, WHOLE = "1g.6gb", "2g.12gb", "4g.24gb"


def waited_s(past, mix, model=A30, order=Order.OWNER_FIRST, enough_s=inf):
    sizes = sizes_of(model, list(past))
    instances = [sum(own[name] for own in mix) for name in sizes.names]
    requests = requests_of(past, sizes)
    return total_wait_s(requests, instances, sizes, order=order, enough_s=enough_s)


def test_a_larger_instance_serves_a_smaller_request():
    """One 2g for a 1g and a 2g that come together: the later of the two waits."""
    past = {ONE: [Job(0.0, 10.0)], TWO: [Job(1.0, 10.0)]}
    assert waited_s(past, [{ONE: 0, TWO: 1}]) == 9.0


def test_a_smaller_instance_never_serves_a_larger_request():
    """Nobody can ever serve the whole GPU's request."""
    past = {ONE: [Job(0.0, 10.0)], WHOLE: [Job(0.0, 10.0)]}
    assert waited_s(past, [{ONE: 4, WHOLE: 0}]) == inf


def test_a_replay_ends_when_it_has_seen_enough():
    """What is no better than a known mix need not be known to the end."""
    past = {ONE: [Job(0.0, 10.0)] * 5}
    assert waited_s(past, [{ONE: 1}]) == 100.0
    assert waited_s(past, [{ONE: 1}], enough_s=25.0) == 25.0


def test_variants_serve_only_themselves():
    """Whether media engines are wanted cannot be seen in the number of slices."""
    sizes = sizes_of(A100, ["1g.5gb", "1g.5gb+me", "2g.10gb"])
    assert sizes.names == ("1g.5gb", "1g.5gb+me", "2g.10gb")
    serving = {
        sizes.names[k]: [sizes.names[s] for s in by] for k, by in enumerate(sizes.serving)
    }
    assert serving["1g.5gb+me"] == ["1g.5gb+me"]
    assert serving["1g.5gb"] == ["1g.5gb", "1g.5gb+me", "2g.10gb"]


def test_bursts_of_different_sizes_share_one_room():
    """1g in the morning, a whole GPU at night: a GPU left whole serves both in turn.

    Where each instance serves its own profile alone, one of the two would wait for ever.
    """
    past = {ONE: [Job(0.0, 600.0)], WHOLE: [Job(40_000.0, 600.0)]}
    assert home_mix(A30, past, 1, DAY_S).gpus == (Counts({WHOLE: 1}),)


def test_without_a_past_gpus_stay_whole():
    """Nothing is known: the mix that forecloses nothing."""
    assert home_mix(A100, {}, 2, DAY_S).instances == Counts({"7g.40gb": 2})
    assert home_mix(A100, {"1g.5gb": []}, 2, DAY_S).wait_s == 0.0


jobs = st.lists(st.builds(Job, st.floats(0, 1000), st.floats(1, 500)), max_size=6)
pasts = st.fixed_dictionaries({ONE: jobs, TWO: jobs, WHOLE: jobs})


@settings(max_examples=25)
@given(pasts)
def test_the_mix_is_never_worse_than_the_exact_one_or_whole_gpus(past):
    """It starts from both and only goes where less is waited."""
    if not any(past.values()):
        return
    asked = {name: own for name, own in past.items() if own}
    found = home_mix(A30, asked, 2, 2000.0)
    assert found.wait_s == pytest.approx(waited_s(asked, found.gpus))
    assert found.wait_s <= waited_s(asked, exact_mix(A30, asked, 2, 2000.0).gpus) + 1e-6


@settings(max_examples=25)
@given(pasts, st.sampled_from(list(Order)))
def test_the_search_finds_the_best_mix_of_two_gpus(past, order):
    """From enough starts, on fleets where all mixes can be tried."""
    if not any(past.values()):
        return
    asked = {name: own for name, own in past.items() if own}
    sizes = sizes_of(A30, list(asked))
    mixes = list(combinations_with_replacement(maximal_multisets(A30, sizes.names), 2))
    search = MixSearch(A30, requests_of(asked, sizes), sizes, 2)
    best = min(waited_s(asked, mix, order=order) for mix in mixes)
    assert search.best(mixes, [order]).wait_s == pytest.approx(best)
