"""Whether an open rollout should still go on, asked again until the label is written.

Between the plan and the label there may be twenty minutes of emptying: the pods it is
for may run elsewhere by then, the window may close, the node may not be ours any more.
"""

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.policy.policy import Disruption, Driver, Policy
from autoscaler.domain.policy.window import is_frozen, is_open
from autoscaler.domain.reasons import Block, Reason

# Holds that a rollout under way does not cause itself, and that waiting does not cure.
STOPPING = frozenset(
    {
        Reason.AMBIGUOUS_POOL,
        Reason.DUPLICATE_NODE,
        Reason.HELD,
        Reason.MANAGED_BY_PROVIDER,
        Reason.NODE_LEAVING,
        Reason.NO_AGENT,
        Reason.NO_MIG_MANAGER,
        Reason.OBSERVE_ONLY,
        Reason.OPERATOR_CONFIG,
        Reason.RESERVED,
        Reason.SHARED,
        Reason.TWO_OWNERS,
    }
)


def verdict(
    journal: Journal, node: FleetNode | None, *, demand: Demand, policy: Policy, now_s: float
) -> Block | None:
    """Return why a rollout should end before its label, ``None`` when it should go on.

    Parameters
    ----------
    journal
        Of a rollout before its label.
    node
        Its node as assessed now; ``None`` when no pool has it any more.
    demand
        Of the same moment.
    """
    if node is None or node.pool != journal.pool:
        return Block(Reason.IGNORED, f"the node is not in pool {journal.pool} any more")
    for hold in node.holds:
        if hold.reason in STOPPING:
            return Block(hold.reason, hold.message)
    return (
        _reserved(journal, node)
        or _not_allowed(journal, policy)
        or _closed(journal, policy.disruption, now_s)
        or _pointless(journal, demand)
    )


def _reserved(journal: Journal, node: FleetNode) -> Block | None:
    """Refuse to cut a node that was reserved since; it may still become whole."""
    if not node.reserved or node.model is None:
        return None
    whole = Counts({node.model.whole_gpu.name: 1})
    if all(journal.target.gpus[i] in {whole, None} for i in journal.gpus):
        return None
    return Block(Reason.RESERVED, f"node {node.name} is reserved for whole GPUs since")


def _not_allowed(journal: Journal, policy: Policy) -> Block | None:
    """Refuse profiles that an edit of the policy has taken away since."""
    pool = next((p for p in policy.pools if p.name == journal.pool), None)
    if pool is None or pool.profiles is None:
        return None
    wanted = {name for i in journal.gpus for name in _created(journal, i)}
    refused = sorted(wanted - set(pool.profiles))
    if not refused:
        return None
    return Block(Reason.NOT_ALLOWED, f"pool {pool.name} does not allow {', '.join(refused)}")


def _created(journal: Journal, index: int) -> Counts:
    """Return what a GPU is to get; the node agent lets stay what is to stay."""
    target = journal.target.gpus[index] or Counts()
    if journal.driver is Driver.AGENT:
        return target.minus(journal.before.gpus[index] or Counts())
    return target


def _closed(journal: Journal, rules: Disruption, now_s: float) -> Block | None:
    """Refuse to go on on frozen days, and after the window has closed."""
    freeze = is_frozen(rules.freezes, now_s)
    if freeze is not None:
        return Block(Reason.FROZEN, f"frozen until {freeze.to} ({freeze.time_zone})")
    if is_open(rules.windows, now_s):
        return None
    if rules.outside_windows == "idle" and not journal.evictions:
        return None
    return Block(Reason.OUTSIDE_WINDOW, "the window has closed before the node was empty")


def _pointless(journal: Journal, demand: Demand) -> Block | None:
    """Refuse a change for pods that all left the queue, with nobody in their place."""
    if not journal.serves:
        return None
    more = journal.target.resources.minus(journal.before.resources)
    for group in demand.groups:
        wanted = any(name in more for name in group.bundle)
        if wanted or any(str(pod) in journal.serves for pod in group.pods):
            return None
    number = len(journal.serves)
    return Block(Reason.NOT_WORTH_IT, f"none of the {number} pods it is for waits any more")
