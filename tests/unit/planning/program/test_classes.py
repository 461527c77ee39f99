"""Wants that are alike count together, and each gets its part."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.counts import Counts
from autoscaler.planning.program.classes import Dealer, classes_of
from autoscaler.planning.program.formulation import formulate
from autoscaler.planning.program.mix import GpuKind, Mix, NodeKind, Option, Want
from autoscaler.planning.program.optimizer import settle

HERE = frozenset({0})
CUT = Option((("large", 2), ("small", -7)), cost=10.0)


def want(name: str, number: int, value: float = 100.0, **changes) -> Want:
    """Return requests for one instance each."""
    return Want(Counts({name: 1}), number, value, HERE, **changes)


def gang(name: str, number: int, least: int | None = None, profile: str = "small") -> Want:
    """Return a gang of requests."""
    return want(profile, number, gang=name, gang_min=number if least is None else least)


def members_of(*wants: Want) -> list[tuple[int, ...]]:
    """Return the wants of each class."""
    return [own.members for own in classes_of(wants)]


def test_wants_that_differ_in_nothing_count_together():
    """However many requests each of them stands for."""
    wants = (want("small", 3), want("large", 1), want("small", 5), want("small", 1, 50.0))
    assert members_of(*wants) == [(0, 2), (1,), (3,)]
    assert classes_of(wants)[0].number == 8


def test_what_may_run_elsewhere_counts_apart():
    """Zones make a difference, and so does who waits only because of a change."""
    elsewhere = replace(want("small", 1), zones=frozenset({1}))
    returning = want("small", 1, is_returning=True)
    assert members_of(want("small", 1), elsewhere, returning, returning) == [
        (0,),
        (1,),
        (2,),
        (3,),
    ]


def test_gangs_of_one_shape_count_together():
    """The same members, the same number that must start at once."""
    own = (gang("a", 4), gang("b", 4), gang("c", 4, 2), gang("d", 3))
    assert members_of(*own) == [(0, 1), (2,), (3,)]
    assert classes_of(own)[0].copies == 2


def test_gangs_of_several_wants_are_alike_as_a_whole():
    """A gang that has one want of the same kind and another of a different one is not."""
    own = []
    for name, others in (("a", 2), ("b", 2), ("c", 3)):
        total = 4 + others
        own += [gang(name, 4, total), gang(name, others, total, "large")]
    assert members_of(*own) == [(0, 2), (1, 3), (4,), (5,)]


def test_gangs_that_keep_apart_stay_alone():
    """What each of them may have of a node depends on whether it starts."""
    own = [replace(gang(name, 2), per_node=1) for name in ("a", "b")]
    assert members_of(*own) == [(0,), (1,)]


def test_requests_that_keep_apart_count_together_if_as_many():
    """Each may have one on a node, so two of them may have two."""
    own = [want("small", number, per_node=1) for number in (3, 3, 2)]
    first, second = classes_of(own)
    assert (first.members, first.copies, first.most_on_a_node) == ((0, 1), 2, 2)
    assert second.members == (2,)


def test_a_program_does_not_grow_with_requests_that_are_alike():
    """A hundred gangs and deployments are as many columns and rows as one of each."""
    kinds = (NodeKind(0, 1, Counts({"small": 7}), (GpuKind(1, (CUT,)),), is_host=True),) * 3
    sizes = []
    for number in (1, 100):
        gangs = [gang(f"gang-{place}", 4) for place in range(number)]
        apart = [want("large", 2, per_node=1)] * number
        plain = [want("small", 5)] * number
        program = formulate(Mix(kinds, (*gangs, *apart, *plain))).program
        sizes.append((program.num_columns, program.num_rows, len(program.entries)))
    assert sizes[0] == sizes[1]


def test_who_comes_first_is_dealt_to_first():
    """In all zones together, without a limit of their own."""
    classes = classes_of((want("small", 3), want("small", 4)))
    dealt = Dealer(classes, {}).deal({(0, 7): 2, (0, 9): 4})
    assert dealt == {(0, 7): 2, (0, 9): 1, (1, 9): 3}


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.lists(st.floats(0, 1), min_size=1, max_size=6),
)
def test_requests_that_keep_apart_are_dealt_one_a_node(copies, number, shares):
    """Whatever the program may serve where, no want gets two of a node or too many."""
    classes = classes_of([want("small", number, per_node=1)] * copies)
    placed, left = {}, copies * number
    for host, share in enumerate(shares):
        placed[0, host] = min(left, round(share * copies))
        left -= placed[0, host]
    dealt = Dealer(classes, {}).deal(placed)
    assert all(amount == 1 for amount in dealt.values())
    for host in range(len(shares)):
        assert sum(n for (_, place), n in dealt.items() if place == host) == placed[0, host]
    for own in range(copies):
        assert sum(n for (index, _), n in dealt.items() if index == own) <= number


@given(st.data())
def test_gangs_that_start_get_what_they_need(data):
    """And no want more than it asks for, also where gangs have several wants."""
    copies, started = data.draw(st.integers(1, 5)), 0
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    least = data.draw(st.integers(1, sum(sizes)))
    wants = [
        gang(f"gang-{copy}", size, least, f"profile-{place}")
        for copy in range(copies)
        for place, size in enumerate(sizes)
    ]
    classes = classes_of(wants)
    started = data.draw(st.integers(1, copies))
    totals = [data.draw(st.integers(0, started * size)) for size in sizes]
    if sum(totals) < started * least:
        totals = [started * size for size in sizes]
    placed = {}
    for index, total in enumerate(totals):
        first = data.draw(st.integers(0, total))
        placed |= {(index, 0): first, (index, 1): total - first}
    dealt = Dealer(classes, {"gang-0": started}).deal({k: n for k, n in placed.items() if n})
    for copy in range(copies):
        own = [
            sum(n for (index, _), n in dealt.items() if index == copy * len(sizes) + place)
            for place in range(len(sizes))
        ]
        assert all(n <= size for n, size in zip(own, sizes, strict=True))
        assert sum(own) >= least if copy < started else sum(own) == 0


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["small", "large"]),
            st.integers(1, 3),
            st.sampled_from(["", "gang", "apart"]),
        ),
        min_size=2,
        max_size=6,
    )
)
def test_classes_change_nothing_about_the_worth(drawn):
    """Wants told apart by a hair of worth are no classes, and are worth the same."""
    kinds = tuple(
        NodeKind(0, 1, Counts({"small": 7}), (GpuKind(1, (CUT,)),), is_host=True)
        for _ in range(2)
    )
    alike, apart = [], []
    for index, (name, number, kind) in enumerate(drawn):
        own = gang(f"gang-{index}", number, profile=name) if kind == "gang" else None
        own = own or want(name, number, per_node=1 if kind == "apart" else None)
        alike.append(own)
        apart.append(replace(own, value=own.value + index * 1e-7))
    settled, single = settle(Mix(kinds, tuple(alike))), settle(Mix(kinds, tuple(apart)))
    assert len(formulate(Mix(kinds, tuple(apart))).classes) == len(drawn)
    assert abs(settled.choice.objective - single.choice.objective) < 1e-3
    for own, served in zip(alike, settled.choice.served, strict=True):
        assert served <= own.number
        assert served in {0, own.number} or not own.gang
