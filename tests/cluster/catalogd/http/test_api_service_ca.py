"""What catalogd writes of an APIService on the real API server, and of which one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from catalogd.http.api_service_ca import ApiServiceCa
from devcluster.cluster import Cluster
from olmkit.api.meta import Object
from olmkit.api.package_manifests import API_SERVICE, API_SERVICE_NAME, package_manifest_objects
from olmkit.runtime.client import Client

NAMESPACE = "nowhere"
PEM = b"-----BEGIN CERTIFICATE-----\n"


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with Client(str(cluster.kubeconfig)) as client:
        yield client


async def bundle_after_write(client: Client, service: dict[str, Any] | None, namespace: str, ca: bytes) -> Any:
    """The caBundle of an APIService with this Service, after a check by catalogd in this namespace."""
    api: Object = package_manifest_objects(NAMESPACE)[-1]
    if service is not None:
        api = {**api, "spec": {**api["spec"], "service": service}}
    await client.create(API_SERVICE, api)
    try:
        writer = ApiServiceCa(client, namespace, lambda: ca)
        await writer.write()
        found = await client.get(API_SERVICE, API_SERVICE_NAME)
        await writer.write()
        again = await client.get(API_SERVICE, API_SERVICE_NAME)
        assert again["spec"] == found["spec"], "a check that changes nothing writes nothing"
        return found["spec"].get("caBundle")
    finally:
        await client.delete(API_SERVICE, API_SERVICE_NAME)


async def test_the_api_server_trusts_the_ca_of_catalogd(client: Client) -> None:
    assert await bundle_after_write(client, None, NAMESPACE, PEM)


@pytest.mark.parametrize(
    ("service", "namespace", "ca"),
    [
        pytest.param({"name": "packageserver-service", "namespace": "olm", "port": 5443}, NAMESPACE, PEM, id="OLM v0"),
        pytest.param(None, "other", PEM, id="a catalogd elsewhere"),
        pytest.param(None, NAMESPACE, b"", id="a CA that is not known"),
    ],
)
async def test_an_api_service_that_is_not_for_it_stays(
    client: Client, service: dict[str, Any] | None, namespace: str, ca: bytes
) -> None:
    assert await bundle_after_write(client, service, namespace, ca) is None


async def test_nothing_is_done_without_an_api_service_or_the_permission(
    client: Client, cluster: Cluster, tmp_path: Path
) -> None:
    await ApiServiceCa(client, NAMESPACE, lambda: PEM).write()
    async with Client(str(cluster.token_kubeconfig("kube-system", "default"))) as nobody:
        await ApiServiceCa(nobody, NAMESPACE, lambda: PEM).write()
