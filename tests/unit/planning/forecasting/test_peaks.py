"""Peaks: when they count, and what of them is still to come."""

from dataclasses import replace
from datetime import datetime
from math import inf

import pytest

from autoscaler.domain.cluster.announcement import Announcement
from autoscaler.domain.cluster.objects import Owner
from autoscaler.domain.cluster.queueing import ClusterQueue, Kueue, QueuedWorkload
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.planning.forecasting.outlook import look_ahead
from autoscaler.planning.forecasting.peaks import announced_now, edges_s, peaks_of
from tests.builders import observation, pod
from tests.fleets import policy
from tests.pasts import ONE, THREE

HOUR_S = 3600.0


def at(text):
    """Return the epoch seconds of a moment in UTC."""
    return datetime.fromisoformat(f"2026-{text}Z").timestamp()


# A Tuesday.
NINE = at("03-10T09:00")


def rules(*peaks, windows=None, **changes):
    """Return a policy with these peaks, by default one of eight halves from nine to one."""
    own = peaks or ({"name": "release", "start": "09:00", "end": "13:00"},)
    scheduled = tuple({"profiles": {"3g.20gb": 8}, **peak} for peak in own)
    fields = policy().model_dump(by_alias=True)
    fields["demand"] = {"scheduled": scheduled, **changes}
    fields["disruption"] = {"windows": windows}
    return type(policy()).model_validate(fields)


def no_peaks(**changes):
    """Return a policy without peaks of its own."""
    fields = policy().model_dump(by_alias=True)
    fields["demand"] = {"peaks": changes}
    return type(policy()).model_validate(fields)


def counting(own, now_s, pods=(), announcements=()):
    """Return what counts now by source, and the notices."""
    found, notices = announced_now(peaks_of(own, announcements), own, pods, now_s)
    amounts = {}
    for one in found:
        amounts[one.source] = amounts.get(one.source, 0) + one.number
    return amounts, notices


def asking(name, created_s, number=1, **changes):
    """Return a pod that asks for halves."""
    own = pod(name, {THREE: number}, **changes)
    return replace(own, created_s=created_s)


def of_job(name, created_s, job, **changes):
    """Return such a pod of a Job."""
    return replace(asking(name, created_s, **changes), owner=Owner("Job", job))


@pytest.mark.parametrize(
    ("minutes", "counts"),
    [(-31, False), (-30, True), (0, True), (239, True), (240, False)],
)
def test_a_peak_counts_from_its_lead_to_its_end(minutes, counts):
    """Half an hour ahead, and while it lasts."""
    amounts, _ = counting(rules(), NINE + minutes * 60)
    assert amounts == ({"policy release": 8} if counts else {})


def test_days_and_zones_are_those_of_the_people():
    """Nine in Shanghai is one in UTC; on Tuesdays only."""
    own = rules(
        {
            "name": "x",
            "days": ("tue",),
            "start": "09:00",
            "end": "10:00",
            "timeZone": "Asia/Shanghai",
        }
    )
    assert counting(own, at("03-10T00:45"))[0] == {"policy x": 8}
    assert counting(own, at("03-11T00:45"))[0] == {}


@pytest.mark.parametrize("day", ["03-28", "03-29", "10-25"])
def test_daylight_saving_moves_a_peak_with_the_clock(day):
    """Two in the afternoon in Berlin, before, on and after the nights of the change."""
    own = rules({"name": "x", "start": "14:00", "end": "15:00", "timeZone": "Europe/Berlin"})
    summer = day == "03-29"
    start_s = at(f"{day}T{'12' if summer else '13'}:00")
    assert counting(own, start_s - 1800)[0] == {"policy x": 8}
    assert counting(own, start_s - 1801)[0] == {}
    assert counting(own, start_s + 3600)[0] == {}


