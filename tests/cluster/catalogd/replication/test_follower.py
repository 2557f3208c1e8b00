"""Two processes of catalogd on the real cluster: a client that retries 503 with the other one sees no gap, whichever is
killed."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest

from catalogd.replication.server import ADDRESS_ANNOTATION
from devcluster.cluster import Cluster
from devcluster.suite import NAMESPACE, Suite
from olmkit.errors import NotFound
from olmkit.runtime.lease_holder import LEASE
from tests.cluster.catalogd.conftest import World, lines, package
from tests.integration.catalogd.replicas import until

BEFORE = lines(*(package(f"kept-{number}", *(f"1.0.{z}" for z in range(20))) for number in range(30)))
AFTER = lines(*(package(f"kept-{number}", *(f"1.1.{z}" for z in range(20))) for number in range(30)))
NAMES = ("catalogd", "catalogd-2")


@pytest.fixture(scope="module")
def suite(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    """Two replicas of catalogd, and nothing else."""
    with Suite(cluster, tmp_path_factory.mktemp("suite")) as running:
        running.install()
        running.start("catalogd")
        assert running.start_replica("catalogd") == NAMES[1]
        yield running


@dataclass
class Client:
    """Asks for a catalog without pause, the other replica when one refuses or is away."""

    http: aiohttp.ClientSession
    suite: Suite
    tls: ssl.SSLContext
    path: str
    bodies: Counter[bytes] = field(default_factory=Counter)
    gaps: list[list[str]] = field(default_factory=list)
    refusals: int = 0

    async def ask(self, name: str) -> bytes | str:
        """The body; why there is none."""
        url = f"https://{self.suite.addresses[name].catalogs}/catalogs/{self.path}"
        try:
            async with self.http.get(url, ssl=self.tls, timeout=aiohttp.ClientTimeout(total=20)) as answer:
                body = await answer.read()
                return body if answer.status == 200 else f"{name} {answer.status}"
        except (aiohttp.ClientError, OSError) as error:
            return f"{name} {error!r}"

    async def run(self, first: int) -> None:
        """Until cancelled."""
        for number in itertools.count(first):
            why = []
            for name in (NAMES[number % 2], NAMES[(number + 1) % 2]):
                found = await self.ask(name)
                if isinstance(found, bytes):
                    self.bodies[found] += 1
                    break
                why.append(found)
            self.refusals += bool(why)
            if len(why) == 2:
                self.gaps.append(why)
            await asyncio.sleep(0.01)


@asynccontextmanager
async def asked(suite: Suite, path: str) -> AsyncIterator[Client]:
    """Four clients that ask all the while."""
    tls = await asyncio.to_thread(suite.tls_context)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http:
        client = Client(http, suite, tls, path)
        asking = [asyncio.create_task(client.run(number)) for number in range(4)]
        try:
            yield client
        finally:
            for each in asking:
                each.cancel()
            await asyncio.wait(asking)
            for each in asking:
                assert each.cancelled(), each.exception()


async def roles(world: World, suite: Suite) -> tuple[str, str]:
    """Leader and follower, as the lease says, once its holder runs."""
    async with asyncio.timeout(60):
        while True:
            try:
                lease = await world.client.get(LEASE, "catalogd", NAMESPACE)
                address = lease["metadata"].get("annotations", {}).get(ADDRESS_ANNOTATION)
            except NotFound:
                address = None
            found = [name for name in NAMES if suite.addresses[name].catalogs == address]
            if found and suite.is_running(found[0]):
                (other,) = set(NAMES) - set(found)
                return found[0], other
            await asyncio.sleep(0.1)


def files(suite: Suite, name: str, digest: str) -> dict[str, bytes]:
    """A replica's copy of a content."""
    home = suite.directory / f"{name}-cache" / "content" / digest.replace(":", "-")
    return {str(each.relative_to(home)): each.read_bytes() for each in sorted(home.rglob("*")) if each.is_file()}


async def both_serve(client: Client, other_than: bytes = b"") -> bytes:
    """The body once both answer with the same one."""
    async with asyncio.timeout(90):
        while True:
            first, second = [await client.ask(name) for name in NAMES]
            if isinstance(first, bytes) and first == second != other_than:
                return first
            await asyncio.sleep(0.1)


@pytest.mark.crash
async def test_no_gap_while_either_is_killed_and_the_tag_moves(world: World, suite: Suite) -> None:
    ref = f"{world.cluster.registry}/catalogs/{world.name}:v1"
    first_digest = await world.push(BEFORE)
    await world.catalog(ref, poll="1s")
    await world.ready()
    await world.serves(first_digest)
    async with asked(suite, f"{world.name}/api/v1/all") as client:
        before = await both_serve(client)
        client.gaps.clear()  # until a first replica has read it there is nothing to be had
        leader, follower = await roles(world, suite)
        assert files(suite, leader, first_digest) == files(suite, follower, first_digest)

        await asyncio.to_thread(suite.kill, follower)
        asks = client.refusals
        await until(lambda: client.refusals > asks)
        await asyncio.to_thread(suite.start, follower)
        assert await both_serve(client) == before

        await asyncio.to_thread(suite.kill, leader)
        digest = await world.push(AFTER)
        await asyncio.to_thread(suite.start, leader)
        after = await both_serve(client, before)
        await world.serves(digest)

        now_leads, other = await roles(world, suite)
        await asyncio.to_thread(suite.kill, now_leads)
        assert (await roles(world, suite))[0] == other, "the other one takes over"
        await asyncio.to_thread(suite.start, now_leads)
        assert await both_serve(client) == after
    assert client.gaps == []
    assert client.refusals > 0
    assert set(client.bodies) == {before, after}
    assert files(suite, NAMES[0], digest) == files(suite, NAMES[1], digest)
