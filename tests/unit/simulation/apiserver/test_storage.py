"""Storage: versions, order, the past, and forgetting it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.ports import CONFIG_MAPS, PODS
from autoscaler.simulation.apiserver.status import StatusError
from autoscaler.simulation.apiserver.storage import Collection, Storage, key_of


def item(name: str, namespace: str = "x", **fields: object) -> dict:
    return {"metadata": {"name": name, "namespace": namespace}, **fields}


def keys(collection: Collection, namespace: str = "") -> list[str]:
    return ["/".join(key_of(i)) for i in collection.select(namespace)]


def test_versions_grow_over_all_kinds() -> None:
    """One counter; each write gets the next number."""
    storage = Storage(history_limit=10)
    first = storage.put(PODS, item("a"))
    second = storage.put(CONFIG_MAPS, item("a"))
    versions = [int(i["metadata"]["resourceVersion"]) for i in (first, second)]
    assert versions == [storage.version - 1, storage.version]


def test_objects_come_in_the_order_of_their_keys() -> None:
    """By namespace, then name, whatever the order of creation."""
    storage = Storage(history_limit=10)
    for name, namespace in (("b", "y"), ("c", "x"), ("a", "y"), ("a", "x-1"), ("a", "x")):
        storage.put(PODS, item(name, namespace))
    pods = storage.of(PODS)
    assert keys(pods) == ["x/a", "x/c", "x-1/a", "y/a", "y/b"]
    assert keys(pods, "x") == ["x/a", "x/c"]
    assert keys(pods, "z") == []
    assert len(pods) == 5


def test_a_write_never_changes_what_was_read() -> None:
    """Readers keep what they have."""
    storage = Storage(history_limit=10)
    before = storage.put(PODS, item("a", value=1))
    copied = {**before, "metadata": dict(before["metadata"])}
    storage.put(PODS, item("a", value=2))
    assert before == copied


writes = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.booleans()), max_size=25
)


@given(writes)
def test_every_past_state_can_be_read_again(script):
    """The list at any version that is remembered is what it was then."""
    storage = Storage(history_limit=100)
    pods, seen = storage.of(PODS), {}
    for number, (name, namespace, removes) in enumerate(script):
        there = pods.find((namespace, name))
        if removes and there:
            storage.remove(PODS, there)
        else:
            storage.put(PODS, item(name, namespace, number=number))
        seen[storage.version] = (pods.select(), pods.select("x"))
    for version, (everything, some) in seen.items():
        assert pods.select_at(version) == everything
        assert pods.select_at(version, "x") == some


def test_records_tell_what_was_before() -> None:
    """Needed to show a change through a selector."""
    storage = Storage(history_limit=10)
    start = storage.version
    added = storage.put(PODS, item("a", value=1))
    changed = storage.put(PODS, item("a", value=2))
    storage.remove(PODS, changed)
    records = storage.of(PODS).records_after(start)
    assert [(r.type, r.previous) for r in records] == [
        ("ADDED", None),
        ("MODIFIED", added),
        ("DELETED", changed),
    ]
    assert [r.version for r in records] == [start + 1, start + 2, start + 3]
    assert records[-1].object["metadata"]["resourceVersion"] == str(storage.version)
    assert storage.of(PODS).records_after(storage.version) == ()


def test_the_past_is_forgotten_beyond_the_limit() -> None:
    """Old versions are refused, new ones are complete."""
    storage = Storage(history_limit=5)
    first = storage.version
    for number in range(20):
        storage.put(PODS, item("a", number=number))
    pods = storage.of(PODS)
    with pytest.raises(StatusError, match="too old resource version") as refused:
        pods.records_after(first)
    assert refused.value.code == 410
    recent = pods.records_after(storage.version - 5)
    assert [r.object["number"] for r in recent] == [15, 16, 17, 18, 19]


def test_compaction_forgets_up_to_a_version() -> None:
    """The version itself can still be read, older ones cannot."""
    storage = Storage(history_limit=10)
    storage.put(PODS, item("a"))
    kept = storage.version
    storage.put(PODS, item("b"))
    storage.compact(kept)
    pods = storage.of(PODS)
    assert [key_of(i)[1] for i in pods.select_at(kept)] == ["a"]
    with pytest.raises(StatusError, match="too old"):
        pods.select_at(kept - 1)
