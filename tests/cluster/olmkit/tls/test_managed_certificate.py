"""A certificate of our own in a Secret of the real API server, followed by replicas that serve it over real TLS."""

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
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.tls.certificate_authority import CA_LIFETIME, CA_OVERLAP, CertificateSet, create, is_issued_by
from olmkit.tls.key_pair import KeyPair, read_certificates
from olmkit.tls.managed_certificate import SECRET, CertificateLocation, ManagedCertificate
from olmkit.tls.peers import Peers
from olmkit.tls.server_tls import ServerTls
from olmkit.tls.service import CATALOG_SERVICE, CONFIG_MAP
from tests.cluster.olmkit.conftest import NAMESPACE, Object, proxied
from tests.servers.https_site import Site, serve, session, shown

NOW = datetime.now(UTC)
AGAIN = "is kept up to date again"


@dataclass
class Replica:
    """One replica: what it keeps, and its server."""

    own: ManagedCertificate
    tls: ServerTls
    site: Site
    host: str
    leading: list[bool]

    async def look(self, now: datetime = NOW) -> bool:
        return await self.own.sync(now)

    async def serves(self, bundle: bytes) -> bytes:
        """The DER that a client which trusts the bundle is shown."""
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
        place = CertificateLocation(CATALOG_SERVICE, self.namespace, self.keys, names, copy)
        own = ManagedCertificate(client or self.client, place, tls, lambda: leading[0], seconds)
        site = await self._stack.enter_async_context(serve(tls.context))
        return Replica(own, tls, site, CATALOG_SERVICE.host(self.namespace), leading)

    async def secret(self) -> Object:
        return await self.client.get(SECRET, CATALOG_SERVICE.secret, self.keys)

    async def material(self) -> CertificateSet:
        data: dict[str, str] = (await self.secret())["data"]
        return CertificateSet.read({key: base64.b64decode(value) for key, value in data.items()})

    async def published(self) -> bytes:
        found = await self.client.get(CONFIG_MAP, CATALOG_SERVICE.config_map, self.namespace)
        return str(found["data"]["ca.crt"]).encode()

    async def begin(self, at: datetime) -> CertificateSet:
        """A Secret and ConfigMap that were made at that time."""
        made = create(CATALOG_SERVICE.names(self.namespace, "catalogs.example.com"), at)
        data = {key: base64.b64encode(value).decode() for key, value in made.dump().items()}
        metadata = {"namespace": self.keys, "name": CATALOG_SERVICE.secret}
        await self.client.create(SECRET, {"metadata": metadata, "type": "kubernetes.io/tls", "data": data})
        metadata = {"namespace": self.namespace, "name": CATALOG_SERVICE.config_map}
        published = {"metadata": metadata, "data": {"ca.crt": made.ca_bundle().decode()}}
        await self.client.create(CONFIG_MAP, published)
        return made

    async def write(self, data: dict[str, bytes]) -> None:
        """Put this into the Secret."""
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


