"""Identity: which GPU model a node has, and how many of them.

Labels of feature discovery say it, with traps: the product is decorated, two name
tables share one product, the count means instances under strategy single, and one
label stands for a node with several models. What does not add up is not guessed.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.cluster.marks import DEPLOY_PREFIX
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.fleet.memory import GPU_COUNT, GPU_MEMORY, PRODUCT, STRATEGY
from autoscaler.domain.mig.profile import GpuModel, models_for_product
from autoscaler.domain.mig.resource import PREFIX, is_shared, parse_resource
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.reasons import Hold, Reason

INVALID = "-MIG-INVALID"
SINGLE_MARK = "-MIG-"
MIB_PER_GB = 1024
# Boards report up to this part less memory than their name says.
MEMORY_TOLERANCE = 0.06


@dataclass(frozen=True, slots=True)
class Identity:
    """What a node is.

    Parameters
    ----------
    model
        ``None`` when unknown.
    num_gpus
        Boards, at least 1; ``None`` when the labels do not tell.
    strategy
        As the node's label says, else as the policy does.
    holds
        Why it is not known, or contradicts itself.
    """

    model: GpuModel | None
    num_gpus: int | None
    strategy: Strategy
    holds: tuple[Hold, ...] = ()


def identify(node: Node, strategy: Strategy, known_model: str | None = None) -> Identity:
    """Return what a node's labels say of its GPUs.

    Parameters
    ----------
    node
        With labels that are away for a while restored.
    strategy
        The policy's, where the node has no label of its own.
    known_model
        Key of the model that this very node had before.
    """
    strategy, holds = _strategy_of(node, strategy)
    product = node.labels.get(PRODUCT, "")
    if not product:
        return Identity(None, None, strategy, (*holds, _no_product(node)))
    models = models_for_product(product)
    if not models:
        text = f"node {node.name}: no geometry is known for GPU product {product}"
        return Identity(None, None, strategy, (*holds, _hold(Reason.UNKNOWN_MODEL, text, node)))
    fitting = _narrow(node, models, known_model)
    if len(fitting) != 1:
        names = " or ".join(model.key for model in models)
        text = (
            f"node {node.name}: GPU product {product} may be {names},"
            " and nothing it advertises tells them apart"
        )
        return Identity(None, None, strategy, (*holds, _hold(Reason.UNKNOWN_MODEL, text, node)))
    if product.removesuffix("-SHARED").endswith(INVALID):
        return Identity(fitting[0], None, strategy, (*holds, _invalid(node, product)))
    number, unclear = _count_of(node, fitting[0], product)
    return Identity(fitting[0], number, strategy, (*holds, *unclear))


def _strategy_of(node: Node, wished: Strategy) -> tuple[Strategy, tuple[Hold, ...]]:
    label = node.labels.get(STRATEGY)
    if label is None:
        return wished, ()
    if label not in {*Strategy}:
        text = f"node {node.name}: {STRATEGY}={label} is no strategy that is known"
        return wished, (_hold(Reason.UNREADABLE, text, node),)
    return Strategy(label), ()


def _narrow(
    node: Node, models: tuple[GpuModel, ...], known_model: str | None
) -> tuple[GpuModel, ...]:
    """Return the models that all signs of the node allow."""
    if len(models) == 1:
        return models
    known = tuple(m for m in models if m.key == known_model)
    if known:
        return known
    names = tuple(n for n in node.allocatable if n.startswith(PREFIX) and not is_shared(n))
    fitting = tuple(m for m in models if _has_all(m, names))
    if names and len(fitting) == 1:
        return fitting
    return _nearest_memory(node, fitting) or fitting


def _has_all(model: GpuModel, resources: Iterable[str]) -> bool:
    return all(parse_resource(model, name) is not None for name in resources)


def _nearest_memory(node: Node, models: tuple[GpuModel, ...]) -> tuple[GpuModel, ...]:
    """Return the model whose memory is nearest to the label, if one clearly is."""
    memory_mib = whole_number(node.labels.get(GPU_MEMORY, ""))
    if not memory_mib or not models:
        return ()
    off = sorted((abs(memory_mib / MIB_PER_GB - m.memory_gb), m.key, m) for m in models)
    best, _, model = off[0]
    is_near = best <= MEMORY_TOLERANCE * model.memory_gb
    return (model,) if is_near and (len(off) == 1 or off[1][0] > best) else ()


def _count_of(node: Node, model: GpuModel, product: str) -> tuple[int | None, tuple[Hold, ...]]:
    text = node.labels.get(GPU_COUNT)
    if text is None:
        message = f"node {node.name} has no label {GPU_COUNT}: its GPUs are not counted"
        return None, (_hold(Reason.GEOMETRY_UNKNOWN, message, node),)
    number = whole_number(text)
    if not number:
        message = f"node {node.name}: {GPU_COUNT}={text} is not a number of GPUs"
        return None, (_hold(Reason.UNREADABLE, message, node),)
    plain = product.removesuffix("-SHARED")
    if SINGLE_MARK not in plain:
        return number, ()
    # Under strategy single the label counts instances; full GPUs tell their number.
    name = parse_resource(model, plain.rpartition(SINGLE_MARK)[2])
    profile = None if name is None else model.profile(name)
    if profile is None or number % profile.max_instances:
        message = (
            f"node {node.name} counts {number} instances of {plain}:"
            " the number of its GPUs is not known"
        )
        return None, (_hold(Reason.GEOMETRY_UNKNOWN, message, node),)
    return number // profile.max_instances, ()


def whole_number(text: str) -> int | None:
    """Return a number of at least 0 that is written with digits only."""
    return int(text) if text.isascii() and text.isdigit() else None


def _no_product(node: Node) -> Hold:
    away = sorted(k for k in node.labels if k.startswith(DEPLOY_PREFIX))
    offers = f"advertises {node.allocatable}" if node.allocatable else "advertises no GPU"
    hint = " (GPU components are deployed there)" if away else ""
    text = f"node {node.name} has no label {PRODUCT} and {offers}: its GPUs are unknown{hint}"
    return _hold(Reason.UNKNOWN_MODEL, text, node)


def _invalid(node: Node, product: str) -> Hold:
    text = (
        f"node {node.name} carries product {product}: its layout is not valid for strategy"
        " single, so no pod can run there until all its GPUs hold the same kind of instance"
    )
    return _hold(Reason.PRODUCT_INVALID, text, node)


def _hold(reason: Reason, text: str, node: Node) -> Hold:
    return Hold(reason, text, node.name)
