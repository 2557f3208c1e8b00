"""What catalogd writes of an APIService and of Secrets on the real API server, and of which ones."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from catalogd.http.published_ca import ApiServiceTarget, PublishedCa, SecretTarget
from devcluster.cluster import Cluster
from olmkit.api.meta import Object
from olmkit.api.package_manifests import API_SERVICE, API_SERVICE_NAME, package_manifest_objects
from olmkit.runtime.client import Client
from olmkit.tls.certificate_rotator import SECRET
from olmkit.tls.service import V1_CA_SECRET

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
        target = ApiServiceTarget(namespace)
        writer = PublishedCa(client, lambda: ca, (target,))
        await writer.write(target)
        found = await client.get(API_SERVICE, API_SERVICE_NAME)
        await writer.write(target)
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
    targets = (ApiServiceTarget(NAMESPACE), SecretTarget(NAMESPACE))
    async with Client(str(cluster.token_kubeconfig("kube-system", "default"))) as nobody:
        for who in (client, nobody):
            for target in targets:
                await PublishedCa(who, lambda: PEM, targets).write(target)


async def test_clients_of_olm_v1_find_the_ca_in_a_secret_that_exists(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "catalogd.http.published_ca")
    metadata = {"name": V1_CA_SECRET, "namespace": "default"}
    await client.create(SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"})
    try:
        target = SecretTarget("default")
        writer = PublishedCa(client, lambda: PEM, (target,))
        await writer.write(target)
        found = await client.get(SECRET, V1_CA_SECRET, "default")
        await writer.write(target)
        assert await client.get(SECRET, V1_CA_SECRET, "default") == found, "a check that changes nothing writes nothing"
        assert found["data"] == {"ca.crt": base64.b64encode(PEM).decode()}
        assert [(each.getMessage(), vars(each)["object"]) for each in caplog.records] == [
            ("the CA is published", V1_CA_SECRET)
        ]
    finally:
        await client.delete(SECRET, V1_CA_SECRET, "default")
