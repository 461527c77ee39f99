"""Windows agree with an oracle that walks the local calendar minute by minute."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.policy.policy import ALL_DAYS, DailySpan, Freeze
from autoscaler.domain.policy.window import closes_at_s, is_frozen, is_open, next_open_s

MINUTE = timedelta(minutes=1)
ZONES = [
    "UTC", "Europe/Berlin", "Europe/London", "Europe/Lisbon", "Europe/Moscow", "Asia/Shanghai",
    "Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tehran", "Asia/Beirut", "Asia/Gaza",
    "Africa/Cairo", "Africa/Casablanca", "Africa/Johannesburg", "America/New_York",
    "America/Los_Angeles", "America/Sao_Paulo", "America/Havana", "America/Santiago",
    "America/St_Johns", "America/Nuuk", "America/Asuncion", "Atlantic/Azores",
    "Australia/Lord_Howe", "Australia/Adelaide", "Pacific/Auckland", "Pacific/Chatham",
    "Pacific/Apia", "Pacific/Kiritimati", "Antarctica/Troll", "Antarctica/Casey",
]  # fmt: skip


def wall_minutes(span, first, days):
    """Return all local minutes of a span, as naive times, by adding them up one by one."""
    minutes = set()
    for offset in range(days):
        day = first + timedelta(days=offset)
        if ALL_DAYS[day.weekday()] not in span.days:
            continue
        hour, minute = map(int, span.start.split(":"))
        wall = datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001 (local)
        while True:
            minutes.add(wall)
            wall += MINUTE
            passed_midnight = wall.date() > day
            label = f"{wall:%H:%M}"
            if label == span.end or (passed_midnight and span.end == "24:00"):
                break
    return minutes


class Oracle:
    """Which minutes are open, from a Sunday on, for three weeks."""

    def __init__(self, spans, start):
        """Work out all minutes once."""
        first = (start - timedelta(days=3)).date()
        self.minutes = [(s, wall_minutes(s, first, 24)) for s in spans]

    def is_open(self, instant):
        """Say whether some span's clock shows one of its minutes."""
        return any(
            instant.astimezone(ZoneInfo(s.time_zone)).replace(second=0, tzinfo=None, fold=0)
            in minutes
            for s, minutes in self.minutes
        )

    def first(self, start, wanted, limit):
        """Return the first minute from ``start`` on that is open, or is not."""
        for number in range(limit):
            if self.is_open(start + number * MINUTE) == wanted:
                return (start + number * MINUTE).timestamp()
        return None


clock_times = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))


@st.composite
def spans(draw):
    """Draw a span of any length."""
    start = draw(clock_times)
    end = draw(st.one_of(st.just("24:00"), clock_times).filter(lambda t: t != start))
    days = draw(st.sets(st.sampled_from(ALL_DAYS), min_size=1))
    zone = draw(st.sampled_from(ZONES))
    return DailySpan(days=tuple(sorted(days)), start=start, end=end, time_zone=zone)


@st.composite
def instants(draw):
    """Draw a minute, most often close to a change of some clock."""
    day = draw(st.dates(datetime(2024, 1, 1).date(), datetime(2031, 12, 1).date()))  # noqa: DTZ001
    if draw(st.booleans()):
        # Clocks change in these weeks nearly everywhere.
        month, last = draw(st.sampled_from([(3, 31), (10, 31), (4, 7), (11, 7), (9, 30)]))
        day = day.replace(month=month, day=draw(st.integers(last - 6, last - 1)))
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return midnight + draw(st.integers(0, 1439)) * MINUTE


@given(st.lists(spans(), min_size=1, max_size=2), instants())
def test_windows_agree_with_the_calendar(windows, start):
    """Open or closed, at many instants of two days."""
    oracle = Oracle(windows, start)
    for number in range(0, 2880, 7):
        instant = start + number * MINUTE
        assert is_open(windows, instant.timestamp()) == oracle.is_open(instant), instant


@settings(max_examples=40)
@given(st.lists(spans(), min_size=1, max_size=2), instants())
def test_edges_agree_with_the_calendar(windows, start):
    """The next opening and closing are the oracle's, where it sees one within nine days."""
    oracle, limit = Oracle(windows, start), 9 * 1440
    windows = tuple(windows)
    opens_s = next_open_s(windows, start.timestamp())
    expected = oracle.first(start, True, limit)
    if expected is not None:
        assert opens_s == expected
    closes_s = closes_at_s(windows, start.timestamp())
    expected = oracle.first(start, False, limit)
    if expected is None:
        assert closes_s is None or closes_s >= (start + limit * MINUTE).timestamp()
    else:
        assert closes_s == expected


@given(spans(), instants(), st.integers(-2, 3), st.integers(0, 5), st.sampled_from(ZONES))
def test_the_next_opening_is_open_and_not_frozen(span, start, offset, length, zone):
    """Whatever the freeze, and never before now."""
    first = (start + timedelta(days=offset)).date()
    freeze = Freeze(from_=first, to=first + timedelta(days=length), time_zone=zone)
    now_s = start.timestamp()
    opens_s = next_open_s((span,), now_s, (freeze,))
    assert opens_s is not None
    assert opens_s >= now_s
    assert is_open((span,), opens_s)
    assert is_frozen((freeze,), opens_s) is None
    assert closes_at_s((span,), opens_s, (freeze,)) > opens_s