def counted(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[None]:
    """One entry for each look that it has begun."""
    looks: asyncio.Queue[None] = asyncio.Queue()
    tell = replica.tls.warn_of_expiry

    def telling(now: datetime) -> None:
        looks.put_nowait(None)
        tell(now)

    monkeypatch.setattr(replica.tls, "warn_of_expiry", telling)
    return looks


def der(material: CertificateSet) -> bytes:
    return material.leaf.certificate.public_bytes(Encoding.DER)


async def test_the_first_replica_makes_it_and_tells_clients_whom_to_trust(world: World) -> None:
    replica = await world.replica()
    await replica.own.load()
    made = await world.material()
    assert await replica.serves(await world.published()) == der(made)
    assert (await world.secret())["type"] == "kubernetes.io/tls"
    assert (await world.secret())["metadata"]["labels"] == dict(CATALOG_SERVICE.labels)
    for name in CATALOG_SERVICE.names(world.namespace, "catalogs.example.com"):
        assert await shown(replica.site.port, await world.published(), name)


async def test_replicas_that_race_agree(world: World) -> None:
    replicas = [await world.replica() for _ in range(5)]
    await asyncio.gather(*(each.own.load() for each in replicas))
    for each in replicas:
        await each.look()
    made = await world.material()
    assert await world.published() == made.ca_bundle()
    assert {await each.serves(await world.published()) for each in replicas} == {der(made)}


async def test_only_the_leader_renews_and_the_others_follow(world: World) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    first = await world.begin(NOW - timedelta(days=59))
    await follower.look()
    assert await world.material() == first
    await leader.look()
    second = await world.material()
    assert second.leaf != first.leaf
    assert second.ca == first.ca
    await follower.look()
    for each in (leader, follower):
        assert await each.serves(await world.published()) == der(second)


async def test_a_look_at_what_is_well_writes_nothing(world: World) -> None:
    leader = await world.replica(leads=True)
    await leader.look()
    before = (await world.secret())["metadata"]["resourceVersion"]
    assert await leader.look()
    assert (await world.secret())["metadata"]["resourceVersion"] == before


async def test_a_new_ca_comes_in_three_steps_and_a_client_that_is_one_behind_trusts_each(world: World) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    old = await world.begin(NOW - CA_LIFETIME * 0.61)
    steps = []
    behind = old.ca_bundle()
    for step in range(6):
        now = NOW + step * (CA_OVERLAP + timedelta(minutes=1))
        await leader.look(now)
        for each in (leader, follower):  # the follower is a look behind, as is a client
            for trusted in (behind, await world.published()):
                assert each.tls.pair is None or is_trusted(each.tls.pair, trusted), f"step {step}"
        await follower.look(now)
        behind = await world.published()
        material = await world.material()
        steps.append((material.ca == old.ca, len(read_certificates(behind))))
    assert steps[:1] == [(True, 2)]
    assert steps[1:3] == [(False, 2), (False, 1)]
    assert set(steps[3:]) == {(False, 1)}


def is_trusted(pair: KeyPair, bundle: bytes) -> bool:
    """Whether a CA of the bundle issued it."""
    return any(is_issued_by(pair, KeyPair(b"", b"", each)) for each in read_certificates(bundle))


async def test_a_secret_that_a_person_deletes_is_made_again_and_the_old_ca_stays_trusted(world: World) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    await leader.look()
    await follower.look()
    old = await world.material()
    await world.client.delete(SECRET, CATALOG_SERVICE.secret, world.keys)
    await leader.look()
    new = await world.material()
    assert new.ca != old.ca
    bundle = await world.published()
    assert bundle == new.ca_bundle()
    assert await leader.serves(bundle) == der(new)
    assert await follower.serves(bundle) == der(old)  # it has not looked yet
    await follower.look()
    assert await follower.serves(bundle) == der(new)


async def test_a_certificate_is_not_served_before_clients_are_told_of_its_ca(world: World) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    await leader.look()
    await follower.look()
    old, new = await world.material(), create(CATALOG_SERVICE.names(world.namespace, "catalogs.example.com"), NOW)
    await world.write(new.dump())
    assert not await follower.look()
    assert await follower.serves(old.ca_bundle()) == der(old)
    await leader.look()
    assert await follower.look()
    assert await follower.serves(await world.published()) == der(new)


async def test_a_config_map_that_is_gone_or_changed_comes_back(world: World) -> None:
    leader = await world.replica(leads=True)
    await leader.look()
    bundle = await world.published()
    await world.client.delete(CONFIG_MAP, CATALOG_SERVICE.config_map, world.namespace)
    await leader.look()
    assert await world.published() == bundle
    await world.client.patch(CONFIG_MAP, CATALOG_SERVICE.config_map, {"data": {"ca.crt": "mine"}}, world.namespace)
    await leader.look()
    assert await world.published() == bundle


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"tls.crt": b"", "tls.key": b""}, id="empty"),
        pytest.param({"tls.crt": b"nonsense", "tls.key": b"nonsense"}, id="nonsense"),
    ],
)
async def test_a_secret_that_was_spoilt_is_mended_by_the_leader_only(
    world: World, caplog: pytest.LogCaptureFixture, data: dict[str, bytes]
) -> None:
    follower, leader = await world.replica(), await world.replica(leads=True)
    await leader.look()
    await follower.look()
    old = await world.material()
    await world.write(data)
    assert not await follower.look()
    assert await follower.serves(old.ca_bundle()) == der(old)
    assert "it holds nothing that can be served with" in str([vars(one).get("error") for one in caplog.records])
    await leader.look()
    new = await world.material()
    assert await leader.serves(await world.published()) == der(new)


