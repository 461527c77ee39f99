"""Whatever the truth is, what counts as held is never less than what is held."""

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.seating import Table, seat
from autoscaler.domain.fleet.sightings import Seat, Sightings
from autoscaler.domain.mig.resource import resource_name
from tests.builders import gpu, model, pod

MENU = (
    {"1g.5gb": 7},
    {"3g.20gb": 2},
    {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1},
    {"2g.10gb": 3, "1g.5gb": 1},
    {"7g.40gb": 1},
    {},
)


@st.composite
def truths(draw):
    """Draw a node, pods on its instances, and which of them metrics show."""
    layout = draw(st.lists(st.sampled_from(MENU), min_size=1, max_size=4))
    places = [
        (i, name) for i, c in enumerate(layout) for name, n in c.items() for _ in range(n)
    ]
    order = draw(st.permutations(places))
    taken = order[: draw(st.integers(0, len(order)))]
    pods, seats, held = [], [], [{} for _ in layout]
    while taken:
        size = draw(st.integers(1, min(2, len(taken))))
        mine, taken = taken[:size], taken[size:]
        request: dict[str, int] = {}
        for index, name in mine:
            request[resource_name(name)] = request.get(resource_name(name), 0) + 1
            held[index][name] = held[index].get(name, 0) + 1
        own = pod(f"p{len(pods)}", request)
        pods.append(own)
        shown = draw(st.sampled_from(["all", "none", "some"]))
        visible = mine if shown == "all" else mine[:1] if shown == "some" else []
        seats += [Seat(own.ref, index, name) for index, name in visible]
    return layout, pods, tuple(seats), [Counts(h) for h in held]


@given(truths())
def test_held_covers_what_is_really_held(truth):
    """A GPU that counts as idle really is idle."""
    layout, pods, seats, held = truth
    table = Table(model(), tuple(gpu(i, c) for i, c in enumerate(layout)))
    for found, real in zip(seat(table, pods, Sightings(seats)), held, strict=True):
        assert found.held.covers(real)
        assert found.counts.covers(found.held)
        if found.proven:
            assert found.held == real


@given(truths())
def test_the_order_of_pods_and_sightings_does_not_matter(truth):
    """The same facts give the same view."""
    layout, pods, seats, _ = truth
    table = Table(model(), tuple(gpu(i, c) for i, c in enumerate(layout)))
    forth = seat(table, pods, Sightings(seats))
    back = seat(table, pods[::-1], Sightings(seats[::-1]))
    assert forth == back
