"""Processes for runs: they end with the one that began them, however that ends."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread


@contextmanager
def process_pool(number: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of so many processes, each with an interpreter of its own.

    After an error or an interruption they end at once: a pool by itself would first do
    all that has been handed to it, which can take minutes.
    """
    context = get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        number, mp_context=context, initializer=_end_with_parent, initargs=(reader,)
    )
    with reader, writer:
        try:
            yield pool
        except BaseException:
            # One that has lost its processes already takes nothing more.
            with suppress(BrokenExecutor):
                _end_at_once(pool, number, writer)
            raise
        pool.shutdown()


def _end_at_once(pool: ProcessPoolExecutor, number: int, writer: Connection) -> None:
    """End the processes as soon as the pool has put away what it has not begun.

    A pool that loses its processes before trips over what was canceled, and then waits
    for ever. The last of more tasks than it takes ahead is put away after all others.
    """
    last = [pool.submit(os.getpid) for _ in range(number + 2)][-1]
    last.add_done_callback(lambda _: writer.close())
    pool.shutdown(cancel_futures=True)


def _end_with_parent(reader: Connection) -> None:
    """Keep watch for the end of the parent, and leave interruptions to it.

    The processes of a pool wait for work on a pipe that they hold open themselves, so
    they would wait for ever after a parent that was killed. Of this one, nobody but the
    parent holds the other end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_watch, args=(reader,), daemon=True).start()


def _watch(reader: Connection) -> None:
    reader.poll(None)
    os._exit(1)
