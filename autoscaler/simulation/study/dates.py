"""The date on which a run begins: its own where jobs have dates, else a Monday."""

DAY_S = 86_400.0
# A Monday at midnight UTC, like the first day of most calendars.
MONDAY_S = 1_893_456_000.0 - DAY_S
# Seconds since 1970 have ten digits since 2001. Nobody counts so many from another day.
EARLIEST_DATE_S = 1e9


def zero_of(first_s: float) -> float | None:
    """Return the epoch second of a trace's zero; ``None`` where nobody knows it.

    Parameters
    ----------
    first_s
        Its first arrival, in seconds from its zero.
    """
    return 0.0 if first_s >= EARLIEST_DATE_S else None


def start_of(zero_s: float | None, first_s: float) -> float:
    """Return the epoch second at which a run begins.

    Parameters
    ----------
    zero_s
        That of the trace's zero. Where it is not known the run begins on a Monday.
    first_s
        Start of the first day that is judged, in seconds from the trace's zero.
    """
    return MONDAY_S if zero_s is None else zero_s + first_s
