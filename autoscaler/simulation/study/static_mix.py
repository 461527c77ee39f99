"""The static mix tuned on some work: what a careful operator would have chosen.

A search by replays of the work, from the mix that is exact when every job takes just its
profile, from GPUs left whole, and from even shares, so that it does not end where it began.
"""

from collections.abc import Sequence
from functools import lru_cache

from autoscaler.domain.mig.profile import GpuModel
from autoscaler.planning.past.exact_mix import exact_mix
from autoscaler.planning.past.mix_replay import Order, Requests, Sizes, sizes_of, total_wait_s
from autoscaler.planning.past.mix_search import MixSearch
from autoscaler.planning.past.static_mix import StaticMix
from autoscaler.simulation.study.jobs import StudyJob, queued_by_profile
from autoscaler.simulation.study.splits import Work


@lru_cache(maxsize=64)
def plain_sizes(model: GpuModel) -> Sizes:
    """Return the standard profiles of a model by size."""
    return sizes_of(model, model.plain_names)


@lru_cache(maxsize=64)
def tuned_mix(model: GpuModel, work: Work, gpus: int) -> StaticMix:
    """Return the best static mix for some work; the same question is answered once."""
    sizes = plain_sizes(model)
    search = MixSearch(model, requests_in(work.jobs, sizes), sizes, gpus)
    exact = exact_mix(model, queued_by_profile(work.jobs), gpus, work.span_s)
    return search.best([exact.gpus, search.even()], list(Order))


def replayed_s(work: Work, mix: StaticMix, model: GpuModel) -> float:
    """Return the mean completion time of some work under a mix."""
    sizes = plain_sizes(model)
    held = mix.instances
    instances = [held[name] for name in sizes.names]
    requests = requests_in(work.jobs, sizes)
    waited_s = total_wait_s(requests, instances, sizes, order=mix.order)
    return (waited_s + sum(job.run_s for job in work.jobs)) / max(1, len(work.jobs))


def requests_in(jobs: Sequence[StudyJob], sizes: Sizes) -> Requests:
    """Return jobs, which are in order of arrival, in the form that is replayed."""
    places = {name: place for place, name in enumerate(sizes.names)}
    on_sizes_s: tuple[tuple[float, ...], ...] = ()
    if any(job.run_on_s for job in jobs):
        on_sizes_s = tuple(tuple(job.run_time_s(n) for n in sizes.names) for job in jobs)
    return Requests(
        tuple(job.arrival_s for job in jobs),
        tuple(job.run_s for job in jobs),
        tuple(places[job.profile] for job in jobs),
        on_sizes_s,
    )
