"""How long a node is expected to be closed for a change.

Estimates, for prices and for the question whether a change fits into a window. What a
change really took is measured when it is over.
"""

from autoscaler.domain.policy import Driver, Policy

# From the new label to the new devices: operands stop, GPUs are cut one after another,
# operands start, and feature discovery and kubelet report. NVIDIA gives no figure; one
# to three minutes are what its parts add up to.
MIG_MANAGER_S = 120.0
# The agent creates and destroys instances in seconds; the device plugin restarts.
AGENT_S = 30.0


def expected_out_of_service_s(driver: Driver, policy: Policy) -> float:
    """Return the seconds from the cordon until a node whose GPUs are idle is settled.

    Parameters
    ----------
    driver
        How the node is changed.
    policy
        Its waits.

    Returns
    -------
    float
        Without evictions. The wait for late bindings and the wait for kubelet to copy
        the configuration begin together, so only the longer one counts.
    """
    grace_s, settle_s = policy.rollout.bind_grace_s, policy.rollout.settle_s
    if driver is Driver.AGENT:
        return grace_s + AGENT_S + settle_s
    return max(grace_s, policy.mig_manager.config_sync_s) + MIG_MANAGER_S + settle_s
