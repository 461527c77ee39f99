"""How long a node is expected to be closed for a change.

Estimates, for prices and for the question whether a change fits into a window. What a
change really took is measured when it is over.
"""

from autoscaler.domain.policy.policy import Driver, Policy

# From the new label to the new devices: operands stop, GPUs are cut one after another,
# operands start, and feature discovery and kubelet report. NVIDIA gives no figure; one
# to three minutes are what its parts add up to.
MIG_MANAGER_S = 120.0
# The agent has device nodes made and the device plugin started anew, then kubelet reports.
# In the embedded cluster that and the instances together took 25 to 42 s for one GPU with
# 3 to 9 of them destroyed or created, and 67 to 74 s for four GPUs with 36.
AGENT_S = 24.0
AGENT_ACT_S = 1.2
TYPICAL_ACTS = 5


def expected_out_of_service_s(
    driver: Driver, policy: Policy, num_acts: int = TYPICAL_ACTS
) -> float:
    """Return the seconds from the cordon until a node whose GPUs are idle is settled.

    Parameters
    ----------
    driver
        How the node is changed.
    policy
        Its waits.
    num_acts
        Instances that are destroyed or created, where the agent does it.

    Returns
    -------
    float
        Without evictions. The wait for late bindings and the wait for kubelet to copy
        the configuration begin together, so only the longer one counts.
    """
    grace_s, settle_s = policy.rollout.bind_grace_s, policy.rollout.settle_s
    if driver is Driver.AGENT:
        return grace_s + AGENT_S + num_acts * AGENT_ACT_S + settle_s
    return max(grace_s, policy.mig_manager.config_sync_s) + MIG_MANAGER_S + settle_s
