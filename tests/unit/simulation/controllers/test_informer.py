"""Local copies: nothing is missed, also when the watch was forgotten."""

from autoscaler.ports import CONFIG_MAPS
from autoscaler.simulation.controllers.informer import Informers
from autoscaler.simulation.store import Store, StoreClient


def make_client() -> tuple[Store, StoreClient]:
    store = Store(lambda: 1_700_000_000.0)
    return store, StoreClient(store, "test")


def create(client: StoreClient, name: str, **data: str) -> None:
    client.create(CONFIG_MAPS, "default", {"metadata": {"name": name}, "data": data})


def changes(feed) -> list[str]:
    """Return what a feed says, one word a change."""
    words = []
    for notice in feed.take():
        sign = "+" if notice.old is None else "-" if notice.new is None else "~"
        words.append(sign + notice.key[1])
    return words


def test_feed_begins_with_what_exists():
    """Each subscriber sees every object once, then the changes."""
    _, client = make_client()
    create(client, "a")
    informer = Informers(client).of(CONFIG_MAPS)
    feed = informer.subscribe()
    assert changes(feed) == ["+a"]
    create(client, "b")
    client.patch(CONFIG_MAPS, "default", "a", {"data": {"x": "1"}})
    client.delete(CONFIG_MAPS, "default", "b")
    assert changes(feed) == ["+b", "~a", "-b"]
    assert changes(feed) == []


def test_feeds_do_not_take_from_each_other():
    """Two controllers share the copy and not the queue."""
    _, client = make_client()
    informers = Informers(client)
    first, second = (informers.of(CONFIG_MAPS).subscribe() for _ in range(2))
    create(client, "a")
    assert changes(first) == ["+a"]
    assert changes(second) == ["+a"]


def test_forgotten_watch_is_listed_again():
    """After compaction the difference is found by a list."""
    store, client = make_client()
    create(client, "a")
    create(client, "b")
    feed = Informers(client).of(CONFIG_MAPS).subscribe()
    assert changes(feed) == ["+a", "+b"]
    client.delete(CONFIG_MAPS, "default", "a")
    client.patch(CONFIG_MAPS, "default", "b", {"data": {"x": "1"}})
    create(client, "c")
    store.compact()
    assert sorted(changes(feed)) == ["+c", "-a", "~b"]


def test_new_object_under_an_old_name_is_another_object():
    """Its end and its begin are two changes."""
    store, client = make_client()
    create(client, "a")
    feed = Informers(client).of(CONFIG_MAPS).subscribe()
    assert changes(feed) == ["+a"]
    client.delete(CONFIG_MAPS, "default", "a")
    create(client, "a")
    store.compact()
    assert changes(feed) == ["-a", "+a"]


def test_nothing_is_asked_while_nothing_was_written():
    """Where the version of the world is known it saves the question."""
    store, client = make_client()
    informers = Informers(client, version=store.version_of)
    feed = informers.of(CONFIG_MAPS).subscribe()
    assert changes(feed) == []
    asked = len(store.requests.entries())
    assert changes(feed) == []
    assert len(store.requests.entries()) == asked
    create(client, "a")
    assert changes(feed) == ["+a"]
