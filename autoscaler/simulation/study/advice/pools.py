"""The pool of a policy whose rules hold for the fleet that is simulated."""

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.policy.policy_check import PRODUCT_LABEL

# Simulated nodes have none of the labels by which people tell their own nodes apart.
ANY_GPU_NODE = {"nvidia.com/gpu.present": "true"}


def with_one_pool(policy: Policy, model: GpuModel) -> Policy:
    """Return a policy with the pool that is meant for a model, of all simulated nodes.

    Raises
    ------
    ConfigError
        When it has several pools and none names a product of the model.
    """
    able = [p for p in policy.pools if p.node_selector.get(PRODUCT_LABEL) in model.products]
    if not able and len(policy.pools) > 1:
        names = ", ".join(pool.name for pool in policy.pools)
        raise ConfigError(
            f"policy {policy.metadata.name}: none of its pools ({names}) selects a product of"
            f" {model.key}, so it does not say which one the advice is for"
        )
    pool = (able or list(policy.pools))[0]
    return policy.model_copy(
        update={"pools": (pool.model_copy(update={"node_selector": ANY_GPU_NODE}),)}
    )
