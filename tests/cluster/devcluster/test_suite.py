"""Installing the suite's definitions and accounts from config/."""

import asyncio
import json
import socket
from http import HTTPStatus
from pathlib import Path

import pytest

from devcluster import process_service
from devcluster.cluster import Cluster
from devcluster.suite import COMPONENTS, NAMESPACE, Suite
from olmctl.questions import port_forward
from olmctl.questions.port_forward import RUKPAK
from olmctl.questions.session import Session
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from tests.cluster.devcluster.test_cluster import eventually

pytestmark = pytest.mark.usefixtures("unforked_controllers")


@pytest.fixture
def installed(cluster: Cluster) -> Cluster:
    Suite(cluster).install()
    return cluster


def test_each_controller_has_an_account_that_can_get_a_token(installed: Cluster) -> None:
    for name in COMPONENTS:
        who = json.loads(
            installed.kubectl(
                f"--kubeconfig={installed.token_kubeconfig(NAMESPACE, name)}", "auth", "whoami", "-o", "json"
            )
        )
        assert who["status"]["userInfo"]["username"] == f"system:serviceaccount:{NAMESPACE}:{name}"


def test_all_kinds_are_served(installed: Cluster) -> None:
    wanted = ["bundledeployments", "bundles", "catalogs", "operators", "packages"]

    def listed() -> list[str]:
        kinds = installed.kubectl("api-resources", "--categories=olm", "-o", "name").split()
        return sorted(kind.split(".")[0] for kind in kinds)

    eventually(lambda: listed() == wanted)  # discovery follows a CRD that is Established


def test_installing_again_changes_nothing(installed: Cluster) -> None:
    before = versions(installed)
    Suite(installed).install()
    assert versions(installed) == before


def versions(cluster: Cluster) -> dict[str, str]:
    listed = json.loads(cluster.kubectl("get", "crds", "--selector=app.kubernetes.io/part-of=olm-suite", "-o", "json"))[
        "items"
    ]
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed}


def test_two_replicas_of_catalogd_serve_with_one_certificate_that_its_clients_trust(
    installed: Cluster, tmp_path: Path
) -> None:
    with Suite(installed, tmp_path) as suite:
        suite.start("catalogd")
        second = suite.start_replica("catalogd")
        assert second == "catalogd-2"
        shown = {certificate_of(suite, name) for name in ("catalogd", second)}
        assert len(shown) == 1
        assert suite.pid("catalogd") != suite.pid(second)
        suite.kill("catalogd")
        assert certificate_of(suite, second) in shown
        suite.start("catalogd")
        assert certificate_of(suite, "catalogd") in shown


def test_the_proxy_of_the_api_server_reaches_rukpak(cluster: Cluster, tmp_path: Path) -> None:
    if process_service.machine_address() is None:
        pytest.skip("the API server proxies no Service to loopback")
    path = f"/api/v1/namespaces/{NAMESPACE}/services/https:rukpak:https/proxy/uploads/none.tgz?digest=sha256:{'0' * 64}"
    with Suite(cluster, tmp_path) as suite:
        suite.install()  # the Service leads to the address of this one
        suite.start("rukpak")
        # Endpoints follow the Service and its pod.
        eventually(lambda: cluster.api.request("PUT", path, {"any": "archive"})[0] != HTTPStatus.SERVICE_UNAVAILABLE)
        status, answer = cluster.api.request("PUT", path, {"any": "archive"})
    assert status == HTTPStatus.NOT_FOUND
    assert answer["error"].startswith("no Bundle of this name waits for this archive")


def certificate_of(suite: Suite, name: str) -> bytes:
    """The certificate that a client which trusts the published CA receives."""
    address = suite.addresses[name].catalogs
    assert address is not None
    host, _, port = address.partition(":")
    with (
        socket.create_connection((host, int(port)), timeout=10) as plain,
        suite.tls_context().wrap_socket(plain, server_hostname=host) as connection,
    ):
        found = connection.getpeercert(binary_form=True)
    assert found is not None
    return found


def test_ports_of_rukpak_are_forwarded_if_that_is_asked_for(cluster: Cluster, tmp_path: Path) -> None:
    if process_service.machine_address() is None:
        pytest.skip("no pod stands for a process of loopback")

    async def answer() -> None:
        async with Client(str(cluster.kubeconfig)) as client:
            await port_forward.request(Session(client, NAMESPACE), RUKPAK, "GET", "/bundles/none.tgz")

    with Suite(cluster, tmp_path, forwards_ports=True) as suite:
        suite.install()
        suite.start("rukpak")
        with pytest.raises(NotFound):  # rukpak has answered
            asyncio.run(answer())
