"""All policies by name, and how each is run on a case."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.placement import place
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.policy import Driver, Mode, Policy, policy_hash
from autoscaler.domain.policy.policy_check import PRODUCT_LABEL
from autoscaler.planning.past.exact_mix import exact_mix
from autoscaler.planning.past.mix_replay import Order
from autoscaler.planning.past.static_mix import StaticMix
from autoscaler.simulation.controllers.agents import AgentFactory
from autoscaler.simulation.study.baselines.costs import DAS, DRA, HAMI_SLOTS, PLUGIN
from autoscaler.simulation.study.baselines.greedy import (
    BestFit,
    FirstFit,
    FirstFitDecreasing,
    SlotReservation,
    SpreadingFirstFit,
)
from autoscaler.simulation.study.baselines.least import LeastDisturbance
from autoscaler.simulation.study.baselines.miso import Miso
from autoscaler.simulation.study.baselines.nos import Nos, geometries_of
from autoscaler.simulation.study.baselines.placer import Placer
from autoscaler.simulation.study.baselines.repack import FreeRepack
from autoscaler.simulation.study.baselines.templates import TemplateLock
from autoscaler.simulation.study.baselines.threshold import Threshold, uniform
from autoscaler.simulation.study.embedded import EmbeddedSettings, run_embedded
from autoscaler.simulation.study.hedged import Hedged, hedged_past
from autoscaler.simulation.study.jobs import queued_by_profile
from autoscaler.simulation.study.light import LightFleet, Player, play
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.players import Exact, Static
from autoscaler.simulation.study.replanning import HedgedPlanner, Replanner
from autoscaler.simulation.study.sources.source import hash_of
from autoscaler.simulation.study.splits import Case
from autoscaler.simulation.study.static_mix import plain_sizes, replayed_s, tuned_mix

# GPUs of a node where nothing else is said: the agent changes one GPU at a time anyway,
# MIG manager closes whole nodes, and those it finds have eight.
GPUS_PER_NODE: Mapping[Driver, int] = {Driver.AGENT: 1, Driver.MIG_MANAGER: 8}

AUTOSCALER, ALL_BALANCED = "autoscaler", "all-balanced"


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under what policies are run.

    Parameters
    ----------
    policy
        The policy file of the autoscaler.
    driver
        Who cuts GPUs for it.
    gpus_per_node
        GPUs of a node; one node has the rest.
    closes_by_profile
        Whether what becomes free waits for the autoscaler's next look.
    agent
        Makes node agents, where the driver is ``agent``.
    named
        More policy files of the autoscaler, each with a name of its own among policies.
    """

    policy: Policy
    driver: Driver = Driver.AGENT
    gpus_per_node: int = 1
    closes_by_profile: bool = False
    agent: AgentFactory | None = None
    named: tuple[tuple[str, Policy], ...] = ()

    def __post_init__(self) -> None:
        names = [name for name, _ in self.named]
        for name in names:
            if name in POLICIES or names.count(name) > 1:
                raise ConfigError(
                    f"{name} is the name of another policy: choose one of its own"
                )

    def fingerprint(self) -> str:
        """Return a short hash of all that outcomes depend on."""
        return hash_of(
            policy_hash(self.policy),
            self.driver.value,
            self.gpus_per_node,
            self.closes_by_profile,
            [(name, policy_hash(policy)) for name, policy in self.named],
        )


# Their source takes the GPUs of a node in the order of a Go map.
DRAWING = frozenset({"nos-strict", "nos-fixed"})

Run = Callable[[str, Case, Conditions], Outcome]


def run_policy(name: str, case: Case, conditions: Conditions) -> Outcome:
    """Run a policy on a case.

    Raises
    ------
    ConfigError
        When there is no policy of that name.
    """
    require([name], conditions)
    own = dict(conditions.named).get(name)
    if own is not None:
        return _autoscaler(name, case, replace(conditions, policy=own))
    return POLICIES[name](name, case, conditions)


def require(names: Iterable[str], conditions: Conditions) -> None:
    """Refuse names of policies that are not known."""
    known = {**POLICIES, **dict(conditions.named)}
    for name in names:
        if name not in known:
            raise ConfigError(f"{name} is no policy; known are {', '.join(known)}")


