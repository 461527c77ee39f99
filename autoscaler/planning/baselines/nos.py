"""nos: its planner as its source has it, and with its best-known flaws repaired.

Node by node and GPU by GPU it takes the multiset that provides most of the instances
that are lacking, each counted alike, and keeps a node's changes when a pod then fits.

References
----------
nebuly-ai/nos, ``internal/partitioning/core``: planner, snapshot, tracker; and
``pkg/gpu/mig``: the geometries it knows.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.placement import place
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import parse_resource
from autoscaler.planning.baselines.board import Board, boards_of, models_of, refilled, size_of

# Maximal multisets that its list for 7-slice GPUs lacks, by compute slices.
UNKNOWN_TO_NOS = ({4: 1, 3: 1}, {3: 1, 1: 4})


@dataclass(slots=True)
class _Cut:
    """What a GPU becomes, and what of it is in use or promised to a pod."""

    board: Board
    target: Counts
    used: Counts

    @property
    def free(self) -> Counts:
        return self.target.minus(self.used)


class _Planner:
    """nos at work.

    Parameters
    ----------
    is_fixed
        Whether a pod is planned for once only, instances count by their size, and only
        multisets are chosen that have a place.
    """

    def __init__(self, snapshot: Snapshot, demand: Demand, *, is_fixed: bool) -> None:
        self._is_fixed = is_fixed
        self.boards = boards_of(snapshot)
        self._nodes: dict[str, list[_Cut]] = {}
        for board in self.boards:
            cut = _Cut(board, board.present.counts, board.pinned.counts)
            self._nodes.setdefault(board.node, []).append(cut)
        models = models_of(self.boards)
        self._groups = sorted(demand.groups, key=lambda g: (-g.weight, size_of(g, models)))
        self._left = [group.number for group in self._groups]
        self._free = Counts()
        for cuts in self._nodes.values():
            self._free = self._free.plus(_free_on(cuts))
        self._lacking = self._lacking_now()

    def _lacking_now(self) -> dict[str, int]:
        """Return the instances that pods lack, by resource name."""
        free = self._free
        lacking: dict[str, int] = {}
        for group, left in zip(self._groups, self._left, strict=True):
            for name, number in group.bundle.items():
                # The flaw: each pod is compared with all that is free, as if it were alone.
                own = number if self._is_fixed else max(0, number - free[name])
                lacking[name] = lacking.get(name, 0) + own * left
        if self._is_fixed:
            lacking = {name: max(0, n - free[name]) for name, n in lacking.items()}
        return {name: number for name, number in lacking.items() if number}

    def run(self) -> None:
        """Plan node after node, by name, until nothing is lacking."""
        for name, cuts in sorted(self._nodes.items()):
            if not self._lacking:
                break
            if not any(cut.free for cut in cuts):
                continue
            before = [(cut.target, cut.used) for cut in cuts]
            free = _free_on(cuts)
            self._carve(cuts)
            placed = self._add_pods(name, cuts)
            if not placed:
                for cut, (target, used) in zip(cuts, before, strict=True):
                    cut.target, cut.used = target, used
                continue
            self._free = self._free.plus(_free_on(cuts)).minus(free)
            self._count(placed)

    def _count(self, placed: dict[int, int]) -> None:
        """Take what pods were promised off what is lacking."""
        for index, number in placed.items():
            if self._is_fixed:
                self._left[index] -= number
                continue
            for resource, each in self._groups[index].bundle.items():
                left = self._lacking.get(resource, 0) - each * number
                self._lacking[resource] = max(0, left)
        if self._is_fixed:
            self._lacking = self._lacking_now()
        self._lacking = {n: k for n, k in self._lacking.items() if k}

    def _carve(self, cuts: Iterable[_Cut]) -> None:
        """Give each GPU the multiset that provides most of what is lacking."""
        lacking = dict(self._lacking)
        for cut in cuts:
            scored = [(self._score(cut, t, lacking), t) for t in self._targets(cut)]
            best = max((score for score, _ in scored), default=0)
            if best > 0:
                cut.target = next(target for score, target in scored if score == best)
            for name, number in _by_resource(cut, cut.free).items():
                if name in lacking:
                    lacking[name] = max(0, lacking[name] - number)

    def _targets(self, cut: _Cut) -> list[Counts]:
        board = cut.board
        if not board.is_open:
            return []
        found = [t for t in _known_to_nos(board.model) if t.covers(cut.used)]
        if self._is_fixed:
            found = [t for t in found if place(board.model, t, board.pinned) is not None]
        return found

    def _score(self, cut: _Cut, target: Counts, lacking: dict[str, int]) -> int:
        total, model = 0, cut.board.model
        free, offered = _by_resource(cut, cut.free), target.minus(cut.used)
        for name, number in lacking.items():
            profile = model.profile(parse_resource(model, name) or "")
            if profile is None or free[name] >= number:
                continue
            size = profile.compute_slices if self._is_fixed else 1
            total += size * min(offered[profile.name], number)
        return total

    def _add_pods(self, name: str, cuts: list[_Cut]) -> dict[int, int]:
        """Promise what is free to pods, the smaller ones first; return how many."""
        placed: dict[int, int] = {}
        for index, group in enumerate(self._groups):
            if name not in group.eligible:
                continue
            for cut in cuts:
                model = cut.board.model
                wanted = Counts(
                    {
                        parse_resource(model, r) or r: number
                        for r, number in group.bundle.items()
                    }
                )
                left = self._left[index] - placed.get(index, 0)
                fits = min((cut.free[p] // n for p, n in wanted.items()), default=0)
                number = min(left, fits)
                if number > 0:
                    cut.used = cut.used.plus(wanted, number)
                    placed[index] = placed.get(index, 0) + number
        return placed

    def finish(self) -> None:
        """Cut each GPU as far as that is possible beside what is in use."""
        for cuts in self._nodes.values():
            for cut in cuts:
                if cut.target != cut.board.present.counts:
                    _make(cut)


def nos_strict(snapshot: Snapshot, demand: Demand) -> Snapshot:
    """Return the fleet as nos would cut it, flaws and all.

    A pod that fits on one node is tried again on the next, so instances are made for it
    twice; and a multiset may be chosen that has no place beside the instances in use,
    of which then only a part is made.
    """
    return _planned(snapshot, demand, is_fixed=False)


def nos_fixed(snapshot: Snapshot, demand: Demand) -> Snapshot:
    """Return the fleet as nos would cut it if it counted pods once and knew placements."""
    return _planned(snapshot, demand, is_fixed=True)


def _planned(snapshot: Snapshot, demand: Demand, *, is_fixed: bool) -> Snapshot:
    planner = _Planner(snapshot, demand, is_fixed=is_fixed)
    planner.run()
    planner.finish()
    return refilled(snapshot, planner.boards)


@lru_cache(maxsize=64)
def _known_to_nos(model: GpuModel) -> tuple[Counts, ...]:
    """Return the multisets that nos would choose from.

    Its hand-written lists lack two of a 7-slice GPU; what else is wrong with them, such
    as names that no board has, is left out.
    """
    unknown = []
    for slices in UNKNOWN_TO_NOS:
        names = {p.compute_slices: p.name for p in model.profiles if p.is_plain}
        if set(slices) <= set(names):
            unknown.append(Counts({names[size]: n for size, n in slices.items()}))
    return tuple(t for t in maximal_multisets(model, model.plain_names) if t not in unknown)


def _free_on(cuts: Iterable[_Cut]) -> Counts:
    return sum_of(_by_resource(cut, cut.free) for cut in cuts)


def _by_resource(cut: _Cut, counts: Counts) -> Counts:
    from_profile = cut.board.resources
    return Counts({from_profile[profile]: number for profile, number in counts.items()})


def _make(cut: _Cut) -> None:
    """Create the instances of a target, each at its lowest legal start, as far as they fit."""
    board = cut.board
    exact = place(board.model, cut.target, board.pinned)
    if exact is not None:
        board.placed = [i for i in exact.instances if i not in board.pinned.instances]
        board.clears = True
        return
    missing = cut.target.minus(board.pinned.counts)
    sizes = {p.name: p.memory_slices for p in board.model.profiles}
    for profile in sorted(missing, key=lambda name: (-sizes[name], name)):
        for _ in range(missing[profile]):
            starts = board.starts_for(profile)
            if starts:
                board.placed.append(starts[0])
    board.clears = True
