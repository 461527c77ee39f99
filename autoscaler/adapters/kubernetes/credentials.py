"""Where the API server is and how to prove who we are.

Kubeconfig files, service accounts, TLS and proxies are the official client's work;
the calls themselves are made in ``http``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import urllib3
from kubernetes import config
from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject

from autoscaler.domain.errors import ConfigError

# Named with a type, because the loaders have none.
LOAD_FILE: Callable[..., None] = config.load_kube_config
LOAD_POD: Callable[..., None] = config.load_incluster_config
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach an API server.

    Parameters
    ----------
    base_url
        Without a slash at its end.
    pool
        Connections, with certificates and proxy set up.
    credentials
        Returns the headers that authenticate a call; asked for each call, because
        tokens are renewed while we run.
    """

    base_url: str
    pool: urllib3.PoolManager
    credentials: Callable[[], Mapping[str, str]]


def connect(kubeconfig: str | None = None, context: str | None = None) -> Connection:
    """Return the connection of a kubeconfig file, or of the pod we run in.

    Without a file and a context, a service account is preferred to the user's own file.
    """
    configuration = Configuration()
    if kubeconfig is None and context is None and Path(SERVICE_ACCOUNT, "token").exists():
        return connect_in_cluster(configuration)
    source = kubeconfig or "the default kubeconfig"
    if kubeconfig is not None and not Path(kubeconfig).is_file():
        raise ConfigError(f"{kubeconfig}: no such file")
    try:
        LOAD_FILE(kubeconfig, context, configuration, persist_config=False)
    # The loader raises whatever its YAML parser, file system and plugins raise.
    except Exception as error:
        raise ConfigError(f"{source}: {_first_line(error)}") from error
    return connection_of(configuration, source)


def connect_in_cluster(configuration: Configuration) -> Connection:
    """Return the connection of the service account of the pod we run in."""
    try:
        LOAD_POD(configuration)
    except (config.ConfigException, OSError) as error:
        raise ConfigError(f"service account: {_first_line(error)}") from error
    return connection_of(configuration, "service account")


def connection_of(configuration: Configuration, source: str) -> Connection:
    """Return the connection of a loaded configuration.

    Raises
    ------
    ConfigError
        When nothing would authenticate our calls, which ends in 401 on each: 36.0.0
        of the client lost the token of service accounts that way. Plain HTTP, as
        ``kubectl proxy`` offers, needs nothing.
    """
    base_url = str(configuration.host).rstrip("/")

    def credentials() -> Mapping[str, str]:
        # Asking renews the token when it is about to expire.
        bearer = configuration.auth_settings().get("BearerToken")
        value = str(bearer["value"] or "").strip() if bearer else ""
        return {"Authorization": value} if value else {}

    authenticated = credentials() or configuration.cert_file
    if urlsplit(base_url).scheme == "https" and not authenticated:
        raise ConfigError(
            f"{source}: neither a token nor a client certificate would be sent to {base_url}"
        )
    return Connection(base_url, RESTClientObject(configuration).pool_manager, credentials)


def connect_to(url: str, token: str = "") -> Connection:
    """Return the connection to a server at a known address, without TLS settings."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return Connection(url.rstrip("/"), urllib3.PoolManager(maxsize=4), lambda: headers)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
