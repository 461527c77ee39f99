"""What changes take, the same for all who do them the same way.

A device plugin that must start anew costs up to a minute in which nothing starts on the
node; that is charged to everyone who cuts GPUs under it. Those who create an instance
for each pod without it pay for the instance and for noticing that a pod is gone.
"""

from dataclasses import dataclass

# A GPU instance with its compute instance, created or destroyed.
INSTANCE_S = 1.0


@dataclass(frozen=True, slots=True)
class Costs:
    """Times of one way to change GPUs, in seconds.

    Parameters
    ----------
    recut_s
        From a decision to when new instances can be used.
    release_s
        From the end of a job to when its space can be cut again.
    closes_node
        Whether nothing starts on the node meanwhile.
    """

    recut_s: float
    release_s: float = 0.0
    closes_node: bool = False


# The device plugin starts anew: nothing starts on the node for a minute.
PLUGIN = Costs(recut_s=60.0, closes_node=True)
# An instance a pod: created when it is bound, destroyed when it is seen to be gone.
DRA = Costs(recut_s=INSTANCE_S, release_s=INSTANCE_S)
# The same, and the container waits for a file that names its device.
DAS = Costs(recut_s=INSTANCE_S + 5.0, release_s=INSTANCE_S)
# The same, and a reconciler looks every five seconds.
HAMI_SLOTS = Costs(recut_s=INSTANCE_S, release_s=INSTANCE_S + 5.0)
