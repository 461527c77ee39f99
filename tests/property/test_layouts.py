"""Properties of layouts and placements, on known models and on made-up tables."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import (
    is_valid,
    layouts,
    layouts_around,
    maximal_multisets,
    multisets,
    multisets_around,
    place,
    targets_around,
)
from autoscaler.domain.mig.placement import placements
from autoscaler.domain.mig.profile import load_models
from tests.builders import toy_model

MODELS = st.sampled_from(load_models())


@st.composite
def tables(draw):
    """Draw a made-up model with odd placements on six memory slices."""
    shapes = {}
    for name in draw(st.sampled_from(["a", "ab", "abc"])):
        size = draw(st.integers(1, 3))
        starts = draw(st.sets(st.integers(0, 6 - size), min_size=1, max_size=4))
        shapes[name] = (tuple(sorted(starts)), size)
    return toy_model(6, shapes)


@st.composite
def layouts_of_models(draw):
    """Draw a model and one of its layouts."""
    model = draw(MODELS)
    return model, draw(st.sampled_from(layouts(model)))


@given(layouts_of_models())
def test_every_layout_is_valid(drawn):
    """What the enumeration finds, the model allows."""
    model, geometry = drawn
    assert is_valid(model, geometry)


@given(tables())
def test_layouts_are_all_valid_sets_of_placements(table):
    """On a made-up table they are what trying all subsets finds, each once."""
    slots = [p.instance for p in placements(table)]
    found = set()
    for number in range(7):
        for chosen in combinations(slots, number):
            taken = [s for i in chosen for s in range(i.start, i.end)]
            if len(taken) == len(set(taken)) and is_valid(table, Geometry(chosen)):
                found.add(Geometry(chosen))
    assert set(layouts(table)) == found
    assert len(layouts(table)) == len(found)


@given(tables(), st.data())
def test_counts_have_a_placement_exactly_when_they_are_a_multiset(table, data):
    """On a made-up table placing and enumerating agree."""
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=len(table.profiles)))
    names = [p.name for p in table.profiles]
    counts = Counts(dict(zip(names, numbers, strict=False)))
    found = place(table, counts)
    assert (found is not None) == (counts in multisets(table))
    assert found is None or (found.counts == counts and is_valid(table, found))


@given(MODELS, st.data())
def test_known_models_place_exactly_their_multisets(model, data):
    """Near the limits of every known model placing and enumerating agree too."""
    base = data.draw(st.sampled_from(multisets(model)))
    extra = data.draw(st.sampled_from([None, *(p.name for p in model.profiles)]))
    counts = base if extra is None else base.plus({extra: 1})
    found = place(model, counts)
    assert (found is not None) == (counts in multisets(model))
    assert found is None or (found.counts == counts and is_valid(model, found))


@given(layouts_of_models())
@settings(max_examples=40)
def test_layouts_around_hold_what_is_pinned_and_are_full(drawn):
    """Every layout around contains the pinned one, and no layout contains it."""
    model, pinned = drawn
    around = layouts_around(model, pinned)
    assert around
    mine = set(pinned.instances)
    wider = [set(g.instances) for g in layouts(model) if mine <= set(g.instances)]
    full = {frozenset(w) for w in wider if not any(w < other for other in wider)}
    assert {frozenset(g.instances) for g in around} == full


@given(layouts_of_models())
@settings(max_examples=40)
def test_every_target_around_can_be_placed(drawn):
    """With the pinned instances where they are, and none is contained in another."""
    model, pinned = drawn
    targets = targets_around(model, pinned)
    for counts in targets:
        found = place(model, counts, pinned)
        assert found is not None
        assert set(pinned.instances) <= set(found.instances)
        assert not any(other != counts and other.covers(counts) for other in targets)


@given(MODELS, st.data())
def test_multisets_around_are_the_maximal_ones_that_hold_the_pinned(model, data):
    """When every profile may be added, they are maximal multisets of the model."""
    pinned = data.draw(st.sampled_from(multisets(model)))
    expected = [m for m in maximal_multisets(model) if m.covers(pinned)]
    assert list(multisets_around(model, pinned)) == expected


@given(MODELS, st.data())
def test_every_multiset_is_contained_in_a_maximal_one(model, data):
    """So a demand that fits at all fits on a maximal multiset."""
    counts = data.draw(st.sampled_from(multisets(model)))
    assert any(full.covers(counts) for full in maximal_multisets(model))
