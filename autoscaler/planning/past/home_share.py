"""The home share: how many instances the past entitles each profile of a pool to.

They are those of the mix that would have been best for the past requests, as far as
anyone ever wanted them at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import PlanningError
from autoscaler.domain.fleet.memory import GPU_COUNT
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import parse_resource, resource_name
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Pool
from autoscaler.planning.past.home_mix import home_mix
from autoscaler.planning.past.queue_model import Job

# Work that one search for a home mix may take: requests times instances or moves tried,
# a few seconds. Larger fleets are looked at in proportion.
MOST_WORK = 10_000_000
# How often a search tries all moves before no move helps any more, as seen on real jobs.
ROUNDS = 4


@dataclass(frozen=True, slots=True)
class PoolGpus:
    """The GPUs of a pool that may be cut, by model.

    Parameters
    ----------
    numbers
        Model and how many GPUs, in order of the models' keys.
    """

    numbers: tuple[tuple[GpuModel, int], ...] = ()

    @property
    def total(self) -> int:
        """How many GPUs."""
        return sum(number for _, number in self.numbers)

    def text(self) -> str:
        """Return them in words, the same for the same GPUs."""
        return ", ".join(f"{number} x {model.key}" for model, number in self.numbers)


def gpus_of(pool: str, snapshot: Snapshot) -> PoolGpus:
    """Return the GPUs of a pool that may be cut: MIG on, and not on reserved nodes."""
    numbers: dict[str, int] = {}
    models: dict[str, GpuModel] = {}
    for node in snapshot.nodes:
        if node.pool != pool or node.model is None or node.reserved:
            continue
        if node.strategy is not Strategy.MIXED:
            continue
        models[node.model.key] = node.model
        numbers[node.model.key] = numbers.get(node.model.key, 0) + _cut_gpus(node)
    return PoolGpus(tuple((models[key], n) for key, n in sorted(numbers.items()) if n))


def _cut_gpus(node: FleetNode) -> int:
    if node.gpus:
        return sum(1 for gpu in node.gpus if gpu.mig_enabled)
    # A node whose GPUs cannot be told apart just now will be one of the pool again.
    text = node.node.labels.get(GPU_COUNT, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def home_share(
    jobs: Mapping[str, Sequence[Job]],
    pool: Pool,
    gpus: PoolGpus,
    end_s: float,
    *,
    most_work: int = MOST_WORK,
) -> tuple[dict[str, int], list[str]]:
    """Return what the home mix entitles each profile to, and what was left out.

    Parameters
    ----------
    jobs
        Past requests by resource.
    pool
        The pool they were for.
    gpus
        Its GPUs that may be cut.
    end_s
        End of the past, epoch seconds.
    most_work
        Work that one search may take, see ``MOST_WORK``.

    Returns
    -------
    tuple
        Instances by resource, with an entry for whole GPUs in any case, and notices.
        Nothing when the search fails.
    """
    home: dict[str, int] = {}
    notices: list[str] = []
    shared = _divided(jobs, pool, gpus, notices)
    for model, number in gpus.numbers:
        past = shared[model.key]
        shrink = _shrink(model, past, number, most_work)
        if shrink > 1:
            notices.append(
                f"the home mix of {number} x {model.key} was found for one in {shrink} of"
                " its GPUs and requests"
            )
            past = {name: own[::shrink] for name, own in past.items()}
        try:
            mix = home_mix(model, past, max(1, number // shrink), end_s)
        except PlanningError as error:
            return {}, [*notices, str(error)]
        # More than was ever wanted at once is room that the mix had to spare.
        needed = Counts({name: _peak(own) for name, own in past.items()})
        home.setdefault(resource_name(model.whole_gpu.name), 0)
        for name, instances in mix.instances.items():
            entitled = min(instances, needed[name]) * shrink
            # The mix is for all hours, so ceilings of some hours do not bound it.
            ceilings = pool.ceilings if isinstance(pool.ceilings, dict) else {}
            entitled = min(entitled, ceilings.get(name, entitled))
            resource = resource_name(name)
            home[resource] = home.get(resource, 0) + entitled
    return home, notices


def _divided(
    jobs: Mapping[str, Sequence[Job]], pool: Pool, gpus: PoolGpus, notices: list[str]
) -> dict[str, dict[str, list[Job]]]:
    """Return the requests of each model by profile; in proportion where several serve."""
    shared: dict[str, dict[str, list[Job]]] = {model.key: {} for model, _ in gpus.numbers}
    for resource, own in sorted(jobs.items()):
        able = []
        for model, number in gpus.numbers:
            profile = parse_resource(model, resource)
            if profile is not None and (pool.profiles is None or profile in pool.profiles):
                able.append((model.key, profile, number))
        if not able:
            if own:
                notices.append(f"{resource} is left out of the home mix: not offered here")
            continue
        given = [0] * len(able)
        for job in own:
            place = min(range(len(able)), key=lambda i: ((given[i] + 1) / able[i][2], i))
            given[place] += 1
            key, profile, _ = able[place]
            shared[key].setdefault(profile, []).append(job)
    return shared


def _shrink(
    model: GpuModel, past: Mapping[str, Sequence[Job]], gpus: int, most_work: int
) -> int:
    """Return by how much a search must be made smaller to stay within bounds."""
    asked = [name for name, own in past.items() if own]
    patterns = len(maximal_multisets(model, asked)) if asked else 0
    moves = ROUNDS * patterns**2
    queues = sum(len(own) * _peak(own) for own in past.values())
    replays = sum(len(own) for own in past.values()) * moves
    shrink = 1
    # Both the requests and the instances shrink, so the work of the queues falls with
    # the square; the moves that are tried stay as many.
    while queues / shrink**2 + replays / shrink > most_work and gpus // (shrink + 1) >= 1:
        shrink += 1
    return shrink


def _peak(jobs: Sequence[Job]) -> int:
    """Return how many jobs there would be at once at most if none ever waited."""
    moves = [(job.arrival_s, 1) for job in jobs]
    moves += [(job.arrival_s + job.service_s, -1) for job in jobs]
    most = now = 0
    for _, change in sorted(moves):
        now += change
        most = max(most, now)
    return most