async def test_a_secret_that_was_spoilt_is_said_once_by_who_may_not_mend_it(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    follower, leader = await world.replica(seconds=0.01), await world.replica(leads=True)
    await leader.look()
    await follower.look()
    await world.write({"tls.crt": b"", "tls.key": b""})

    looks = counted(follower, monkeypatch)
    following = asyncio.create_task(follower.own.run())
    try:
        async with asyncio.timeout(20):
            for _ in range(3):
                await looks.get()
            assert caplog.text.count("cannot be kept up to date") == 1
            await leader.look()
            while AGAIN not in caplog.text:
                await looks.get()
            await looks.get()
    finally:
        following.cancel()
        await asyncio.wait({following})
    assert caplog.text.count("cannot be kept up to date") == 2, "the follower and the leader"
    assert caplog.text.count(AGAIN) == 1


async def test_a_leader_that_is_none_any_more_does_not_overwrite_its_successor(world: World) -> None:
    """Both believe to lead; the resourceVersion lets one win."""
    one, two = await world.replica(leads=True), await world.replica(leads=True)
    old = await world.begin(NOW - timedelta(days=59))
    await asyncio.gather(one.look(), two.look(), return_exceptions=True)
    for each in (one, two):
        await each.look()
    made = await world.material()
    assert made.leaf != old.leaf
    for each in (one, two):
        assert await each.serves(await world.published()) == der(made)


async def test_the_api_server_being_away_changes_nothing_and_is_said_once(
    world: World, cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with proxied(cluster, tmp_path) as (proxy, through):
        replica = await world.replica(leads=True, client=through, seconds=0.05)
        await replica.own.load()
        made = await world.material()
        proxy.close()
        proxy.cut()
        following = asyncio.create_task(replica.own.run())
        try:
            async with asyncio.timeout(20):
                while "cannot be kept up to date" not in caplog.text:  # noqa: ASYNC110 a log has no event
                    await asyncio.sleep(0.02)
            assert await replica.serves(made.ca_bundle()) == der(made)
            await world.client.delete(SECRET, CATALOG_SERVICE.secret, world.keys)
            await proxy.open()
            async with asyncio.timeout(20):
                while replica.tls.pair == made.leaf:  # noqa: ASYNC110 the Secret is looked at, not watched
                    await asyncio.sleep(0.02)
        finally:
            following.cancel()
            await asyncio.wait({following})
    assert caplog.text.count("cannot be kept up to date") == 1
    assert await replica.serves(await world.published()) == der(await world.material())


async def test_a_restart_while_the_api_server_is_away_serves_what_was_served(
    world: World, cluster: Cluster, tmp_path: Path
) -> None:
    copy = tmp_path / "cache" / "serving.pem"
    before = await world.replica(copy=copy)
    await before.own.load()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    async with proxied(cluster, tmp_path) as (proxy, through):
        proxy.close()
        after = await world.replica(client=through, copy=copy)
        await after.own.load()
        made = await world.material()
        assert await after.serves(made.ca_bundle()) == der(made)
        await proxy.open()
        assert await after.look()
    assert after.tls.pair == made.leaf


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
async def test_a_spoilt_copy_is_not_used(world: World, tmp_path: Path, content: bytes) -> None:
    copy = tmp_path / "serving.pem"
    copy.write_bytes(content)
    replica = await world.replica(copy=copy)
    await replica.own.load()
    assert await replica.serves(await world.published()) == der(await world.material())


async def test_without_a_temporary_folder_it_is_served_as_soon_as_there_is_one(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await world.replica(leads=True)
    with monkeypatch.context() as without:
        without.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
        await replica.own.load()
    (said,) = [vars(one)["error"] for one in caplog.records if "cannot be kept up to date" in one.message]
    assert said == "the certificate cannot be served: no temporary file can be written (No such file or directory)"
    await replica.look()
    assert await replica.serves(await world.published()) == der(await world.material())


async def test_a_replica_knows_another_by_the_ca_and_the_name_of_the_service(world: World) -> None:
    one, two = await world.replica(leads=True), await world.replica()
    await one.look()
    await two.look()
    peers = Peers(two.tls, two.own, two.host)
    assert peers.scheme == "https"
    options = await peers.request_options()
    async with session((await world.material()).ca_bundle()) as client:
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
    await world.begin(NOW - timedelta(days=59))
    await leader.look()
    material = await world.material()
    text = str([vars(one) for one in caplog.records])
    assert material.leaf.log_fields()["serial"] in text
    for pair in (material.leaf, material.ca):
        assert pair.key.decode().splitlines()[1] not in text
    assert "PRIVATE" not in text


async def test_what_rbac_does_not_allow_is_said(
    world: World, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.kubectl("create", "serviceaccount", "stranger", f"--namespace={world.namespace}")
    async with await Client.connect(str(cluster.token_kubeconfig(world.namespace, "stranger"))) as stranger:
        replica = await world.replica(client=stranger)
        await replica.own.load()
    said: list[Any] = [vars(one).get("error") for one in caplog.records]
    assert any('cannot get resource "configmaps"' in str(one) for one in said)
    with pytest.raises(NotFound):
        await world.secret()
