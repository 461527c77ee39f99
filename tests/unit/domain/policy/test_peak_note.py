"""The annotation of a peak: JSON, a short form, and what is wrong with others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.peak_note import MOST_TEXT, read_notes

WEEKLY = (
    '{"profiles": {"3g.20gb": 8}, "days": ["mon", "tue"], "start": "09:00",'
    ' "end": "13:00", "timeZone": "Asia/Shanghai"}'
)


def test_both_forms_say_the_same():
    """In any order of words."""
    (long,) = read_notes(WEEKLY)
    for text in (
        "3g.20gb=8 mon,tue 09:00-13:00 Asia/Shanghai",
        "Asia/Shanghai 09:00-13:00 mon-tue 3g.20gb=8",
    ):
        assert read_notes(text) == (long,)
    assert long.span.days == ("mon", "tue")
    assert (long.span.start, long.span.time_zone) == ("09:00", "Asia/Shanghai")


def test_without_days_and_zone_it_is_every_day_in_utc():
    """As for spans of the policy."""
    (note,) = read_notes("1g.5gb=1 22:00-06:00")
    assert (len(note.span.days), note.span.time_zone) == (7, "UTC")


def test_a_peak_may_be_once():
    """From one moment to another, with their zones."""
    (note,) = read_notes("3g.20gb=8 2026-12-01T09:00:00+08:00/2026-12-01T13:00:00+08:00")
    assert note.to_s - note.from_s == 4 * 3600
    assert note.span is None


def test_several_peaks_may_be_said_at_once():
    """A list, or parted by semicolons."""
    short = read_notes("1g.5gb=1 09:00-10:00; 2g.10gb=2 fri-mon 11:00-12:00;")
    assert [dict(note.profiles) for note in short] == [{"1g.5gb": 1}, {"2g.10gb": 2}]
    assert short[1].span.days == ("mon", "fri", "sat", "sun")
    assert len(read_notes(f"[{WEEKLY}, {WEEKLY}]")) == 2


def test_a_run_of_a_cron_job_may_say_how_long():
    """Its times are those of its schedule."""
    (note,) = read_notes("3g.20gb=8 for=2h")
    assert (note.for_, note.span, note.from_) == (7200.0, None, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "says nothing"),
        (" ; ", "says nothing"),
        ("x" * (MOST_TEXT + 1), "is longer than"),
        ("{", "is not JSON"),
        ("[1]", "a peak is a mapping"),
        ("9g.1gb=3 09:00-10:00", "profiles[9g.1gb]: is no profile of any known GPU model"),
        ("3g.20gb=0 09:00-10:00", "must be more than 0"),
        ("3g.20gb=100001 09:00-10:00", "profiles[3g.20gb]"),
        ("3g.20gb=1,3g.20gb=2 09:00-10:00", "names a profile twice"),
        ("3g.20gb=8 09:00-09:00", "end: is the same as start"),
        ("3g.20gb=8 25:00-26:00", "start: '25:00' is not a time"),
        ("3g.20gb=8 mon", "start: is missing beside days or timeZone"),
        ("3g.20gb=8 09:00-10:00 Asia/Shangai", "is not an IANA time zone"),
        ("3g.20gb=8 09:00-10:00 11:00-12:00", "says start a second time"),
        ("3g.20gb=8 mon,mon 09:00-10:00", "days"),
        ("3g.20gb=8 soon!", "'soon!' is not understood"),
        ("3g.20gb=8 2026-12-01T09:00/2026-12-01T10:00", "is not a time with a zone"),
        ("3g.20gb=8 2026-12-01T09:00Z/2026-12-01T08:00Z", "to: is not after from"),
        (
            '{"profiles": {"3g.20gb": 8}, "from": "2026-12-01T09:00Z"}',
            "from and to go together",
        ),
        ('{"profiles": {"3g.20gb": 8}, "start": "09:00"}', "start and end go together"),
        ('{"profiles": {"3g.20gb": "8"}}', "must be a whole number"),
        ('{"profile": {"3g.20gb": 8}}', "profile: is not a key here"),
        ('{"profiles": {}}', "profiles"),
        ("3g.20gb=8 for=soon", "for: 'soon' is not a duration"),
        (
            WEEKLY[:-1] + ', "from": "2026-12-01T09:00Z", "to": "2026-12-01T10:00Z"}',
            "cannot go with start",
        ),
    ],
)
def test_what_cannot_be_read_is_named(text, said):
    """None of it counts then: a guess could re-cut a fleet."""
    with pytest.raises(ConfigError) as error:
        read_notes(text)
    assert said in str(error.value)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    """Never another error, whatever people write."""
    try:
        notes = read_notes(text)
    except ConfigError:
        return
    assert notes
