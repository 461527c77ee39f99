"""Processes for runs: they end with the one that began them, however that ends."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from threading import Thread


def process_pool(number: int) -> ProcessPoolExecutor:
    """Return a pool of so many processes, each with an interpreter of its own."""
    return ProcessPoolExecutor(
        number, mp_context=get_context("spawn"), initializer=_end_with_parent
    )


def _end_with_parent() -> None:
    """Keep watch for the end of the parent.

    The processes of a pool wait for work on a pipe that they hold open themselves, so
    they would wait for ever after a parent that was killed.
    """
    parent = parent_process()
    if parent is not None:
        Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
