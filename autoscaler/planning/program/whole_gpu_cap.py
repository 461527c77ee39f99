"""The cap on whole-GPU instances: no more of them are created than the past supports.

A long request for a whole GPU keeps it from all others for as long as it runs, and a
flood of them would have every GPU that becomes free. The home mix says how many the past
needed; a few more may be created, and what runs may exceed it.
"""

from collections.abc import Mapping

from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Pool
from autoscaler.domain.policy.quantity import share_of
from autoscaler.planning.past.home_share import gpus_of
from autoscaler.planning.program.rules import PoolRule, RuleKind, active_floors, instances_of

OFF = "off"


def cap_rules(
    pool: Pool,
    snapshot: Snapshot,
    home: Mapping[tuple[str, str], int],
    cap: int | str,
    now_s: float,
) -> tuple[PoolRule, ...]:
    """Return the caps of a pool, one a GPU model; none where the home mix is not known.

    Parameters
    ----------
    pool
        The pool; its floors go before.
    snapshot
        The fleet.
    home
        Home mix by pool and resource.
    cap
        How many beyond the home mix: a number, a percentage of the GPUs, or ``off``.
    now_s
        Epoch seconds, for floors that hold at some times only.
    """
    if cap == OFF or pool.strategy is not Strategy.MIXED:
        return ()
    if not any(own == pool.name for own, _ in home):
        return ()
    nodes = [n for n in snapshot.nodes if n.pool == pool.name and not n.reserved]
    present = instances_of(nodes)
    # What we kept from others in order to cut it anew has no right to stay.
    settled = instances_of(node for node in nodes if not node.has_waited)
    floors = active_floors(pool, now_s)
    rules = []
    for model, number in gpus_of(pool.name, snapshot).numbers:
        whole = model.whole_gpu
        entitled = home.get((pool.name, resource_name(whole.name)))
        if entitled is None:
            continue
        limit = entitled + more_than_home(cap, number)
        there = present[resource_name(whole.name)]
        # What exists may stay, so the cap holds for what would be created beyond it.
        limit = max(limit, settled[resource_name(whole.name)], floors[whole.name])
        slices = whole.compute_slices
        rules.append(PoolRule(pool.name, RuleKind.CAP, whole.name, limit, there, slices))
    return tuple(rules)


def more_than_home(cap: int | str, gpus: int) -> int:
    """Return how many whole-GPU instances there may be beyond the home mix.

    Parameters
    ----------
    cap
        A number, or a percentage; that is rounded to the nearest number, at least 1.
    gpus
        GPUs that may be cut.
    """
    if isinstance(cap, int):
        return cap
    # Hundredths of GPUs, so that halves are not lost before they are rounded.
    return max(1, (share_of(cap, gpus * 100) + 50) // 100)
