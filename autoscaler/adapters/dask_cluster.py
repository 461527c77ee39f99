"""Work on a Dask cluster, through the executor that its client offers."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autoscaler.domain.errors import ConfigError, Unavailable

if TYPE_CHECKING:
    from distributed import Client

TIMEOUT_S = 30.0


@contextmanager
def dask_pool(address: str, timeout_s: float = TIMEOUT_S) -> Iterator[tuple[Executor, int]]:
    """Connect to a cluster for a while; return its executor and how many threads it has.

    Raises
    ------
    ConfigError
        When Dask is not installed, or the address is none.
    Unavailable
        When nobody answers there.
    """
    with _client(address, timeout_s) as client:
        yield client.get_executor(pure=False), max(1, sum(client.nthreads().values()))


def _client(address: str, timeout_s: float) -> "Client":
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigError(
            "Dask is not installed: pip install 'mig-autoscaler[sweep]'"
        ) from error

    class ClosedUnlessStarted(Client):  # type: ignore[misc]
        """A client that closes where it cannot connect, or the end of the process waits."""

        def start(self, **settings: object) -> None:
            try:
                super().start(**settings)
            except BaseException:
                self.close()
                raise

        async def _start(self, **settings: object) -> object:
            # The library waits without end for an answer of whoever has accepted.
            return await asyncio.wait_for(super()._start(**settings), timeout_s + 1)

    try:
        return ClosedUnlessStarted(address, timeout=timeout_s, set_as_default=False)
    # TLS without a certificate is a type error.
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{address!r} is no address of a Dask cluster: {error}") from error
    except OSError as error:
        reason = str(error) or "nothing came in time"
        raise Unavailable(f"no Dask cluster answers at {address}: {reason}") from error
