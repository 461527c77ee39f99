"""Settlements of the latest problems: one that comes back is not settled again.

Problems name no nodes and no pods, so in a small fleet the same ones come back soon: a
job ends on one GPU or another, or comes and goes between two looks.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from autoscaler.domain.plan.plan import StoppedBy
from autoscaler.planning.program.mix import Mix
from autoscaler.planning.program.optimizer import Guard, Settlement, settle, steadied
from autoscaler.planning.solving.answer import SolverLimits
from autoscaler.planning.solving.solver import Solver

Settler = Callable[[Mix, SolverLimits, Guard | None, Solver], Settlement | None]
"""Settles a mix problem, and serves those who are served anyway where that is as good."""

# Two weeks of real jobs find two of five problems among the latest 16, and hardly more
# among the latest 1,000.
MOST = 16
# Larger problems seldom come back, and their arrays take memory.
MOST_COLUMNS = 4000
# What ended otherwise might end better the next time.
LASTING = frozenset({StoppedBy.OPTIMAL, StoppedBy.GAP, StoppedBy.NOTHING_TO_DO})


def settle_steadily(
    mix: Mix, limits: SolverLimits, guard: Guard | None, solver: Solver
) -> Settlement | None:
    """Return the best choice for a mix problem; see ``settle`` and ``steadied``."""
    settlement = settle(mix, limits, guard, solver)
    return None if settlement is None else steadied(settlement, solver)


class Settlements:
    """Remembers the latest settlements.

    What is settled depends on the problem, the limits and the solver only, which stops on
    gaps and numbers of nodes and never on a clock. So what is remembered is what would be
    found again.

    Parameters
    ----------
    most
        How many are remembered, at least 1.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[tuple[Mix, SolverLimits, Solver], Settlement] = OrderedDict()

    def settle(
        self, mix: Mix, limits: SolverLimits, guard: Guard | None, solver: Solver
    ) -> Settlement | None:
        """Return the best choice for a mix problem, at no solver time if it is known."""
        key = mix, limits, solver
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return replace(known, seconds=0.0, relaxed_seconds=0.0)
        settlement = settle_steadily(mix, limits, guard, solver)
        if settlement is not None and _is_lasting(settlement):
            self._known[key] = settlement
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return settlement


def _is_lasting(settlement: Settlement) -> bool:
    is_small = settlement.num_columns <= MOST_COLUMNS
    return is_small and settlement.stopped_by in LASTING
