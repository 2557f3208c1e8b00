"""A bundle whose certificates come from the real cert-manager: issued, trusted, renewed and removed."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from devcluster.cert_manager import CertManager
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.meta import Kind
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.source_secrets import SECRETS
from rukpak.bundledeployment.cluster.rest_mapper import API_SERVICES, CRDS, NAMESPACES
from tests.cluster.rukpak.boats import (
    CA,
    MUTATING,
    PORT,
    VALIDATING,
    certificate_of,
    field,
    host_names,
    install,
    operator,
    secret_name,
    secret_of,
    server_of,
    service_name,
    use,
)
from tests.cluster.rukpak.harness import DEPLOYMENTS, READY, Harness, Object, gone, says
from tests.cluster.rukpak.webhook_server import WebhookServer
from tests.conditions import triple

CERTIFICATES = Kind("cert-manager.io", "v1", "Certificate", "certificates", namespaced=True)
ISSUERS = Kind("cert-manager.io", "v1", "Issuer", "issuers", namespaced=True)
REQUESTS = Kind("cert-manager.io", "v1", "CertificateRequest", "certificaterequests", namespaced=True)
LONG = "-with-a-long-name-of-its-own"
"""Makes the host name of the Service longer than a common name may be, which cert-manager's webhook refuses."""


@pytest.fixture(params=["", LONG], ids=["a common name", "a host name that is too long for a common name"])
def ours(at: Harness, request: pytest.FixtureRequest) -> Harness:
    """The cluster's side of a test, of which the names are short or long."""
    at.name += request.param
    at.group = f"{at.name}.example.com"
    return at


def _is_ready(obj: Object | None) -> bool:
    return obj is not None and "conditions" in obj.get("status", {}) and triple(obj, "Ready")[0] == "True"


async def _trusted_everywhere(at: Harness) -> None:
    """The CA injector has written the authority of the Secret into whatever calls the Service."""
    authority = base64.b64decode((await secret_of(at))["data"]["ca.crt"])

    def trusts(*path: str | int) -> Callable[[Object | None], bool]:
        return lambda obj: authority in base64.b64decode(field(obj, *path) or "")  # beside the one before

    await at.when(VALIDATING, f"validate.{at.group}", "", trusts(*CA))
    await at.when(MUTATING, f"mutate.{at.group}", "", trusts(*CA))
    await at.when(CRDS, f"boats.{at.group}", "", trusts("spec", "conversion", "webhook", "clientConfig", "caBundle"))
    await at.when(API_SERVICES, f"v1.parts.{at.group}", "", trusts("spec", "caBundle"))


async def test_cert_manager_issues_trusts_and_renews_the_certificates_of_a_bundle(
    ours: Harness, running: Client, cert_manager: CertManager, tmp_path: Path, address: str
) -> None:
    at, count = ours, itertools.count()
    await install(at, operator(at), certificates="CertManager")
    await at.when(CERTIFICATES, secret_name(at), at.name, _is_ready)
    secret = await secret_of(at)
    certificate = certificate_of(secret)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert tuple(names.get_values_for_type(x509.DNSName)) == host_names(at)
    assert certificate == x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["ca.crt"])), "self-signed"
    workload = await at.when(DEPLOYMENTS, at.name, at.name, lambda obj: obj is not None)
    volumes = field(workload, "spec", "template", "spec", "volumes")
    assert {each["secret"]["secretName"] for each in volumes} == {secret_name(at)}
    server = server_of(at, tmp_path)
    async with server.running(address, service_name(at), PORT):
        await at.until(READY)
        await _trusted_everywhere(at)
        await use(at, f"boat-{next(count)}")

        await _renew(at)
        await at.when(SECRETS, secret_name(at), at.name, lambda obj: certificate_of(obj or {}) != certificate)
        await server.load()
        await _trusted_everywhere(at)
        await use(at, f"boat-{next(count)}")
        await at.until(READY)

        await at.remove()
        await at.until(gone)
    await at.when(NAMESPACES, at.name, "", gone)
    for kind in (CERTIFICATES, ISSUERS, REQUESTS, SECRETS):
        assert (await at.client.list(kind, at.name))[0] == []
    for kind, name in (
        (VALIDATING, f"validate.{at.group}"),
        (MUTATING, f"mutate.{at.group}"),
        (CRDS, f"boats.{at.group}"),
        (API_SERVICES, f"v1.parts.{at.group}"),
    ):
        assert await at.find(kind, name) is None


async def test_cert_manager_replaces_what_rukpak_has_issued_and_the_other_way_round(
    at: Harness, running: Client, cert_manager: CertManager, tmp_path: Path, address: str
) -> None:
    """cert-manager may issue twice: into the Secret of rukpak, and again when rukpak has deleted that one."""
    count = itertools.count()
    await install(at, operator(at))
    await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready"))
    server = server_of(at, tmp_path)
    async with server.running(address, service_name(at), PORT):
        await at.until(READY)
        ours = await secret_of(at)
        await install(at, operator(at), certificates="CertManager")
        await at.when(SECRETS, secret_name(at), at.name, lambda obj: _is_another(obj, ours))
        await at.until(READY)
        async with asyncio.timeout(60):
            while not await _answers(at, server, f"boat-{next(count)}"):
                pass
        theirs = await secret_of(at)
        await install(at, operator(at), certificates="Self")
        await at.until(says("Stalled", "True", "Blocked", f"Secret {at.name}/{secret_name(at)} already exists"))
        for kind in (CERTIFICATES, SECRETS):
            await at.client.delete(kind, secret_name(at), at.name)
        await at.when(SECRETS, secret_name(at), at.name, lambda obj: _is_another(obj, theirs))
        await server.load()
        await at.until(READY)
        async with asyncio.timeout(60):
            while not await _answers(at, server, f"boat-{next(count)}"):
                pass
        assert OWNER_UID_LABEL in (await secret_of(at))["metadata"]["labels"]


async def _answers(at: Harness, server: WebhookServer, boat: str) -> bool:
    """Whether a server that reads the Secret again, as from a volume, is trusted by all its clients."""
    await server.load()
    try:
        await use(at, boat)
    except (ApiError, AssertionError):
        return False
    return True


def _is_another(obj: Object | None, before: Object) -> bool:
    """It is another Secret, with a certificate."""
    return obj is not None and obj["metadata"]["uid"] != before["metadata"]["uid"] and bool(obj.get("data"))


async def _renew(at: Harness) -> None:
    """Ask for another certificate, as `cmctl renew` does."""
    asked = {
        "type": "Issuing",
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": "the test asks for it",
        "lastTransitionTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    body = {
        "apiVersion": CERTIFICATES.api_version,
        "kind": CERTIFICATES.kind,
        "metadata": {"name": secret_name(at), "namespace": at.name},
        "status": {"conditions": [asked]},
    }
    await at.client.apply_status(CERTIFICATES, body, "test")
