"""The lease passes from one catalogd to another and back: what is served then is what the status names, nothing of before."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web
from prometheus_client import REGISTRY

from catalogd.replication.follower import CATALOGS_BEHIND
from olmkit.store.store import Store
from tests.cluster.catalogd.conftest import World, lines, package
from tests.cluster.catalogd.elected import Replicas
from tests.integration.catalogd.replicas import until
from tests.servers.registry_proxy import RegistryProxy

BEFORE = lines(package("p", "1.0.0"))
AFTER = lines(package("p", "1.0.0", "1.1.0"))


def unchanged() -> float:
    """How often a request for records was answered with 304."""
    return REGISTRY.get_sample_value("catalogd_http_request_duration_seconds_count", {"code": "304"}) or 0.0


async def test_a_late_response_of_the_previous_leader_is_not_served_by_the_new_leader(
    world: World, replicas: Replicas
) -> None:
    first_digest = await world.push(BEFORE)
    await world.catalog(world.ref())
    first = await replicas.start("first")
    await world.serves(first_digest)
    second = await replicas.start("second")
    await replicas.serves(second, first_digest)

    first.proxy.silence()
    answered = unchanged()
    await until(lambda: unchanged() > answered)  # and the answer does not arrive
    digest = await world.push(AFTER)
    first.manager.stop()
    await world.serves(digest)
    CATALOGS_BEHIND.set(-1)
    first.proxy.resume()
    await until(lambda: REGISTRY.get_sample_value("catalogd_replication_behind") == 0)  # a poll while it leads
    assert await replicas.served(second) == digest
    await world.serves(digest)


async def test_content_loaded_before_the_lease_was_lost_is_loaded_again(
    world: World, replicas: Replicas, tmp_path: Path
) -> None:
    replica = await replicas.start("only")
    await until(lambda: replica.manager.is_leading)
    released = asyncio.Event()

    async def held(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        await released.wait()
        status, headers, body = await proxy.fetch(request)
        return web.Response(status=status, headers=headers, body=body)

    world.proxy.on("/blobs/", held)
    before = await world.push(BEFORE)
    await world.catalog(world.ref())
    await world.when("Unpacked", "False", "Unpacking")
    await until(lambda: world.count("/blobs/") > 0)
    await replicas.give_lease("another")
    await until(lambda: not replica.manager.is_leading)
    released.set()
    store = Store(tmp_path / "only" / "content")
    await until(lambda: before in store.digests())  # the job has ended, and its result is not used
    after = await world.push(AFTER)
    await replicas.give_lease("")
    await world.serves(after)
    assert await replicas.served(replica) == after
    assert before not in {each.get("status", {}).get("contentDigest") for each in world.history}
