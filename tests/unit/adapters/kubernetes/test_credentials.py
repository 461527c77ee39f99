"""How the API server is found, and that calls would prove who we are."""

from pathlib import Path

import pytest
import yaml
from kubernetes.client import Configuration
from kubernetes.config.incluster_config import InClusterConfigLoader

from autoscaler.adapters.kubernetes.credentials import connect, connection_of
from autoscaler.adapters.kubernetes.http import HttpObjectClient
from autoscaler.domain.errors import ConfigError
from autoscaler.ports import NODES
from autoscaler.simulation.clock import VirtualClock
from tests.scripted_server import Reply, ScriptedServer


def kubeconfig(folder: Path, server: str, user: dict[str, str]) -> str:
    """Write a kubeconfig with two contexts, ``one`` being the present one."""
    path = folder / "config"
    clusters = [
        {"name": "here", "cluster": {"server": server}},
        {"name": "there", "cluster": {"server": "http://there.example"}},
    ]
    contexts = [
        {"name": "one", "context": {"cluster": "here", "user": "me"}},
        {"name": "two", "context": {"cluster": "there", "user": "me"}},
    ]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "clusters": clusters,
        "contexts": contexts,
        "users": [{"name": "me", "user": user}],
    }
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_the_token_of_a_kubeconfig_is_sent(tmp_path: Path) -> None:
    """With each call, on the wire."""
    empty = {"kind": "NodeList", "items": [], "metadata": {"resourceVersion": "1"}}
    with ScriptedServer(Reply(empty)) as server:
        path = kubeconfig(tmp_path, server.url, {"token": "s3cret"})
        HttpObjectClient(connect(path), VirtualClock(0.0)).list(NODES)
        assert server.seen[0].headers["Authorization"] == "Bearer s3cret"


def test_a_context_chooses_the_cluster(tmp_path: Path) -> None:
    """The present one unless told otherwise."""
    path = kubeconfig(tmp_path, "http://here.example/", {})
    assert connect(path).base_url == "http://here.example"
    assert connect(path, "two").base_url == "http://there.example"


def test_an_unknown_context_is_a_config_error(tmp_path: Path) -> None:
    """With the file's name and the reason on one line."""
    path = kubeconfig(tmp_path, "http://here.example", {})
    with pytest.raises(ConfigError, match="three") as caught:
        connect(path, "three")
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_or_broken_kubeconfig_is_a_config_error(tmp_path: Path) -> None:
    """Never a traceback."""
    with pytest.raises(ConfigError, match="no such file"):
        connect(str(tmp_path / "nothing"))
    for number, text in enumerate(("", "[]", "{", "clusters: 1", "a: b: c")):
        path = tmp_path / f"config-{number}"
        path.write_text(text)
        with pytest.raises(ConfigError, match=path.name):
            connect(str(path))


def test_a_connection_that_would_not_authenticate_is_refused() -> None:
    """One version of the client lost the token: each call would have ended in 401."""
    configuration = Configuration()
    configuration.host = "https://10.0.0.1"
    configuration.api_key = {"AnotherName": "bearer token"}
    with pytest.raises(ConfigError, match="neither a token nor a client certificate"):
        connection_of(configuration, "service account")


def test_the_token_of_a_service_account_is_found(tmp_path: Path) -> None:
    """With what the installed client's own loader sets, the header is there."""
    token, certificate = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("s3cret\n")
    certificate.write_text("certificate")
    loader = InClusterConfigLoader(
        str(token),
        str(certificate),
        environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"},
    )
    configuration = Configuration()
    loader.load_and_set(configuration)
    connection = connection_of(configuration, "service account")
    assert connection.base_url == "https://10.0.0.1:443"
    assert connection.credentials() == {"Authorization": "bearer s3cret"}


def test_a_renewed_token_is_sent_from_then_on() -> None:
    """Tokens of service accounts are renewed while we run."""
    configuration = Configuration()
    configuration.host = "https://10.0.0.1"
    tokens = iter(["bearer one", "bearer two", "bearer three"])

    def renew(own: Configuration) -> None:
        own.api_key["BearerToken"] = next(tokens)

    configuration.api_key = {"BearerToken": "bearer zero"}
    configuration.refresh_api_key_hook = renew
    connection = connection_of(configuration, "service account")
    assert connection.credentials() != connection.credentials()


def test_plain_http_needs_no_credentials(tmp_path: Path) -> None:
    """As ``kubectl proxy`` offers it."""
    assert connect(kubeconfig(tmp_path, "http://127.0.0.1:8001", {})).credentials() == {}
