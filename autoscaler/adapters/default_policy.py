"""The policy when nobody gives one: one pool for each product of GPU that is there."""

import re
from collections.abc import Iterable
from importlib import resources

from autoscaler.adapters.policy_file import parse_policy
from autoscaler.domain.cluster.objects import Node, Observation
from autoscaler.domain.fleet.conditions import journal_of
from autoscaler.domain.fleet.memory import CAPABLE
from autoscaler.domain.fleet.pooling import has_gpu_signs
from autoscaler.domain.mig.profile import model_of
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Policy, Pool
from autoscaler.domain.policy.policy_check import PRODUCT_LABEL
from autoscaler.domain.policy.pool import LABEL_VALUE_PATTERN

FILE = "default.yaml"


def default_policy_text() -> str:
    """Return the policy file that comes with the package; it has a pool for every product."""
    path = resources.files("autoscaler.adapters").joinpath("data", FILE)
    return path.read_text(encoding="utf-8")


def default_policy_in(observation: Observation) -> Policy:
    """Return the default policy with pools for the nodes that are there.

    Where no node hints at a GPU, one pool of any GPU node says that there is none.
    """
    labels = products_in(observation)
    policy = default_policy_for(labels)
    if labels or any(has_gpu_signs(node) for node in observation.nodes):
        return policy
    return policy.model_copy(update={"pools": (Pool(name="gpus"),)})


def products_in(observation: Observation) -> tuple[str, ...]:
    """Return the products of the nodes.

    Boards that cannot do MIG are left out where others are there: nothing is planned for
    them. While a node is rolled its label may be away; its journal names the pool.
    """
    able: set[str] = set()
    unable: set[str] = set()
    for node in observation.nodes:
        can_cut = node.labels.get(CAPABLE) != "false"
        (able if can_cut else unable).add(_product_of(node))
    return tuple(sorted((able - {""}) or (unable - {""})))


def _product_of(node: Node) -> str:
    """Return the product of a node, empty when it is not known."""
    label = node.labels.get(PRODUCT_LABEL, "")
    journal = journal_of(node)
    if label or journal is None:
        return label
    model = model_of(journal.model)
    products = () if model is None else model.products
    pools = {pool.name: pool.node_selector[PRODUCT_LABEL] for pool in default_pools(products)}
    return pools.get(journal.pool, "")


def default_policy_for(products: Iterable[str]) -> Policy:
    """Return the default policy with pools for these product labels only.

    A selector holds one value a label, and boards of one model come under several
    product labels, so there is one pool a label, named after it. Products without a
    profile table get a pool too: their nodes show up with the reason why they are not
    planned. Without any product the policy is the file as it is.
    """
    policy = parse_policy(default_policy_text(), FILE).policy
    # A file may hold what an API server would never take; such a node is in no pool.
    labels = sorted({text for text in products if re.fullmatch(LABEL_VALUE_PATTERN, text)})
    if not labels:
        return policy
    return policy.model_copy(update={"pools": default_pools(labels)})


def default_pools(labels: Iterable[str]) -> tuple[Pool, ...]:
    """Return one pool a product label, names made unique."""
    taken: set[str] = set()
    pools = []
    for label in labels:
        name = _free_name(label, taken)
        taken.add(name)
        # Under strategy single the device plugin's companion writes the profile, or
        # that it is invalid, into the product label.
        strategy = Strategy.SINGLE if "-MIG-" in label else Strategy.MIXED
        pools.append(Pool(name=name, node_selector={PRODUCT_LABEL: label}, strategy=strategy))
    return tuple(pools)


def _free_name(label: str, taken: set[str]) -> str:
    word = re.sub(r"[^a-z0-9.]+", "-", label.lower().removeprefix("nvidia-")).strip("-.")[:58]
    name, number = word or "unnamed", 2
    while name in taken:
        name, number = f"{word}-{number}", number + 1
    return name
