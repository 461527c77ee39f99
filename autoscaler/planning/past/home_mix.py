"""The home mix: the static mix that would have served the past best.

A careful operator would have chosen it by replaying the past on many mixes, and that is
how it is found. Instances that are free are cut down for whoever waits, so larger ones
count as room for smaller requests; of a mix tuned as if each served its own profile
alone, much is spread over sizes that single bursts once needed.
"""

from collections.abc import Mapping, Sequence

from autoscaler.domain.mig.profile import GpuModel
from autoscaler.planning.past.exact_mix import exact_mix
from autoscaler.planning.past.mix_replay import Order, requests_of, sizes_of
from autoscaler.planning.past.mix_search import MixSearch
from autoscaler.planning.past.queue_model import Job
from autoscaler.planning.past.static_mix import StaticMix


def home_mix(
    model: GpuModel,
    past: Mapping[str, Sequence[Job]],
    gpus: int,
    horizon_s: float,
) -> StaticMix:
    """Return the static mix under which past requests would have waited least.

    Parameters
    ----------
    model
        The GPU model.
    past
        Past requests by profile name.
    gpus
        Number of GPUs, at least 1.
    horizon_s
        End of the past that is looked at, in the time of the requests.

    Raises
    ------
    ConfigError
        When the model has no profile of a name.
    PlanningError
        When the solver fails.
    """
    exact = exact_mix(model, past, gpus, horizon_s)
    asked = tuple(name for name, own in past.items() if own)
    if not asked:
        return exact
    sizes = sizes_of(model, asked)
    search = MixSearch(model, requests_of(past, sizes), sizes, gpus)
    # By resource name those who asked for a profile are the first to get it.
    return search.best([exact.gpus], [Order.OWNER_FIRST])
