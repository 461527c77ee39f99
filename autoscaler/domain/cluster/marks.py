"""Names of labels and annotations: ours, NVIDIA's and those of node autoscalers.

They are contracts with other programs and with people, so each is written once.
"""

PREFIX = "mig-autoscaler.io/"

# On nodes.
ROLLOUT = f"{PREFIX}rollout"
INVENTORY = f"{PREFIX}inventory"
AGENT = f"{PREFIX}agent"
CLOSING = f"{PREFIX}closing"
IGNORE = f"{PREFIX}ignore"
HOLD = f"{PREFIX}hold"
RESERVED = f"{PREFIX}reserved"
QUARANTINE = f"{PREFIX}quarantine"
ABORT = f"{PREFIX}abort"
# The rollout after which somebody else set another configuration: told once.
OVERRULED = f"{PREFIX}overruled"

# On our ConfigMaps.
PAUSE = f"{PREFIX}pause"
WRITTEN = f"{PREFIX}written"

# On Namespaces, Jobs and CronJobs.
PEAK = f"{PREFIX}peak"

# On pods.
PLACEHOLDER = f"{PREFIX}placeholder"
DO_NOT_DISRUPT = f"{PREFIX}do-not-disrupt"
LOST_WORK = f"{PREFIX}lost-work"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
KARPENTER_DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
# What Karpenter's first versions called it; many manifests still do.
KARPENTER_DO_NOT_EVICT = "karpenter.sh/do-not-evict"
MIRROR = "kubernetes.io/config.mirror"

# What keeps node autoscalers away from a node that is being changed.
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"

# NVIDIA's labels on nodes.
MIG_CONFIG = "nvidia.com/mig.config"
MIG_CONFIG_STATE = "nvidia.com/mig.config.state"
DEPLOY_PREFIX = "nvidia.com/gpu.deploy."
PAUSED_FOR_CHANGE = "paused-for-mig-change"


def is_set(value: str | None) -> bool:
    """Say whether a yes-or-no annotation says yes; whatever is not a clear no does.

    An annotation without a value is a mark like any other.
    """
    return value is not None and value.strip().lower() not in {"false", "no", "0", "off"}
