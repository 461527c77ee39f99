"""Samples: scrapes, collections, staleness and gaps."""

from autoscaler.simulation.prometheus.series import Sample, SeriesStore
from tests.samples import make_target


def values(store: SeriesStore, name: str, at_s: float) -> list[tuple[float, float]]:
    samples = [series.sample(at_s) for series in store.select(name, (), at_s - 600)]
    return [(s.at_s, s.value) for s in samples if s is not None]


def test_sample_is_that_of_the_last_scrape():
    """A change shows when the next scrape has seen it."""
    store, target = SeriesStore(), make_target(interval_s=15.0, phase_s=5.0)
    store.set(target, "m", {}, 10.0, 1.0)
    store.set(target, "m", {}, 40.0, 2.0)
    assert values(store, "m", 19.0) == []
    assert values(store, "m", 20.0) == [(20.0, 1.0)]
    assert values(store, "m", 49.9) == [(35.0, 1.0)]
    assert values(store, "m", 50.0) == [(50.0, 2.0)]


def test_two_scrapes_can_show_one_collection():
    """An exporter that collects more rarely than it is scraped repeats itself."""
    store, target = SeriesStore(), make_target(interval_s=15.0, collection_s=30.0)
    store.set(target, "m", {}, 0.0, 1.0)
    store.set(target, "m", {}, 31.0, 2.0)
    assert values(store, "m", 45.0) == [(45.0, 1.0)]
    assert values(store, "m", 60.0) == [(60.0, 2.0)]


def test_series_that_goes_away_ends_at_the_next_scrape():
    """Until then the old sample stands; it can still be asked for later."""
    store, target = SeriesStore(), make_target(interval_s=15.0)
    key = store.set(target, "m", {"a": "b"}, 0.0, 1.0)
    store.end("m", key, 31.0)
    assert values(store, "m", 44.0) == [(30.0, 1.0)]
    assert values(store, "m", 45.0) == []
    (series,) = store.select("m", (), 0.0)
    assert series.samples(0.0, 100.0) == [Sample(15.0, 1.0), Sample(30.0, 1.0)]


def test_series_that_comes_back_is_there_again():
    """With the same labels, after a gap."""
    store, target = SeriesStore(), make_target(interval_s=15.0)
    key = store.set(target, "m", {}, 0.0, 1.0)
    store.end("m", key, 20.0)
    store.set(target, "m", {}, 50.0, 3.0)
    assert values(store, "m", 45.0) == []
    assert values(store, "m", 60.0) == [(60.0, 3.0)]


def test_failed_scrape_ends_the_series_at_once():
    """A target that does not answer leaves nothing standing."""
    store, target = SeriesStore(), make_target(interval_s=15.0)
    store.set(target, "m", {}, 0.0, 1.0)
    target.up.set(20.0, None)
    assert values(store, "m", 29.0) == [(15.0, 1.0)]
    assert values(store, "m", 30.0) == []
    target.up.set(50.0, 50.0)
    assert values(store, "m", 60.0) == [(60.0, 1.0)]


def test_scrape_that_was_never_made_leaves_the_old_sample_for_five_minutes():
    """Prometheus itself was away: its last sample stands for the lookback time."""
    store, target = SeriesStore(), make_target(interval_s=15.0)
    store.set(target, "m", {}, 0.0, 1.0)
    target.missed.set(20.0, 1.0)
    assert values(store, "m", 300.0) == [(15.0, 1.0)]
    assert values(store, "m", 315.0) == []
    target.missed.set(400.0, None)
    assert values(store, "m", 410.0) == [(405.0, 1.0)]


def test_labels_of_the_target_win():
    """As with scrapes that do not honor labels; empty labels are no labels."""
    store, target = SeriesStore(), make_target("exporter")
    store.set(target, "m", {"job": "other", "empty": "", "a": "b"}, 0.0, 1.0)
    (series,) = store.select("m", (), 0.0)
    assert dict(series.labels) == {"__name__": "m", "job": "exporter", "a": "b"}


def test_series_gone_for_long_are_forgotten():
    """Memory does not grow with every pod there ever was."""
    store, target = SeriesStore(retention_s=100.0), make_target()
    store.select("m", (), 0.0)
    for index in range(50):
        key = store.set(target, "m", {"pod": str(index)}, index * 10.0, 1.0)
        store.end("m", key, index * 10.0 + 5)
    assert len(list(store.select("m", (), 0.0))) <= 11