def require_for(model: GpuModel, name: str, conditions: Conditions) -> None:
    """Refuse a policy that cannot be run on a fleet of a model, before anything is."""
    policy = dict(conditions.named).get(name)
    if name == AUTOSCALER:
        policy = conditions.policy
    if policy is not None:
        for_study(policy, model, conditions.driver)
    if name == ALL_BALANCED:
        _balanced(model)


def has_loop(names: Iterable[str]) -> bool:
    """Say whether any of some policies is the real loop, on the embedded cluster."""
    return any(name == AUTOSCALER or name not in POLICIES for name in names)


def draw_by_seed(names: Iterable[str], gpus_per_node: int) -> bool:
    """Say whether any of some policies draws: the order of a node's GPUs, as nos does."""
    return gpus_per_node > 1 and any(name in DRAWING for name in names)


def _autoscaler(name: str, case: Case, conditions: Conditions) -> Outcome:
    policy = for_study(conditions.policy, case.model, conditions.driver)
    mix = tuned_mix(case.model, case.past, case.gpus)
    settings = EmbeddedSettings(
        layouts=mix.gpus,
        policy=policy,
        driver=conditions.driver,
        gpus_per_node=conditions.gpus_per_node,
        closes_by_profile=conditions.closes_by_profile,
        agent=conditions.agent,
    )
    return run_embedded(name, case, settings)


def for_study(policy: Policy, model: GpuModel, driver: Driver) -> Policy:
    """Return a policy as it would act on a fleet of one model.

    It acts whatever its mode is, because that is the question. Of its pools the first that
    may hold the model has all nodes: other labels than the product's are taken to be there.

    Raises
    ------
    ConfigError
        When no pool may hold the model.
    """
    for pool in policy.pools:
        product = pool.node_selector.get(PRODUCT_LABEL)
        if product is None or product in model.products:
            everywhere = {"nvidia.com/gpu.present": "true"}
            own = pool.model_copy(update={"node_selector": everywhere})
            acting = policy.model_copy(update={"pools": (own,), "mode": Mode.AUTO})
            return with_driver(acting, driver)
    raise ConfigError(f"no pool of policy {policy.metadata.name} is for {model.key}")


def with_driver(policy: Policy, driver: Driver) -> Policy:
    """Return a policy whose pools are cut by a driver."""
    pools = tuple(pool.model_copy(update={"driver": driver}) for pool in policy.pools)
    return policy.model_copy(update={"pools": pools})


def _static_past(name: str, case: Case, conditions: Conditions) -> Outcome:
    return _static(name, case, conditions, tuned_mix(case.model, case.past, case.gpus))


def _static_exact(name: str, case: Case, conditions: Conditions) -> Outcome:
    """Run the mix that is best where pods get just the profile they name, as they do."""
    past = queued_by_profile(case.past.jobs)
    mix = exact_mix(case.model, past, case.gpus, case.past.span_s)
    return _light(name, case, conditions, (Exact(), geometries(case, mix.gpus)))


def _static_hindsight(name: str, case: Case, conditions: Conditions) -> Outcome:
    return _static(name, case, conditions, tuned_mix(case.model, case.present, case.gpus))


def _unpartitioned(name: str, case: Case, conditions: Conditions) -> Outcome:
    mix = _best_on_past(case, _uniform(case, case.model.whole_gpu.name))
    return _static(name, case, conditions, mix)


def _uniform_best(name: str, case: Case, conditions: Conditions) -> Outcome:
    """Cut all GPUs into instances of one size, the best on the past."""
    layouts = [_uniform(case, size) for size in plain_sizes(case.model).names]
    return _static(name, case, conditions, _best_on_past(case, *layouts))


def _all_balanced(name: str, case: Case, conditions: Conditions) -> Outcome:
    gpus = (_balanced(case.model),) * case.gpus
    return _static(name, case, conditions, _best_on_past(case, gpus))


def _balanced(model: GpuModel) -> Counts:
    if not model.all_balanced:
        raise ConfigError(f"{model.key} has no all-balanced configuration")
    return model.all_balanced


def _smallest(name: str, case: Case, conditions: Conditions) -> Outcome:
    smallest = plain_sizes(case.model).names[0]
    return _static(name, case, conditions, _best_on_past(case, _uniform(case, smallest)))


def _uniform(case: Case, size: str) -> tuple[Counts, ...]:
    return (uniform(case.model, size).counts,) * case.gpus


