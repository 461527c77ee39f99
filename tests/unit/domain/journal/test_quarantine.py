"""A quarantine in its annotation."""

import pytest

from autoscaler.domain.journal.quarantine import Quarantine, backoff_s

ENTRY = Quarantine("NoMigManager", "nobody answered", 10.0, 610.0, 2, True, "node-a-1")


def test_it_comes_back_as_it_was():
    """All fields survive the annotation."""
    assert Quarantine.from_text(ENTRY.to_text()) == ENTRY


def test_it_is_over_at_its_time_or_when_cleared():
    """An operator may end it early."""
    assert not ENTRY.is_over(609.9)
    assert ENTRY.is_over(610.0)
    assert Quarantine.from_text(ENTRY.to_text()[:-1] + ',"cleared":true}').is_over(0.0)
    assert Quarantine.from_text("clear").is_over(0.0)


@pytest.mark.parametrize("text", ["", "keep out", "[]", "{}", '{"until": "x"}', "7"])
def test_what_is_not_ours_never_ends(text):
    """A person wrote it to keep us away."""
    assert not Quarantine.from_text(text).is_over(4e9)


def test_the_wait_doubles_up_to_a_limit():
    """Ten minutes, twenty, forty; not for ever."""
    assert [backoff_s(600.0, n) for n in (1, 2, 3)] == [600.0, 1200.0, 2400.0]
    assert backoff_s(600.0, 40) == backoff_s(600.0, 11)
