"""Managed certificates in a Secret of the real API server, served by several replicas over TLS."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import stat
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from devcluster.cluster import Cluster
from olmkit.api.meta import Kind
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.tls.certificate_authority import CA_LIFETIME, CA_OVERLAP, CertificateSet, create, is_issued_by
from olmkit.tls.certificate_rotator import SECRET, CertificateLocation, CertificateRotator
from olmkit.tls.key_pair import KeyPair, read_certificates
from olmkit.tls.peers import Peers
from olmkit.tls.server_tls import ServerTls
from olmkit.tls.service import CATALOG_SERVICE, CONFIG_MAP
from tests.cluster.olmkit.conftest import NAMESPACE, Object, proxied
from tests.servers.https_site import Site, serve, session, shown

NOW = datetime.now(UTC)
SYNC_FAILED = "serving certificate cannot be synced"
SYNCED_AGAIN = "is synced again"


@dataclass
class Replica:
    """A replica with its managed certificate and its server."""

    rotator: CertificateRotator
    tls: ServerTls
    site: Site
    host: str
    leading: list[bool]

    async def sync(self, now: datetime = NOW) -> bool:
        return await self.rotator.sync(now)

    async def serves(self, bundle: bytes) -> bytes:
        """The DER of the certificate that a client with this CA bundle receives."""
        return await shown(self.site.port, bundle)


class World:
    """Replicas in one namespace."""

    def __init__(self, client: Client, namespace: str, stack: contextlib.AsyncExitStack) -> None:
        self.client, self.namespace, self._stack = client, namespace, stack
        self.keys = f"{namespace}-keys"

    async def replica(
        self, *, leads: bool = False, client: Client | None = None, copy: Path | None = None, seconds: float = 60
    ) -> Replica:
        tls, leading = ServerTls(), [leads]
        names = CATALOG_SERVICE.names(self.namespace, "catalogs.example.com:8443")
        location = CertificateLocation(CATALOG_SERVICE, self.namespace, self.keys, names, copy)
        rotator = CertificateRotator(client or self.client, location, tls, lambda: leading[0], seconds)
        site = await self._stack.enter_async_context(serve(tls.context))
        return Replica(rotator, tls, site, CATALOG_SERVICE.host(self.namespace), leading)

    async def secret(self) -> Object:
        return await self.client.get(SECRET, CATALOG_SERVICE.secret, self.keys)

    async def certificates(self) -> CertificateSet:
        data: dict[str, str] = (await self.secret())["data"]
        return CertificateSet.read({key: base64.b64decode(value) for key, value in data.items()})

    async def published(self) -> bytes:
        found = await self.client.get(CONFIG_MAP, CATALOG_SERVICE.config_map, self.namespace)
        return str(found["data"]["ca.crt"]).encode()

    async def create_at(self, at: datetime) -> CertificateSet:
        """Create the Secret and the ConfigMap, with certificates created at that time."""
        created = create(CATALOG_SERVICE.names(self.namespace, "catalogs.example.com"), at)
        data = {key: base64.b64encode(value).decode() for key, value in created.dump().items()}
        metadata = {"namespace": self.keys, "name": CATALOG_SERVICE.secret}
        await self.client.create(SECRET, {"metadata": metadata, "type": "kubernetes.io/tls", "data": data})
        metadata = {"namespace": self.namespace, "name": CATALOG_SERVICE.config_map}
        published = {"metadata": metadata, "data": {"ca.crt": created.ca_bundle().decode()}}
        await self.client.create(CONFIG_MAP, published)
        return created

    async def write(self, data: dict[str, bytes]) -> None:
        """Replace the data of the Secret."""
        found = await self.secret()
        body = {**found, "data": {key: base64.b64encode(value).decode() for key, value in data.items()}}
        await self.client.request("PUT", SECRET.path(self.keys, CATALOG_SERVICE.secret), body=body)


@pytest.fixture
async def world(client: Client, namespace: str) -> AsyncIterator[World]:
    async with contextlib.AsyncExitStack() as stack:
        ours = World(client, namespace, stack)
        await client.create(NAMESPACE, {"metadata": {"name": ours.keys}})
        stack.push_async_callback(client.delete, NAMESPACE, ours.keys)
        yield ours


def record_syncs(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[None]:
    """A queue with an entry for each sync that was started."""
    syncs: asyncio.Queue[None] = asyncio.Queue()
    original = replica.tls.warn_of_expiry

    def recording(now: datetime) -> None:
        syncs.put_nowait(None)
        original(now)

    monkeypatch.setattr(replica.tls, "warn_of_expiry", recording)
    return syncs


def der(certificates: CertificateSet) -> bytes:
    return certificates.leaf.certificate.public_bytes(Encoding.DER)


async def test_the_first_replica_creates_the_secret_and_publishes_the_ca(world: World) -> None:
    replica = await world.replica()
    await replica.rotator.load()
    created = await world.certificates()
    assert await replica.serves(await world.published()) == der(created)
    assert (await world.secret())["type"] == "kubernetes.io/tls"
    assert (await world.secret())["metadata"]["labels"] == dict(CATALOG_SERVICE.labels)
    for name in CATALOG_SERVICE.names(world.namespace, "catalogs.example.com"):
        assert await shown(replica.site.port, await world.published(), name)


async def test_concurrent_replicas_agree_on_one_certificate(world: World) -> None:
    replicas = [await world.replica() for _ in range(5)]
    await asyncio.gather(*(each.rotator.load() for each in replicas))
    for each in replicas:
        await each.sync()
    created = await world.certificates()
    assert await world.published() == created.ca_bundle()
    assert {await each.serves(await world.published()) for each in replicas} == {der(created)}


async def test_only_the_leader_renews(world: World) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    first = await world.create_at(NOW - timedelta(days=59))
    await follower.sync()
    assert await world.certificates() == first
    await leader.sync()
    second = await world.certificates()
    assert second.leaf != first.leaf
    assert second.ca == first.ca
    await follower.sync()
    for each in (leader, follower):
        assert await each.serves(await world.published()) == der(second)


async def test_what_a_leader_with_a_wrong_clock_has_issued_is_replaced_by_the_next_sync(world: World) -> None:
    leader = await world.replica(leads=True)
    await world.create_at(NOW - timedelta(days=1))
    for years, replaced in ((timedelta(days=60), "leaf"), (CA_LIFETIME * 0.61, "next_ca"), (CA_LIFETIME * 1.1, "ca")):
        await leader.sync(NOW + years)
        wrong = getattr(await world.certificates(), replaced)
        assert not wrong.is_valid(NOW), replaced
        await leader.sync(NOW)
        await leader.sync(NOW)
        right = await world.certificates()
        assert all(each is None or each.is_valid(NOW) for each in (right.leaf, right.ca, right.next_ca)), replaced
        assert await leader.serves(await world.published()) == der(right)


async def test_an_invalid_secret_is_replaced_while_the_process_runs(world: World) -> None:
    leader = await world.replica(leads=True, seconds=0.1)
    run = asyncio.create_task(leader.rotator.run())
    try:
        for data in (
            {"tls.crt": b"", "tls.key": b""},
            {"tls.crt": b"-----BEGIN CERTIFICATE-----\nAAAA", "tls.key": b"x"},
        ):
            async with asyncio.timeout(60):
                while leader.tls.pair is None:  # noqa: ASYNC110 there is no event to await
                    await asyncio.sleep(0.05)
            before = leader.tls.pair
            await world.write(data)
            async with asyncio.timeout(60):
                while leader.tls.pair == before:  # noqa: ASYNC110 there is no event to await
                    await asyncio.sleep(0.05)
            assert await leader.serves(await world.published()) == der(await world.certificates())
    finally:
        run.cancel()
        await asyncio.wait({run})


async def test_a_sync_without_changes_writes_nothing(world: World) -> None:
    leader = await world.replica(leads=True)
    await leader.sync()
    before = (await world.secret())["metadata"]["resourceVersion"]
    assert await leader.sync()
    assert (await world.secret())["metadata"]["resourceVersion"] == before


async def test_a_ca_is_rotated_in_three_steps_that_a_delayed_client_trusts(world: World) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    old = await world.create_at(NOW - CA_LIFETIME * 0.61)
    steps = []
    published_before = old.ca_bundle()
    for step in range(6):
        now = NOW + step * (CA_OVERLAP + timedelta(minutes=1))
        await leader.sync(now)
        for each in (leader, follower):  # the follower and the client are one sync behind
            for trusted in (published_before, await world.published()):
                assert each.tls.pair is None or is_trusted(each.tls.pair, trusted), f"step {step}"
        await follower.sync(now)
        published_before = await world.published()
        certificates = await world.certificates()
        steps.append((certificates.ca == old.ca, len(read_certificates(published_before))))
    assert steps[:1] == [(True, 2)]
    assert steps[1:3] == [(False, 2), (False, 1)]
    assert set(steps[3:]) == {(False, 1)}


def is_trusted(pair: KeyPair, bundle: bytes) -> bool:
    """Whether a CA of the bundle issued it."""
    return any(is_issued_by(pair, each) for each in read_certificates(bundle))


async def test_a_deleted_secret_is_recreated_and_the_old_ca_stays_trusted(world: World) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    await leader.sync()
    await follower.sync()
    old = await world.certificates()
    await world.client.delete(SECRET, CATALOG_SERVICE.secret, world.keys)
    await leader.sync()
    new = await world.certificates()
    assert new.ca != old.ca
    bundle = await world.published()
    assert bundle == new.ca_bundle()
    assert await leader.serves(bundle) == der(new)
    assert await follower.serves(bundle) == der(old)  # it has not synced yet
    await follower.sync()
    assert await follower.serves(bundle) == der(new)


async def test_a_certificate_is_not_served_before_its_ca_is_published(world: World) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    await leader.sync()
    await follower.sync()
    old, new = await world.certificates(), create(CATALOG_SERVICE.names(world.namespace, "catalogs.example.com"), NOW)
    await world.write(new.dump())
    assert not await follower.sync()
    assert await follower.serves(old.ca_bundle()) == der(old)
    await leader.sync()
    assert await follower.sync()
    assert await follower.serves(await world.published()) == der(new)


async def test_a_deleted_or_changed_config_map_is_restored(world: World) -> None:
    leader = await world.replica(leads=True)
    await leader.sync()
    bundle = await world.published()
    await world.client.delete(CONFIG_MAP, CATALOG_SERVICE.config_map, world.namespace)
    await leader.sync()
    assert await world.published() == bundle
    await world.client.patch(CONFIG_MAP, CATALOG_SERVICE.config_map, {"data": {"ca.crt": "mine"}}, world.namespace)
    await leader.sync()
    assert await world.published() == bundle


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"tls.crt": b"", "tls.key": b""}, id="empty"),
        pytest.param({"tls.crt": b"nonsense", "tls.key": b"nonsense"}, id="nonsense"),
    ],
)
async def test_an_invalid_secret_is_replaced_by_the_leader_only(
    world: World, caplog: pytest.LogCaptureFixture, data: dict[str, bytes]
) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    await leader.sync()
    await follower.sync()
    old = await world.certificates()
    await world.write(data)
    assert not await follower.sync()
    assert await follower.serves(old.ca_bundle()) == der(old)
    assert "its content cannot be used" in str([vars(one).get("error") for one in caplog.records])
    await leader.sync()
    new = await world.certificates()
    assert await leader.serves(await world.published()) == der(new)


async def test_an_invalid_secret_is_logged_once_by_a_follower(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    follower, leader = await world.replica(seconds=0.01), await world.replica(leads=True)
    await leader.sync()
    await follower.sync()
    await world.write({"tls.crt": b"", "tls.key": b""})

    syncs = record_syncs(follower, monkeypatch)
    running = asyncio.create_task(follower.rotator.run())
    try:
        async with asyncio.timeout(60):
            for _ in range(3):
                await syncs.get()
            assert caplog.text.count(SYNC_FAILED) == 1
            await leader.sync()
            while SYNCED_AGAIN not in caplog.text:
                await syncs.get()
            await syncs.get()
    finally:
        running.cancel()
        await asyncio.wait({running})
    assert caplog.text.count(SYNC_FAILED) == 2, "the follower and the leader"
    assert caplog.text.count(SYNCED_AGAIN) == 1


@pytest.mark.parametrize(
    ("data", "days"),
    [
        pytest.param({"tls.crt": b"", "tls.key": b""}, 0, id="one that cannot be used"),
        pytest.param(None, 59, id="one that is due for renewal"),
    ],
)
async def test_an_immutable_secret_is_replaced_by_another_object(
    world: World, data: dict[str, bytes] | None, days: int
) -> None:
    leader = await world.replica(leads=True)
    old = await world.create_at(NOW - timedelta(days=days))
    if data is not None:
        await world.write(data)
    await make_immutable(world, SECRET, CATALOG_SERVICE.secret, world.keys)
    locked = await world.secret()
    await leader.sync()
    replaced, new = await world.secret(), await world.certificates()
    assert replaced["metadata"]["uid"] != locked["metadata"]["uid"]
    assert "immutable" not in replaced
    assert new.leaf != old.leaf
    assert (new.ca == old.ca) == (data is None)
    assert await leader.serves(await world.published()) == der(new)


async def test_an_immutable_config_map_is_replaced_by_another_object(world: World) -> None:
    leader = await world.replica(leads=True)
    await leader.sync()
    bundle = await world.published()
    await world.client.patch(CONFIG_MAP, CATALOG_SERVICE.config_map, {"data": {"ca.crt": "mine"}}, world.namespace)
    await make_immutable(world, CONFIG_MAP, CATALOG_SERVICE.config_map, world.namespace)
    assert await leader.sync()
    assert await world.published() == bundle


async def test_what_is_immutable_and_right_is_not_written(world: World) -> None:
    leader = await world.replica(leads=True)
    await leader.sync()
    places = ((SECRET, CATALOG_SERVICE.secret, world.keys), (CONFIG_MAP, CATALOG_SERVICE.config_map, world.namespace))
    before = [await make_immutable(world, *place) for place in places]
    assert await leader.sync()
    assert [await world.client.get(*place) for place in places] == before


async def make_immutable(world: World, kind: Kind, name: str, namespace: str) -> Object:
    return await world.client.patch(kind, name, {"immutable": True}, namespace)


async def test_a_former_leader_does_not_overwrite_its_successor(world: World) -> None:
    """Two replicas act as the leader; only one of the writes has the current resourceVersion."""
    one, two = await world.replica(leads=True), await world.replica(leads=True)
    old = await world.create_at(NOW - timedelta(days=59))
    await asyncio.gather(one.sync(), two.sync(), return_exceptions=True)
    for each in (one, two):
        await each.sync()
    created = await world.certificates()
    assert created.leaf != old.leaf
    for each in (one, two):
        assert await each.serves(await world.published()) == der(created)


async def test_an_unavailable_api_server_is_logged_once_and_the_certificate_stays_served(
    world: World, cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with proxied(cluster, tmp_path) as (proxy, through):
        replica = await world.replica(leads=True, client=through, seconds=0.05)
        await replica.rotator.load()
        created = await world.certificates()
        proxy.close()
        proxy.cut()
        running = asyncio.create_task(replica.rotator.run())
        try:
            async with asyncio.timeout(60):
                while SYNC_FAILED not in caplog.text:  # noqa: ASYNC110 a log has no event
                    await asyncio.sleep(0.02)
            assert await replica.serves(created.ca_bundle()) == der(created)
            await world.client.delete(SECRET, CATALOG_SERVICE.secret, world.keys)
            await proxy.open()
            async with asyncio.timeout(60):
                while replica.tls.pair == created.leaf:  # noqa: ASYNC110 the Secret is polled, not watched
                    await asyncio.sleep(0.02)
        finally:
            running.cancel()
            await asyncio.wait({running})
    assert caplog.text.count(SYNC_FAILED) == 1
    assert await replica.serves(await world.published()) == der(await world.certificates())


async def test_a_restart_without_the_api_server_serves_the_cached_certificate(
    world: World, cluster: Cluster, tmp_path: Path
) -> None:
    copy = tmp_path / "cache" / "serving.pem"
    before = await world.replica(copy=copy)
    await before.rotator.load()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    async with proxied(cluster, tmp_path) as (proxy, through):
        proxy.close()
        after = await world.replica(client=through, copy=copy)
        await after.rotator.load()
        created = await world.certificates()
        assert await after.serves(created.ca_bundle()) == der(created)
        await proxy.open()
        assert await after.sync()
    assert after.tls.pair == created.leaf


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
async def test_an_invalid_cached_copy_is_not_used(world: World, tmp_path: Path, content: bytes) -> None:
    copy = tmp_path / "serving.pem"
    copy.write_bytes(content)
    replica = await world.replica(copy=copy)
    await replica.rotator.load()
    assert await replica.serves(await world.published()) == der(await world.certificates())


async def test_a_certificate_that_cannot_be_loaded_is_retried(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await world.replica(leads=True)
    with monkeypatch.context() as without:
        without.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
        await replica.rotator.load()
    (logged,) = [vars(one)["error"] for one in caplog.records if SYNC_FAILED in one.message]
    assert logged == "the certificate cannot be served: no temporary file can be written (No such file or directory)"
    await replica.sync()
    assert await replica.serves(await world.published()) == der(await world.certificates())


async def test_peers_verify_the_ca_and_the_name_of_the_service(world: World) -> None:
    one, two = await world.replica(leads=True), await world.replica()
    await one.sync()
    await two.sync()
    peers = Peers(two.tls, two.rotator, two.host)
    assert peers.scheme == "https"
    options = await peers.request_options()
    async with session((await world.certificates()).ca_bundle()) as client:
        async with client.get(one.site.url, **options) as answer:
            assert answer.status == 200
        assert (await peers.request_options())["ssl"] is options["ssl"]
        stranger = ServerTls()
        stranger.use(create(CATALOG_SERVICE.names(world.namespace), NOW).leaf)
        async with serve(stranger.context) as other:
            with pytest.raises(OSError, match="certificate verify failed"):
                await client.get(other.url, **options)


async def test_no_key_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    leader = await world.replica(leads=True)
    await world.create_at(NOW - timedelta(days=59))
    await leader.sync()
    certificates = await world.certificates()
    text = str([vars(one) for one in caplog.records])
    assert certificates.leaf.log_fields()["serial"] in text
    for pair in (certificates.leaf, certificates.ca):
        assert pair.key.decode().splitlines()[1] not in text
    assert "PRIVATE" not in text


async def test_missing_permissions_are_logged(world: World, cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.kubectl("create", "serviceaccount", "stranger", f"--namespace={world.namespace}")
    async with await Client.connect(str(cluster.token_kubeconfig(world.namespace, "stranger"))) as stranger:
        replica = await world.replica(client=stranger)
        await replica.rotator.load()
    logged: list[Any] = [vars(one).get("error") for one in caplog.records]
    assert any('cannot get resource "configmaps"' in str(one) for one in logged)
    with pytest.raises(NotFound):
        await world.secret()
