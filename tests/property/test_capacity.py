"""Properties of capacity: formula, program and what fits agree."""

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.layouts import fits
from autoscaler.domain.mig.profile import GpuModel, load_models
from autoscaler.planning.capacity import (
    fewest_by_program,
    fewest_gpus,
    has_closed_form,
    what_fits,
)

MODELS = st.sampled_from(load_models())


@st.composite
def demands(draw, variants=True, most=12):
    """Draw a model and a demand for it."""
    model: GpuModel = draw(MODELS)
    names = [p.name for p in model.profiles if variants or p.is_plain or p.more_memory]
    numbers = draw(st.lists(st.integers(0, most), min_size=len(names), max_size=len(names)))
    return model, Counts(dict(zip(names, numbers, strict=True)))


@given(demands(variants=False, most=60))
def test_formula_and_program_agree(asked):
    """The largest bound, rounded up, is the optimum of the integer program."""
    model, demand = asked
    assert has_closed_form(model, demand)
    assert fewest_gpus(model, demand).gpus == fewest_by_program(model, demand)


@given(demands())
def test_no_bound_exceeds_the_optimum(asked):
    """Each bound is one: it never asks for more GPUs than are enough."""
    model, demand = asked
    answer = fewest_gpus(model, demand)
    assert answer.gpus == fewest_by_program(model, demand)
    assert answer.gpus == max(answer.bounds.values(), default=0)
    assert not demand or answer.bounds[answer.binding] == answer.gpus


@given(demands(most=4))
@settings(max_examples=40)
def test_everything_fits_on_the_fewest_gpus_and_on_no_fewer(asked):
    """What fits confirms the fewest GPUs from both sides."""
    model, demand = asked
    gpus = fewest_gpus(model, demand).gpus
    assert what_fits(model, demand, gpus) == demand
    if gpus:
        part = what_fits(model, demand, gpus - 1)
        assert demand.covers(part)
        assert part != demand


@given(demands(most=2))
def test_one_gpu_is_enough_exactly_when_it_can_hold_all(asked):
    """Capacity and placement agree."""
    model, demand = asked
    assert (fewest_gpus(model, demand).gpus <= 1) == fits(model, demand)


@given(demands(most=6), st.integers(0, 6))
@settings(max_examples=40)
def test_more_gpus_never_serve_less(asked, gpus):
    """Served compute slices grow with the number of GPUs."""
    model, demand = asked
    served = [what_fits(model, demand, n) for n in (gpus, gpus + 1)]
    slices = [sum(model.profile(p).compute_slices * n for p, n in s.items()) for s in served]
    assert slices[0] <= slices[1]
