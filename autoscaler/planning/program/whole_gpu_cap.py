"""The cap on whole-GPU instances: no more of them are created than the past supports.

A long request for a whole GPU keeps it from all others for as long as it runs, and a
flood of them would have every GPU that becomes free. The home mix says how many the past
needed; a few more may be created, and what runs may exceed it.

While requests for whole GPUs wait, who runs one is followed by the next, so where nobody
can wait for its end a GPU is lost to others for as long as the flood lasts. There, if
others do the larger part of the work, none of what they fill on average is made whole
beyond the home mix.
"""

from collections.abc import Iterable, Mapping
from math import floor

from autoscaler.domain.counts import sum_of
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Policy, Pool
from autoscaler.domain.policy.quantity import share_of
from autoscaler.planning.past.home_share import PoolGpus, gpus_of
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.program.keeping import allows_placeholders, may_wait_for
from autoscaler.planning.program.rules import PoolRule, RuleKind, active_floors, instances_of
from autoscaler.planning.program.worth import hedge_steps

OFF = "off"


def cap_rules(
    pool: Pool,
    snapshot: Snapshot,
    values: ValueHistory,
    policy: Policy,
    now_s: float,
) -> tuple[PoolRule, ...]:
    """Return the caps of a pool, one a GPU model; none where the home mix is not known.

    Parameters
    ----------
    pool
        The pool; its floors go before.
    snapshot
        The fleet.
    values
        Home mix, and how many instances were wanted at once.
    policy
        How many there may be beyond the home mix (``planning.wholeGpuCap``), and whether
        placeholders may keep whole GPUs from those who would be next.
    now_s
        Epoch seconds, for floors that hold at some times only.
    """
    cap = policy.planning.whole_gpu_cap
    if cap == OFF or pool.strategy is not Strategy.MIXED:
        return ()
    if not any(own == pool.name for own, _ in values.home):
        return ()
    nodes = [n for n in snapshot.nodes if n.pool == pool.name and not n.reserved]
    present = instances_of(nodes)
    # What we kept from others in order to cut it anew has no right to stay.
    settled = instances_of(node for node in nodes if not node.has_waited)
    settled = settled.minus(sum_of(node.kept for node in nodes))
    floors = active_floors(pool, now_s)
    gpus = gpus_of(pool.name, snapshot)
    by_closing = all(may_wait_for(node) for node in nodes if node.gpus)
    is_patient = by_closing or _has_placeholders(nodes, policy)
    rules = []
    for model, number in gpus.numbers:
        whole = model.whole_gpu
        entitled = values.home.get((pool.name, resource_name(whole.name)))
        if entitled is None:
            continue
        more = more_than_home(cap, number)
        if not is_patient and not isinstance(cap, int):
            filled = filled_gpus(model, gpus, pool.name, values.reach)
            by_whole = filled.pop(whole.name)
            by_others = sum(filled.values())
            if by_others > by_whole:
                more = min(more, max(0, floor(number - entitled - by_others)))
        limit = entitled + more
        there = present[resource_name(whole.name)]
        # What exists may stay, so the cap holds for what would be created beyond it.
        limit = max(limit, settled[resource_name(whole.name)], floors[whole.name])
        slices = whole.compute_slices
        rules.append(PoolRule(pool.name, RuleKind.CAP, whole.name, limit, there, slices))
    return tuple(rules)


def _has_placeholders(nodes: Iterable[FleetNode], policy: Policy) -> bool:
    """Say whether placeholders may have whole GPUs next.

    Without metrics it is not known for whom they would wait, and there are none.
    """
    used = [node for node in nodes if node.holders]
    is_blind = bool(used) and all(node.unseen for node in used)
    return allows_placeholders(policy) and not is_blind


def filled_gpus(
    model: GpuModel,
    gpus: PoolGpus,
    pool: str,
    reach: Mapping[tuple[str, str], tuple[float, ...]],
) -> dict[str, float]:
    """Return how many GPUs of a model each profile fills on average.

    Parameters
    ----------
    model
        The GPUs' model.
    gpus
        All GPUs of the pool: what several models offer is divided among them.
    reach
        Chance that so many instances are wanted at once, by pool and resource.
    """
    multisets = maximal_multisets(model, model.plain_names)
    filled: dict[str, float] = {}
    for name in model.plain_names:
        able = {own.key: number for own, number in gpus.numbers if name in own.plain_names}
        steps = hedge_steps(reach.get((pool, resource_name(name)), ()), wanted=0)
        wanted = sum(number * chance for number, chance in steps)
        share = able[model.key] / sum(able.values())
        filled[name] = wanted * share / max(counts[name] for counts in multisets)
    return filled


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
