"""The past as the loop keeps it: when it is looked at, what a failure costs."""

from dataclasses import dataclass, field, replace

import pytest

from autoscaler.control.past import (
    MOST_STEPS,
    NO_PAST,
    RETRY_S,
    STEP_S,
    Look,
    Past,
    alone_in,
    fingerprint_of,
    grid_until,
)
from autoscaler.control.past_json import MOST_CHARACTERS, past_from_text, past_to_text
from autoscaler.domain.errors import Unavailable
from autoscaler.planning.forecasting.forecast import Forecast
from autoscaler.planning.past.demand_history import DemandHistory, Service, Source
from autoscaler.planning.past.value_history import PoolPast
from tests.builders import fleet_node, snapshot
from tests.fleets import policy, pool
from tests.pasts import DAY_S, HOUR_S, MONDAY_S, ONE, THREE, WHOLE, samples

NOW_S = MONDAY_S + 21 * DAY_S + 1234.5


@dataclass
class Remembered:
    """A source that knows of a constant demand, or fails."""

    at_once: float = 3.0
    error: Exception | None = None
    asked: list = field(default_factory=list)

    def demand(self, name, grid, alone):
        self.asked.append((name, grid, alone))
        if self.error is not None:
            raise self.error
        own = samples([self.at_once] * grid.number)
        key = (name, ONE)
        return DemandHistory(
            grid, {key: own}, {key: own}, {key: Service(4, 400)}, sources=(Source.OWN_METRICS,)
        )


def rules(*pools, **forecast):
    """Return a policy, with a forecast where it is told how."""
    own = policy(*pools)
    if not forecast:
        return own
    fields = own.model_dump(by_alias=True) | {"demand": {"forecast": forecast}}
    return type(own).model_validate(fields)


def look(source, own=None, now_s=NOW_S, fleet=None):
    """Return a look at the past of one node of one GPU."""
    return Look(source, own or rules(), fleet or snapshot(), now_s)


def test_a_pool_is_looked_at_once_a_day():
    """And found to have wanted three small instances at once."""
    source = Remembered()
    past = look(source).refreshed(NO_PAST)
    own = past.pools["pool"]
    assert (own.home, own.made_at_s) == ({ONE: 3, WHOLE: 0}, NOW_S)
    assert look(source, now_s=NOW_S + DAY_S - 1).refreshed(past) is past
    later = look(source, now_s=NOW_S + DAY_S).refreshed(past)
    assert later.pools["pool"].made_at_s == NOW_S + DAY_S
    assert len(source.asked) == 2


def test_one_pool_a_cycle_and_the_longest_waiting_first():
    """So that no cycle takes long."""
    source, own = Remembered(), rules(pool("a"), pool("b"))
    fleet = snapshot(fleet_node("x", pool="a"), fleet_node("y", pool="b"))
    past = look(source, own, fleet=fleet).refreshed(NO_PAST)
    assert list(past.pools) == ["a"]
    past = look(source, own, NOW_S + 30, fleet).refreshed(past)
    assert list(past.pools) == ["a", "b"]
    assert look(source, own, NOW_S + 60, fleet).refreshed(past) is past


def test_a_failure_leaves_what_was_known_and_is_tried_again_later():
    """With its reason; not in every cycle."""
    past = look(Remembered()).refreshed(NO_PAST)
    broken = Remembered(error=Unavailable("no Prometheus"))
    failed = look(broken, now_s=NOW_S + DAY_S).refreshed(past)
    assert failed.pools == past.pools
    assert failed.notices == {"pool": "the past of pool pool is not known: no Prometheus"}
    soon = NOW_S + DAY_S + RETRY_S
    assert look(broken, now_s=soon - 1).refreshed(failed) is failed
    mended = look(Remembered(), now_s=soon).refreshed(failed)
    assert (mended.notices, mended.pools["pool"].made_at_s) == ({}, soon)


def test_a_pool_that_grew_is_looked_at_again_within_the_hour():
    """Its home mix was for fewer GPUs; nodes that come and go do not make it restless."""
    past = look(Remembered()).refreshed(NO_PAST)
    larger = snapshot(fleet_node(layout=[{"1g.5gb": 7}] * 2))
    assert look(Remembered(), now_s=NOW_S + HOUR_S - 1, fleet=larger).refreshed(past) is past
    again = look(Remembered(), now_s=NOW_S + HOUR_S, fleet=larger).refreshed(past)
    assert again.pools["pool"].gpus == "2 x a100-40gb"


