"""Coming supply: what a node offers once the change that is under way is over.

It counts as supply, or the same demand would be planned on a second node, and then on
a third.
"""

from autoscaler.domain.cluster.marks import MIG_CONFIG
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.conditions import Circumstances, is_leaving
from autoscaler.domain.fleet.identity import Identity, whole_number
from autoscaler.domain.fleet.memory import GPU_COUNT, PRODUCT
from autoscaler.domain.fleet.promise import Promises
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.mig.configuration import LayoutOfNode
from autoscaler.domain.mig.profile import load_models, models_for_product
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.pool import Pool


def target_supply(
    seen: Circumstances,
    identity: Identity,
    *,
    promised: tuple[LayoutOfNode, ...],
    pool: Pool | None,
    promises: Promises,
) -> Counts | None:
    """Return what a change in progress will make a node offer.

    Parameters
    ----------
    seen, identity
        The node, and what it is as far as its labels tell.
    promised
        What the configuration it is labelled with may mean.
    pool
        Its pool, if it has one.
    promises
        All configurations.

    Returns
    -------
    Counts or None
        By resource name; ``None`` without a change, and when it cannot be told.
    """
    if not seen.is_changing or is_leaving(seen.node):
        return None
    journal = seen.journal
    if journal is None and identity.num_gpus is None:
        return _least_supply(seen, identity, pool, promises)
    if journal is None:
        meanings = {supply_of(layout, identity.strategy) for layout in promised}
        return meanings.pop() if len(meanings) == 1 else None
    if journal.state is State.QUARANTINED or journal.is_waiting:
        return None
    is_back = journal.state is State.ROLLING_BACK
    return (journal.before if is_back else journal.target).resources


def _least_supply(
    seen: Circumstances, identity: Identity, pool: Pool | None, promises: Promises
) -> Counts | None:
    """Return what there will be at least, where the labels that tell are away."""
    if identity.strategy is not Strategy.MIXED:
        return None
    labels = seen.node.labels
    wished = "" if pool is None else pool.node_selector.get(PRODUCT, "")
    known = () if identity.model is None else (identity.model,)
    found = promises.least_supply(
        seen.node.name,
        labels.get(MIG_CONFIG, ""),
        models=known or models_for_product(wished) or load_models(),
        num_gpus=whole_number(labels.get(GPU_COUNT, "")) or 1,
    )
    return found or None
