"""The static mix that would have been best, and the queue model behind it."""

from itertools import combinations_with_replacement

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.profile import load_models
from autoscaler.planning.past.exact_mix import exact_mix
from autoscaler.planning.past.queue_model import Job, total_wait_s, waits_by_servers

A100 = load_models()[0]
A30 = next(m for m in load_models() if m.key == "a30-24gb")
DAY_S = 86400.0


def test_one_server_makes_a_queue_wait():
    """Three jobs of ten seconds at once: nobody, ten and twenty seconds."""
    jobs = [Job(0.0, 10.0)] * 3
    assert total_wait_s(jobs, 1, 100.0) == 30.0
    assert total_wait_s(jobs, 2, 100.0) == 10.0
    assert total_wait_s(jobs, 3, 100.0) == 0.0


def test_without_an_instance_all_wait_to_the_end():
    """No server at all is the worst, not the best, of all numbers."""
    assert total_wait_s([Job(10.0, 5.0), Job(20.0, 5.0)], 0, 100.0) == 90.0 + 80.0


def test_waits_end_where_nothing_waits():
    """More servers than jobs at once are of no interest."""
    assert waits_by_servers([Job(0.0, 10.0), Job(5.0, 10.0)], 9, 100.0) == (195.0, 5.0, 0.0)


def test_small_jobs_alone_get_small_instances():
    """Seven small jobs at once on one GPU: seven instances."""
    mix = exact_mix(A100, {"1g.5gb": [Job(0.0, 60.0)] * 7}, 1, DAY_S)
    assert mix.gpus == (Counts({"1g.5gb": 7}),)
    assert mix.wait_s == 0.0


def test_without_a_past_gpus_stay_whole():
    """Nothing is known: the mix that forecloses nothing."""
    mix = exact_mix(A100, {}, 2, DAY_S)
    assert mix.instances == Counts({"7g.40gb": 2})


def test_a_mixed_past_gets_a_mixed_gpu():
    """Two large and one small job at once: both large ones and room for the small."""
    past = {"3g.20gb": [Job(0.0, 3600.0)], "1g.5gb": [Job(0.0, 3600.0)] * 4}
    mix = exact_mix(A100, past, 1, DAY_S)
    assert mix.gpus == (Counts({"1g.5gb": 4, "3g.20gb": 1}),)


jobs = st.lists(st.builds(Job, st.floats(0, 1000), st.floats(1, 500)), max_size=6)


@settings(max_examples=25)
@given(st.fixed_dictionaries({"1g.6gb": jobs, "2g.12gb": jobs, "4g.24gb": jobs}))
def test_the_mix_is_the_best_of_all(past):
    """Trying every mix of two GPUs finds nothing better."""

    def wait_s(mix: tuple[Counts, ...]) -> float:
        return sum(
            total_wait_s(sorted(past[name]), sum(m[name] for m in mix), 2000.0) for name in past
        )

    patterns = maximal_multisets(A30, list(past))
    best = min(wait_s(mix) for mix in combinations_with_replacement(patterns, 2))
    found = exact_mix(A30, past, 2, 2000.0)
    assert abs(found.wait_s - best) <= 1e-6 * max(1.0, best)
    assert abs(wait_s(found.gpus) - best) <= 1e-6 * max(1.0, best)