def test_a_peak_past_midnight_belongs_to_its_first_day():
    """Friday night into Saturday, and no other night."""
    own = rules({"name": "x", "days": ("fri",), "start": "22:00", "end": "06:00"})
    assert counting(own, at("03-14T05:59"))[0] == {"policy x": 8}
    assert counting(own, at("03-14T06:00"))[0] == {}
    assert counting(own, at("03-15T05:59"))[0] == {}


def test_pods_that_came_with_it_are_part_of_it():
    """Three have come since the lead began, one was there before, one is over."""
    pods = [
        asking("early", NINE - 1801),
        asking("a", NINE - 1800, number=2),
        asking("b", NINE),
        asking("over", NINE, phase="Succeeded"),
        replace(pod("small", {ONE: 1}), created_s=NINE),
    ]
    assert counting(rules(), NINE + 60, pods)[0] == {"policy release": 5}


def test_a_peak_that_has_come_is_no_longer_expected():
    """All eight ask for themselves now."""
    pods = [asking(f"p-{i}", NINE) for i in range(9)]
    assert counting(rules(), NINE + 60, pods)[0] == {}


def test_a_pod_counts_against_one_peak_only():
    """Against the more particular one first."""
    note = Announcement("Namespace", "default", "default", text="3g.20gb=2 09:00-10:00")
    pods = [asking(f"p-{i}", NINE) for i in range(3)]
    amounts, _ = counting(rules(), NINE + 60, pods, [note])
    assert amounts == {"policy release": 7}


WINDOW = {"start": "02:00", "end": "04:00"}


@pytest.mark.parametrize(
    ("moment", "counts"),
    [("03-10T02:30", True), ("03-10T04:30", False), ("03-09T02:30", False)],
    ids=["in the last window before it", "between windows", "another window comes"],
)
def test_where_changes_need_a_window_the_last_one_before_it_counts(moment, counts):
    """Six hours ahead, because nothing can be done later."""
    tuesday = {"name": "release", "days": ("tue",), "start": "09:00", "end": "13:00"}
    own = rules(tuesday, windows=(WINDOW,))
    assert bool(counting(own, at(moment))[0]) is counts


def test_where_idle_changes_need_no_window_there_is_no_hurry():
    """The lead is enough."""
    own = rules(windows=(WINDOW,))
    disruption = own.disruption.model_copy(update={"outside_windows": "idle"})
    own = own.model_copy(update={"disruption": disruption})
    assert counting(own, at("03-10T02:30"))[0] == {}


def test_edges_are_when_it_begins_and_ceases_to_count():
    """Of the time that comes next."""
    found = peaks_of(rules(), ())
    edges = list(edges_s(found, rules(), NINE - HOUR_S))
    assert edges == [NINE - 1800, NINE + 4 * HOUR_S]
    assert list(edges_s(found, rules(), NINE)) == [NINE + 4 * HOUR_S]


def cron(schedule="0 9 * * *", number=4, **changes):
    """Return a CronJob that asks for halves."""
    own = Announcement("CronJob", "team", "nightly", schedule=schedule)
    return replace(own, requests=Counts({THREE: number}), **changes)


@pytest.mark.parametrize(
    ("minutes", "counts"), [(-31, False), (-29, True), (4, True), (6, False)]
)
def test_the_next_run_of_a_cron_job_is_a_peak(minutes, counts):
    """Until its pods must be there."""
    amounts, notices = counting(no_peaks(), NINE + minutes * 60, (), [cron()])
    assert amounts == ({"CronJob team/nightly": 4} if counts else {})
    assert notices == ()


def test_a_run_whose_pods_have_come_is_not_expected_again():
    """Also when they are over already; those of the run before do not count."""
    pods = [
        of_job("a", NINE + 1, "nightly-29553660", namespace="team", phase="Succeeded"),
        of_job("b", NINE + 1, "nightly-29553660", namespace="team"),
        of_job("old", NINE - 60, "nightly-29553600", namespace="team"),
        of_job("other", NINE + 1, "nightly-run", namespace="team"),
        of_job("elsewhere", NINE + 1, "nightly-29553660"),
    ]
    assert counting(no_peaks(), NINE + 60, pods, [cron()])[0] == {"CronJob team/nightly": 2}


