"""What a policy that is well-formed may still have wrong: profiles, and keys without effect.

Unlike the checks of the model itself these need the table of GPU models, so that a
name which no board has is found when the file is read and not on the night it matters.
"""

from collections.abc import Iterable, Iterator, Mapping

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.placement import fits
from autoscaler.domain.mig.profile import GpuModel, load_models, models_for_product
from autoscaler.domain.policy.complaints import did_you_mean
from autoscaler.domain.policy.policy import DemandRules, Policy, Pool
from autoscaler.domain.policy.section import Path, Problem

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


def preset_problems(policy: Policy) -> tuple[Problem, ...]:
    """Return presets that no GPU can have, and uses of presets that there are not."""
    models = {model.key: model for model in load_models()}
    found = [
        problem
        for name, layouts in policy.presets.items()
        for key, amounts in layouts.items()
        if (problem := _layout_problem(("presets", name, key), models.get(key), amounts))
    ]
    for number, pool in enumerate(policy.pools):
        for place, use in enumerate(pool.presets):
            path = ("pools", number, "presets", place)
            if use.preset not in policy.presets:
                near = did_you_mean(use.preset, list(policy.presets))
                text = f"there is no preset {use.preset} in this file{near}"
                found.append(Problem((*path, "preset"), text))
            if use.when is not None:
                wrong = _profile_problem(use.when.profile, (), "")
                found += [Problem((*path, "when", "profile"), wrong)] if wrong else []
            forbidden = _forbidden(pool, policy.presets.get(use.preset, {}).values())
            if forbidden:
                text = f"{forbidden} is not one of the pool's profiles"
                found.append(Problem((*path, "preset"), text))
    return tuple(found)


def _forbidden(pool: Pool, layouts: Iterable[Mapping[str, int]]) -> str:
    """Return a profile that every layout needs one of and that a pool does not allow."""
    allowed = set(pool.profiles or ())
    lacking = [sorted(set(amounts) - allowed) for amounts in layouts]
    return lacking[0][0] if pool.profiles and lacking and all(lacking) else ""


def _layout_problem(
    path: Path, model: GpuModel | None, amounts: Mapping[str, int]
) -> Problem | None:
    if model is None:
        key = str(path[-1])
        near = did_you_mean(key, [own.key for own in load_models()])
        return Problem(path, f"{key} is no key of a GPU model{near}")
    for name in amounts:
        if model.profile(name) is None:
            return Problem((*path, name), f"{name} is no profile of {model.key}")
    if not any(amounts.values()) or not fits(model, Counts(amounts)):
        return Problem(path, f"one {model.key} cannot hold {Counts(amounts) or 'nothing'}")
    return None


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
