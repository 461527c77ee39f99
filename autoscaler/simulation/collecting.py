"""How often the garbage collector looks while a world runs."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def few_collections() -> Iterator[None]:
    """Have the garbage collector look seldom: the world is large and lives to the end.

    Nearly all that a run throws away is freed by its count of references. Looking through
    the world again and again takes an eighth of the time of a run and finds nothing.
    """
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