def test_a_run_may_ask_for_its_instances_for_some_time():
    """Pods that end make room for others of the run."""
    own = cron(text="3g.20gb=6 for=2h")
    over = of_job("a", NINE + 1, "nightly-1", namespace="team", phase="Succeeded")
    assert counting(no_peaks(), NINE + HOUR_S, [over], [own])[0] == {"CronJob team/nightly": 6}
    assert counting(no_peaks(), NINE + 2 * HOUR_S, [], [own])[0] == {}


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (cron("@every 1h"), "cannot be foreseen"),
        (cron("x x x x x"), "is not understood"),
        (cron(time_zone="Mars/Olympus"), "is not a time zone"),
        (cron(text="3g.20gb=x"), "is not understood"),
        (cron(text="09:00-10:00", number=0), "names no profiles"),
        (Announcement("Namespace", "a", "a", text="3g.20gb=1"), "says no times"),
        (cron(number=0, fault="spec.parallelism: -5 is below zero"), "below zero"),
    ],
)
def test_what_cannot_be_read_does_not_count_and_is_said(own, said):
    """With the object's name."""
    amounts, notices = counting(no_peaks(), NINE - 60, (), [own])
    assert amounts == {}
    assert len(notices) == 1
    assert own.title in notices[0]
    assert said in notices[0]


def test_a_suspended_cron_job_does_not_run():
    """And is no fault."""
    assert counting(no_peaks(), NINE, (), [cron(is_suspended=True)]) == ({}, ())


def test_a_suspended_job_may_be_resumed_at_any_time():
    """Until it is; then its pods speak for themselves."""
    own = Announcement("Job", "team", "train", text="3g.20gb=4", is_suspended=True)
    assert counting(no_peaks(), NINE, (), [own])[0] == {"Job team/train": 4}
    assert counting(no_peaks(), NINE, (), [replace(own, is_suspended=False)])[0] == {}


def test_a_namespace_may_announce_a_time_once():
    """Only pods of the namespace are part of it."""
    text = "3g.20gb=3 2026-03-10T09:00:00Z/2026-03-10T10:00:00Z"
    own = Announcement("Namespace", "team", "team", text=text)
    pods = [asking("a", NINE, namespace="team"), asking("b", NINE)]
    assert counting(no_peaks(), NINE, pods, [own])[0] == {"Namespace team": 2}
    assert counting(no_peaks(), NINE + HOUR_S, pods, [own])[0] == {}


def test_announcements_can_be_turned_off():
    """Then only the policy counts."""
    assert counting(no_peaks(annotations=False), NINE, (), [cron()]) == ({}, ())


def test_a_peak_without_end_has_no_edge_there():
    """Infinity is no moment to look again."""
    own = Announcement("Job", "team", "train", text="3g.20gb=4", is_suspended=True)
    found = peaks_of(no_peaks(), [own])
    assert found.peaks[0].once == (0.0, inf)
    assert list(edges_s(found, no_peaks(), NINE)) == []


def test_the_outlook_adds_peaks_and_queues_to_demand():
    """What the API says of Kueue goes before what metrics say of queues."""
    queue = ClusterQueue("cq", frozenset({ONE}), Counts({ONE: 9}))
    work = QueuedWorkload("team", "w", "cq", Counts({ONE: 2}))
    seen = observation(kueue=Kueue((work,), (queue,)), announcements=(cron("x x x x x"),))
    demand = look_ahead(Demand(queued=Counts({THREE: 7})), seen, rules(), NINE)
    assert demand.queued == Counts({ONE: 2})
    assert [(a.resource, a.number) for a in demand.announced] == [(THREE, 8)]
    assert len(demand.notices) == 1
    plain = look_ahead(Demand(queued=Counts({THREE: 7})), observation(), rules(), NINE)
    assert plain.queued == Counts({THREE: 7})