def _best_on_past(case: Case, *layouts: tuple[Counts, ...]) -> StaticMix:
    """Return the layout, and the order of service under it, that was best on the past."""
    mixes = [StaticMix(gpus, order) for gpus in layouts for order in Order]
    return min(mixes, key=lambda mix: replayed_s(case.past, mix, case.model))


def _static(name: str, case: Case, conditions: Conditions, mix: StaticMix) -> Outcome:
    sizes = plain_sizes(case.model).names
    player = Static(sizes, mix.order)
    return _light(name, case, conditions, (player, geometries(case, mix.gpus)))


def geometries(case: Case, gpus: tuple[Counts, ...]) -> tuple[Geometry, ...]:
    """Return where the instances of a mix are placed on each GPU."""
    found = []
    for counts in gpus:
        geometry = place(case.model, counts)
        if geometry is None:
            raise ConfigError(f"one {case.model.key} cannot hold {counts}")
        found.append(geometry)
    return tuple(found)


def _hedged(name: str, case: Case, conditions: Conditions) -> Outcome:
    """Run what the planner comes from, in its plainest form, under a scheduler."""
    mix = tuned_mix(case.model, case.past, case.gpus)
    policy = Hedged(case.model, hedged_past(case.past, mix.instances), case.gpus)
    player = Replanner(HedgedPlanner(policy))
    return _light(name, case, conditions, (player, geometries(case, mix.gpus)))


def _light(
    name: str, case: Case, conditions: Conditions, game: tuple[Player, tuple[Geometry, ...]]
) -> Outcome:
    player, layouts = game
    fleet = LightFleet(case.model, layouts, conditions.gpus_per_node)
    return play(name, fleet, case.present.jobs, player)


def _empty(make: Callable[[Case], Player]) -> Run:
    """Return the run of a player on GPUs that hold nothing yet."""

    def run(name: str, case: Case, conditions: Conditions) -> Outcome:
        return _light(name, case, conditions, (make(case), (Geometry(),) * case.gpus))

    return run


def _threshold(name: str, case: Case, conditions: Conditions) -> Outcome:
    layouts = geometries(case, _uniform(case, case.model.whole_gpu.name))
    return _light(name, case, conditions, (Threshold(case.model), layouts))


def _least(name: str, case: Case, conditions: Conditions) -> Outcome:
    mix = tuned_mix(case.model, case.past, case.gpus)
    player = LeastDisturbance(case.model)
    return _light(name, case, conditions, (player, geometries(case, mix.gpus)))


def _nos(is_strict: bool) -> Run:
    def run(name: str, case: Case, conditions: Conditions) -> Outcome:
        layouts = geometries(case, (geometries_of(case.model)[0],) * case.gpus)
        player = Nos(case.model, is_strict, case.seed)
        return _light(name, case, conditions, (player, layouts))

    return run


def _repack(name: str, case: Case, conditions: Conditions) -> Outcome:
    return FreeRepack(case.model, case.gpus).run(name, case.present.jobs)


def _miso(name: str, case: Case, conditions: Conditions) -> Outcome:
    return Miso(case.model, case.gpus).run(name, case.present.jobs)


POLICIES: Mapping[str, Run] = {
    AUTOSCALER: _autoscaler,
    "hedged": _hedged,
    "static-past": _static_past,
    "static-exact": _static_exact,
    "static-hindsight": _static_hindsight,
    "unpartitioned": _unpartitioned,
    "uniform-best": _uniform_best,
    ALL_BALANCED: _all_balanced,
    "7x1g": _smallest,
    "threshold": _threshold,
    "nos-strict": _nos(is_strict=True),
    "nos-fixed": _nos(is_strict=False),
    "hami-template": _empty(lambda case: TemplateLock(case.model)),
    "hami-slots": _empty(lambda case: Placer(SlotReservation(case.model), HAMI_SLOTS)),
    "das": _empty(lambda case: Placer(SpreadingFirstFit(case.model), DAS)),
    "dra-first-fit": _empty(lambda case: Placer(FirstFit(), DRA)),
    "ff": _empty(lambda case: Placer(FirstFit(), PLUGIN, keeps_idle=True)),
    "ffd": _empty(lambda c: Placer(FirstFitDecreasing(c.model), PLUGIN, keeps_idle=True)),
    "bf": _empty(lambda case: Placer(BestFit(case.model), PLUGIN, keeps_idle=True)),
    "least-disturbance": _least,
    "free-repack": _repack,
    "miso": _miso,
}
