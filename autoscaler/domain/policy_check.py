"""What a policy that is well-formed may still have wrong: profiles, and keys without effect.

Unlike the checks of the model itself these need the table of GPU models, so that a
name which no board has is found when the file is read and not on the night it matters.
"""

from collections.abc import Iterator

from autoscaler.domain.complaints import did_you_mean
from autoscaler.domain.policy import DemandRules, Pool
from autoscaler.domain.profile import GpuModel, load_models, models_for_product
from autoscaler.domain.section import Path, Problem

PRODUCT_LABEL = "nvidia.com/gpu.product"


def pool_problems(pool: Pool) -> tuple[Problem, ...]:
    """Return the profiles of a pool that its GPUs do not have; paths below the pool.

    Where the pool selects one known product, only that board's profiles count, else
    those of all boards.
    """
    product = pool.node_selector.get(PRODUCT_LABEL, "")
    models = models_for_product(product)
    return tuple(
        Problem(path, problem)
        for path, name in _named_profiles(pool)
        if (problem := _profile_problem(name, models, product))
    )


def pool_warnings(pool: Pool) -> tuple[Problem, ...]:
    """Return what a pool says that has no effect, now or ever; paths below the pool."""
    found = []
    product = pool.node_selector.get(PRODUCT_LABEL)
    if product is not None and not models_for_product(product):
        text = f"there is no profile table for {product}: its nodes will be on hold"
        found.append(Problem(("nodeSelector", PRODUCT_LABEL), text))
    if pool.profiles is not None:
        found += [
            Problem((*path, name), f"has no effect: {name} is not one of the pool's profiles")
            for path, amounts in pool.all_ceilings()
            for name in amounts
            if name not in pool.profiles
        ]
    return tuple(found)


def demand_problems(demand: DemandRules) -> tuple[Problem, ...]:
    """Return the profiles of scheduled peaks that no GPU model has; paths below ``demand``."""
    return tuple(
        Problem(("scheduled", number, "profiles", name), problem)
        for number, peak in enumerate(demand.scheduled)
        for name in peak.profiles
        if (problem := _profile_problem(name, (), ""))
    )


def demand_warnings(demand: DemandRules) -> tuple[Problem, ...]:
    """Return what is said of demand and has no effect; paths below ``demand``."""
    return tuple(
        Problem(("scheduled", number), "has no effect: demand.peaks.weight is 0")
        for number, _ in enumerate(demand.scheduled)
        if not demand.peaks.weight
    )


def _named_profiles(pool: Pool) -> Iterator[tuple[Path, str]]:
    for number, name in enumerate(pool.profiles or ()):
        yield ("profiles", number), name
    for path, amounts in (*pool.all_floors(), *pool.all_ceilings()):
        for name in amounts:
            yield (*path, name), name


def _profile_problem(name: str, mine: tuple[GpuModel, ...], product: str) -> str:
    models = mine or load_models()
    if any(model.profile(name) for model in models):
        return ""
    known = list(dict.fromkeys(p.name for model in models for p in model.profiles))
    near = did_you_mean(name, known)
    if not mine:
        return f"{name} is no profile of any known GPU model{near}"
    return f"{name} is no profile of {product}{near}; it has {', '.join(known)}"
