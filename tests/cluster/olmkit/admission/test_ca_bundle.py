"""Two replicas that the real API server asks, while their keys and their CA are replaced: no request is refused."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devcluster.services import free_address
from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS, CaBundleWriter
from olmkit.admission.review import AdmissionRequest, Denial
from olmkit.admission.server import AdmissionServer
from olmkit.api.meta import Kind
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.tls.certificate_authority import CA_LIFETIME, CA_OVERLAP, CertificateSet, create, issue
from olmkit.tls.certificate_rotator import SECRET, CertificateLocation, CertificateRotator
from olmkit.tls.key_pair import KeyPair, read_certificates
from olmkit.tls.server_tls import ServerTls, server_context_with
from olmkit.tls.service import RUKPAK_SERVICE
from tests.cluster.olmkit.conftest import NAMESPACE, Object

NOW = datetime.now(UTC) - 7 * CA_OVERLAP
"""The time when a test begins. The API server has a clock of its own, for which every certificate of the test is valid."""
WITNESS = "services"
"""The kind about which a third server is asked, which tells what the API server trusts."""
SERVICES = Kind("", "v1", "Service", WITNESS, namespaced=True)
ACCOUNTS = Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
KINDS = {each.plural: each for each in (ACCOUNTS, SERVICES)}


class Server:
    """A webhook that allows everything and counts, on one address for all its life."""

    def __init__(self) -> None:
        self.address = free_address()
        self.asked = 0
        self._server: AdmissionServer | None = None

    async def start(self, context: ssl.SSLContext) -> None:
        """Serve; the context may serve other certificates later."""
        self._server = AdmissionServer("example", {"/all": self._allow})
        await self._server.start(self.address, context)

    async def close(self) -> None:
        if self._server is not None:
            await self._server.close()

    async def _allow(self, _: AdmissionRequest) -> Denial | None:
        self.asked += 1
        return None


@dataclass
class Replica:
    """A replica with its certificate and its server."""

    server: Server
    tls: ServerTls
    rotator: CertificateRotator
    writer: CaBundleWriter

    is_started: bool = False

    async def sync(self, now: datetime) -> None:
        await self.rotator.sync(now)
        if not self.is_started:
            self.is_started = True
            await self.server.start(self.tls.context)


@dataclass
class World:
    """Two replicas, the first of which leads, and the configuration that names both."""

    client: Client
    namespace: str
    informer: Informer
    replicas: list[Replica] = field(default_factory=list)
    witness: Server = field(default_factory=Server)

    @property
    def keys(self) -> str:
        return f"{self.namespace}-keys"

    def add_replica(self) -> None:
        tls, is_leader, client = ServerTls(), not self.replicas, self.client
        location = CertificateLocation(RUKPAK_SERVICE, self.namespace, self.keys, RUKPAK_SERVICE.names(self.namespace))
        rotator = CertificateRotator(client, location, tls, lambda: is_leader)
        writer = CaBundleWriter(client, self.informer, self.namespace, "rukpak", lambda: rotator.ca_bundle)
        rotator.publish_to(writer.write)
        self.replicas.append(Replica(Server(), tls, rotator, writer))

    async def create_at(self, at: datetime) -> CertificateSet:
        """A CA that was made at that time, and a certificate that was renewed since."""
        names = RUKPAK_SERVICE.names(self.namespace)
        made = create(names, at)
        made = replace(made, leaf=issue(made.ca, names, NOW))
        data = {key: base64.b64encode(value).decode() for key, value in made.dump().items()}
        metadata = {"name": RUKPAK_SERVICE.secret, "namespace": self.keys}
        await self.client.create(SECRET, {"metadata": metadata, "type": "kubernetes.io/tls", "data": data})
        return made

    async def certificates(self) -> CertificateSet:
        data: dict[str, str] = (await self.client.get(SECRET, RUKPAK_SERVICE.secret, self.keys))["data"]
        return CertificateSet.read({key: base64.b64decode(value) for key, value in data.items()})

    async def configure(self) -> None:
        """The API server asks both replicas about ServiceAccounts of the namespace, and the witness about Services."""
        webhooks = [
            self._webhook(str(number), each.server, ACCOUNTS.plural) for number, each in enumerate(self.replicas)
        ]
        webhooks.append(self._webhook("witness", self.witness, WITNESS))
        named = {"apiVersion": WEBHOOK_CONFIGURATIONS.api_version, "kind": WEBHOOK_CONFIGURATIONS.kind}
        body = {**named, "metadata": {"name": self.namespace}, "webhooks": webhooks}
        self.informer.record_write(await self.client.apply(WEBHOOK_CONFIGURATIONS, body, "test"))

    def _webhook(self, name: str, server: Server, resource: str) -> Object:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
        return {
            "name": f"{name}.{self.namespace}.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "clientConfig": {"url": f"https://{server.address}/all"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "rules": [rule],
        }

    async def request(self, resource: str = ACCOUNTS.plural) -> None:
        """Create an object as a dry run. Raises the ApiError of a refusal."""
        kind = KINDS[resource]
        spec = {"spec": {"ports": [{"port": 80}]}} if resource == WITNESS else {}
        body = {"apiVersion": "v1", "kind": kind.kind, "metadata": {"name": "asked"}, **spec}
        await self.client.request("POST", kind.path(self.namespace), query={"dryRun": "All"}, body=body)

    async def until_trusted(self, ca: KeyPair) -> None:
        """Return when the API server trusts this CA: it reads a configuration a moment after it was written."""
        leaf = issue(ca, RUKPAK_SERVICE.names(self.namespace), datetime.now(UTC))
        await self.witness.close()
        await self.witness.start(server_context_with(leaf))
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(ApiError):
                    await self.request(WITNESS)
                    return
                await asyncio.sleep(0.1)

    async def trusted(self) -> bytes:
        """The PEM of the caBundle, which is one for all webhooks."""
        found = await self.client.get(WEBHOOK_CONFIGURATIONS, self.namespace)
        (bundle,) = {each["clientConfig"]["caBundle"] for each in found["webhooks"]}
        return base64.b64decode(bundle)


@pytest.fixture
async def world(client: Client, namespace: str) -> AsyncIterator[World]:
    informer = Informer(client, WEBHOOK_CONFIGURATIONS, field_selector=f"metadata.name={namespace}")
    ours = World(client, namespace, informer)
    ours.add_replica()
    ours.add_replica()
    await client.create(NAMESPACE, {"metadata": {"name": ours.keys}})
    following = asyncio.create_task(informer.run())
    try:
        await informer.synced.wait()
        await ours.configure()
        yield ours
    finally:
        following.cancel()
        await asyncio.wait({following})
        for server in (ours.witness, *(each.server for each in ours.replicas)):
            await server.close()
        with contextlib.suppress(ApiError):
            await client.delete(WEBHOOK_CONFIGURATIONS, namespace)
        await client.delete(NAMESPACE, ours.keys)


async def test_no_request_is_refused_while_the_ca_is_replaced(world: World) -> None:
    """Each change of the caBundle makes the API server connect anew."""
    leader, follower = world.replicas
    first = await world.create_at(NOW - CA_LIFETIME * 0.61)
    counts: list[int] = []
    for step in range(5):
        now = NOW + step * (CA_OVERLAP + timedelta(minutes=1))
        await leader.sync(now)
        if step == 0:
            await follower.sync(now)
            await world.until_trusted(first.ca)
        await world.request()  # the follower is one sync behind
        await follower.sync(now)
        await world.request()
        current = await world.certificates()
        await world.until_trusted(current.next_ca or current.ca)
        counts.append(len(read_certificates(await world.trusted())))
    assert [each.server.asked for each in world.replicas] == [10, 10]
    assert (await world.certificates()).ca.certificate != first.ca.certificate
    assert counts == [2, 2, 1, 1, 1]


async def test_a_new_ca_issues_nothing_before_the_api_server_trusts_it(world: World) -> None:
    """The leader may publish the ConfigMap, and not write the configuration."""
    leader, _ = world.replicas
    first = await world.create_at(NOW - CA_LIFETIME * 0.61)
    written: list[Any] = []

    async def fail(ca_bundle: bytes) -> None:
        written.append(ca_bundle)
        raise ApiError(403, "Forbidden", "no")

    leader.rotator.publish_to(fail)
    for step in range(3):
        with pytest.raises(ApiError):
            await leader.rotator.sync(NOW + step * (CA_OVERLAP + timedelta(minutes=1)))
    assert (await world.certificates()).ca.certificate == first.ca.certificate
    leader.rotator.publish_to(leader.writer.write)
    later = NOW + 3 * (CA_OVERLAP + timedelta(minutes=1))
    assert await leader.rotator.sync(later)
    assert await leader.rotator.sync(later)
    assert (await world.certificates()).ca.certificate != first.ca.certificate
    assert leader.tls.pair == (await world.certificates()).leaf


async def test_the_leader_restores_the_ca_after_somebody_has_written_the_configuration(world: World) -> None:
    leader, _ = world.replicas
    await leader.sync(NOW)
    bundle = await world.trusted()
    running = asyncio.create_task(leader.writer.run())
    changed = asyncio.Event()
    world.informer.subscribe(lambda _: changed.set())
    try:
        found = await world.client.get(WEBHOOK_CONFIGURATIONS, world.namespace)
        for each in found["webhooks"]:
            each["clientConfig"]["caBundle"] = ""
        path = WEBHOOK_CONFIGURATIONS.path(None, world.namespace)
        await world.client.request("PUT", path, body=found)
        await world.client.delete(WEBHOOK_CONFIGURATIONS, world.namespace)
        await world.configure()
        async with asyncio.timeout(30):
            while not all(each["clientConfig"].get("caBundle") for each in _webhooks(world)):
                changed.clear()
                await changed.wait()
        assert await world.trusted() == bundle
    finally:
        running.cancel()
        await asyncio.wait({running})


def _webhooks(world: World) -> list[Object]:
    found: list[Object] = (world.informer.get(world.namespace) or {})["webhooks"]
    return found
