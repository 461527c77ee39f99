"""Work on a Dask cluster; a real one, of one process, on this machine."""

import subprocess
import sys
from socket import socket

import pytest

from autoscaler.adapters.dask_cluster import dask_pool
from autoscaler.domain.errors import ConfigError, Unavailable
from tests.dask_clusters import dask_cluster

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address():
    """Yield the address of a cluster with one worker of two threads, in another process."""
    with dask_cluster() as found:
        yield found


def test_work_is_done_on_the_cluster(address):
    """Two threads, each with a future of the standard library."""
    with dask_pool(address) as (pool, number):
        assert number == 2
        assert pool.submit(divmod, 17, 5).result(10) == (3, 2)


def test_errors_come_back_as_they_are(address):
    """What a run raises there is raised here."""
    with dask_pool(address) as (pool, _), pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 1, 0).result(10)


def test_an_address_that_is_none_is_refused():
    """Before anything is run."""
    with pytest.raises(ConfigError, match="is no address of a Dask cluster"), dask_pool("a:b"):
        pass


def test_a_server_that_is_no_cluster_is_an_error():
    """It accepts, as that of a page would, and says nothing."""
    with socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        told = pytest.raises(Unavailable, match=f"no Dask cluster answers at {address}")
        with told, dask_pool(address, timeout_s=0.3):
            pass


@pytest.mark.parametrize("address", ["foo", "tls://127.0.0.1:1"])
def test_a_process_ends_at_once_after_a_wrong_address(address):
    """With a line, and no word of the library about a client that it cannot close."""
    code = (
        "from autoscaler.adapters.dask_cluster import dask_pool\n"
        "from autoscaler.domain.errors import ConfigError\n"
        "try:\n"
        f"    dask_pool({address!r}, timeout_s=1.0).__enter__()\n"
        "except ConfigError as error:\n"
        "    print(error)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert "is no address of a Dask cluster" in found.stdout
    assert "TimeoutError" not in found.stderr


def test_nobody_at_the_address_is_an_error():
    """A port that nobody listens on; the address is named."""
    with socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        told = pytest.raises(Unavailable, match=f"no Dask cluster answers at {nobody}")
        with told, dask_pool(nobody, timeout_s=0.3):
            pass