def test_a_forecast_is_made_every_hour():
    """The home mix stays that of the day."""
    own, source = rules(history="14d"), Remembered()
    past = look(source, own).refreshed(NO_PAST)
    assert past.forecasts["pool"].is_confident
    hour_s = (NOW_S // HOUR_S + 1) * HOUR_S
    later = look(source, own, hour_s).refreshed(past)
    assert later.forecasts["pool"].made_at_s == hour_s
    assert later.pools == past.pools
    assert look(source, own, hour_s + 60).refreshed(later) is later


def test_a_policy_that_wants_no_forecast_any_more_gets_none():
    """The next look drops it."""
    past = look(Remembered(), rules(history="14d")).refreshed(NO_PAST)
    plain = look(Remembered(), now_s=NOW_S + DAY_S).refreshed(past)
    assert plain.forecasts == {}


def test_what_is_too_old_counts_no_more():
    """Nobody has looked for longer than the past that was looked at."""
    past = look(Remembered()).refreshed(NO_PAST)
    assert past.values(rules(), NOW_S + 14 * DAY_S).home
    assert not past.values(rules(), NOW_S + 14 * DAY_S + 1).home


def test_pools_that_the_policy_does_not_have_any_more_do_not_count():
    """Their findings are of other nodes."""
    past = look(Remembered()).refreshed(NO_PAST)
    assert not past.values(rules(pool("other")), NOW_S).home


def test_a_forecast_counts_for_as_long_as_it_looks_ahead():
    """Then the share of time is back."""
    own = rules(history="14d")
    past = look(Remembered(), own).refreshed(NO_PAST)
    made = past.forecasts["pool"]
    sure = replace(made, reason="")
    unsure = replace(made, reason="it was wrong of late")
    with_it = replace(past, forecasts={"pool": sure})
    plain = replace(past, forecasts={"pool": unsure})
    end_s = made.made_at_s + made.horizon_s
    assert with_it.values(own, end_s - 1).reach[("pool", ONE)] == (1.0, 1.0, 1.0)
    assert plain.values(own, end_s - 1) == with_it.values(own, end_s)


def test_the_later_of_two_findings_counts():
    """Whichever replica made it."""
    mine = Past(pools={"a": PoolPast("a", 100.0), "b": PoolPast("b", 300.0)})
    kept = {"a": PoolPast("a", 200.0), "b": PoolPast("b", 200.0), "c": PoolPast("c", 1.0)}
    both = mine.newer_of(kept)
    assert {name: own.made_at_s for name, own in both.pools.items()} == {
        "a": 200.0, "b": 300.0, "c": 1.0
    }  # fmt: skip


def test_the_fingerprint_changes_with_what_the_past_is_worth():
    """And with nothing else, so that an idle loop stays idle."""
    past = look(Remembered()).refreshed(NO_PAST)
    again = look(Remembered(), now_s=NOW_S + DAY_S).refreshed(past)
    other = look(Remembered(5.0)).refreshed(NO_PAST)
    prints = [fingerprint_of(p.values(rules(), NOW_S)) for p in (past, again, other)]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize("days", [1, 14, 400, 3660])
def test_points_lie_at_full_multiples_and_are_not_too_many(days):
    """So that samples of two looks are the same."""
    grid = grid_until(NOW_S, days * DAY_S)
    last_s = grid.start_s + (grid.number - 1) * grid.step_s
    assert grid.number <= MOST_STEPS
    assert grid.step_s % STEP_S == 0
    assert last_s % grid.step_s == 0
    assert NOW_S - grid.step_s < last_s <= NOW_S


def test_only_resources_of_one_pool_may_be_taken_for_its_own():
    """An A30 has no profile of an A100; two pools of A100 share all of theirs."""
    a30 = fleet_node("b", [{"1g.6gb": 4}], key="a30-24gb", pool="a30")
    fleet = snapshot(fleet_node("a"), a30)
    assert ONE in alone_in("pool", fleet)
    assert "nvidia.com/mig-1g.6gb" in alone_in("a30", fleet)
    assert alone_in("pool", snapshot(fleet_node("a"), fleet_node("b", pool="x"))) == ()


FOUND = PoolPast(
    pool="a",
    made_at_s=MONDAY_S,
    inputs="abc",
    gpus="2 x a100-40gb",
    sources=("job-log",),
    known_s=DAY_S,
    services={ONE: Service(3, 300.5)},
    home={ONE: 3, WHOLE: 0},
    reach={ONE: (0.5, 0.5, 0.02), THREE: ()},
    notices=("something is odd",),
)


def test_what_is_kept_is_read_as_it_was():
    """Every field."""
    other = PoolPast("b", MONDAY_S, reason="too short")
    assert past_from_text(past_to_text([other, FOUND])) == {"a": FOUND, "b": other}
    assert past_to_text([other, FOUND]) == past_to_text([FOUND, other])


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "7", "[7]", '[{"pool": "a"}]', '[{"pool": "a", "madeAt": "x"}]'],
)
def test_what_cannot_be_read_is_as_if_it_were_not_there(text):
    """It is found anew within the day."""
    assert past_from_text(text) == {}


def test_impossible_figures_are_not_believed():
    """A chance above one, a negative home; the other pool is read."""
    good = past_to_text([FOUND])
    bad = good.replace('"pool":"a"', '"pool":"b"').replace("0.5", "1.5")
    assert list(past_from_text(f"{good[:-1]},{bad[1:]}")) == ["a"]


def test_what_has_no_room_in_the_config_map_is_left_out_and_said():
    """Home and service times stay."""
    reach = {f"r-{i}": tuple(0.5 + j % 2 * 0.1 for j in range(50)) for i in range(2000)}
    text = past_to_text([replace(FOUND, reach=reach)])
    assert len(text) < MOST_CHARACTERS
    (own,) = past_from_text(text).values()
    assert (own.reach, own.home) == ({}, FOUND.home)
    assert "left out" in own.notices[-1]


def test_a_forecast_without_futures_reaches_nothing():
    """It is silent, not zero."""
    assert Forecast("a", NOW_S, HOUR_S).reach() == {}


def test_a_clock_that_went_back_finds_the_past_anew():
    """What was found in the future would else stand until the clock is there again."""
    own, source = rules(history="14d"), Remembered()
    ahead = look(source, own, NOW_S + 365 * DAY_S).refreshed(NO_PAST)
    back = look(source, own, NOW_S).refreshed(ahead)
    assert back.pools["pool"].made_at_s == NOW_S
    assert back.tried_s["pool"] == NOW_S
    assert abs(back.forecasts["pool"].made_at_s - NOW_S) < STEP_S
    assert look(source, own, NOW_S + 60.0).refreshed(back) is back
