"""Classes of wants: requests that are alike count together, however many ask for them.

A thousand gangs of the same shape are one column that says how many of them start, not a
thousand. What a class is given is dealt out to its wants afterwards; that this can always
be done is what the limits of a class are made for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autoscaler.planning.program.mix import Want

Placed = Mapping[tuple[int, int], int]
"""Requests by class or want, and the zone or host that serves them."""


@dataclass(frozen=True, slots=True)
class WantClass:
    """Wants that are alike.

    Parameters
    ----------
    want
        The first of them; what it says of one request holds for all.
    members
        Indexes of the wants, in order.
    numbers
        Requests of each of them.
    copies
        How often each limit of the first want counts: once for each want where it has
        one, for a gang or a node.
    """

    want: Want
    members: tuple[int, ...]
    numbers: tuple[int, ...]
    copies: int = 1

    @property
    def number(self) -> int:
        """Requests of all of them."""
        return sum(self.numbers)

    @property
    def most_on_a_node(self) -> int:
        """Most requests that one node may serve."""
        if self.want.per_node is None:
            return self.number
        return min(self.number, self.copies * self.want.per_node)


def classes_of(wants: Sequence[Want]) -> tuple[WantClass, ...]:
    """Return the classes of wants, in the order of their first wants.

    Those of gangs belong together if the gangs are alike as a whole. Gangs that keep
    apart on nodes stay alone, and so does what evictions make wait again.

    Parameters
    ----------
    wants
        In the order of their indexes.
    """
    shapes = _shapes_of_gangs(wants)
    members: dict[object, list[int]] = {}
    for index, want in enumerate(wants):
        key = _likeness(want, index)
        if want.gang:
            shape, place = shapes[index]
            key = (key, shape, place)
        members.setdefault(key, []).append(index)
    return tuple(_class(wants, own) for own in members.values())


def _class(wants: Sequence[Want], members: Sequence[int]) -> WantClass:
    want = wants[members[0]]
    is_limited = want.gang or want.per_node is not None
    numbers = tuple(wants[index].number for index in members)
    return WantClass(want, tuple(members), numbers, len(members) if is_limited else 1)


def _likeness(want: Want, index: int) -> tuple[object, ...]:
    """Return what makes wants alike, gangs aside."""
    is_limited = want.gang or want.per_node is not None
    return (
        want.bundle,
        want.value,
        want.zones,
        want.per_node,
        want.is_one,
        # As many of each: else what is dealt out evenly may be too much for one.
        want.number if is_limited else -1,
        index if want.is_returning else -1,
    )


def _shapes_of_gangs(wants: Sequence[Want]) -> dict[int, tuple[object, int]]:
    """Return of each want of a gang the shape of the gang, and its place in it."""
    gangs: dict[str, list[int]] = {}
    for index, want in enumerate(wants):
        if want.gang:
            gangs.setdefault(want.gang, []).append(index)
    shapes: dict[int, tuple[object, int]] = {}
    for name, own in gangs.items():
        least = max(wants[index].gang_min for index in own)
        is_alone = any(wants[i].per_node is not None or wants[i].is_returning for i in own)
        likeness = tuple(_likeness(wants[index], index) for index in own)
        shape = (likeness, least, name if is_alone else "")
        shapes |= {index: (shape, place) for place, index in enumerate(own)}
    return shapes


@dataclass(slots=True)
class Dealer:
    """Deals out to wants what their classes are served.

    Parameters
    ----------
    classes
        All classes.
    started
        How many gangs start, by the first gang of a class.
    """

    classes: Sequence[WantClass]
    started: Mapping[str, int]
    _turns: dict[int | str, int] = field(default_factory=dict)

    def deal(self, placed: Placed) -> dict[tuple[int, int], int]:
        """Return what each want is served where, sorted by want and place.

        Parameters
        ----------
        placed
            What each class is served where. May be called more than once, for other
            places: what was dealt before counts.
        """
        found: dict[tuple[int, int], int] = {}
        for (index, place), number in sorted(placed.items()):
            own = self.classes[index]
            if len(own.members) == 1:
                dealt: Iterable[tuple[int, int]] = [(own.members[0], number)]
            elif own.copies > 1:
                dealt = self._around(index, own, number)
            else:
                dealt = self._in_order(index, own, number)
            found |= {(want, place): part for want, part in dealt if part}
        return dict(sorted(found.items()))

    def _around(self, index: int, own: WantClass, number: int) -> Iterable[tuple[int, int]]:
        """Deal one to each in turn: so nobody has two more of anything than another.

        All wants of a gang take turns together, and so each gang has as many in all.
        """
        gang = own.want.gang
        takers = self.started[gang] if gang else len(own.members)
        key = gang or index
        turn = self._turns.get(key, 0)
        each, rest = divmod(number, takers)
        self._turns[key] = (turn + number) % takers
        extra = {(turn + step) % takers for step in range(rest)}
        return [(own.members[n], each + (n in extra)) for n in range(takers)]

    def _in_order(self, index: int, own: WantClass, number: int) -> Iterable[tuple[int, int]]:
        """Deal to the first want what it asks for, then to the next."""
        before = self._turns.get(index, 0)
        self._turns[index] = before + number
        dealt, passed = [], 0
        for want, asked in zip(own.members, own.numbers, strict=True):
            part = min(passed + asked, before + number) - max(passed, before)
            dealt.append((want, max(0, part)))
            passed += asked
        return dealt
