"""The lease passes from one catalogd to another and back: what is served then is what the status names, nothing of before."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

from aiohttp import web
from prometheus_client import REGISTRY

from catalogd.replication.follower import CATALOGS_BEHIND
from olmkit.api import catalogs
from olmkit.store.store import Store
from tests.cluster.catalogd.conftest import Object, World, lines, package
from tests.cluster.catalogd.elected import Replica, Replicas
from tests.integration.catalogd.replicas import until
from tests.servers.registry_proxy import RegistryProxy

BEFORE = lines(package("p", "1.0.0"))
AFTER = lines(package("p", "1.0.0", "1.1.0"))


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
    await until(lambda: first.proxy.held_back > 0)  # an answer that does not arrive
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


async def edit(world: World, *names: str) -> None:
    """Offer these packages; all of them without names."""
    await world.client.patch(catalogs.KIND, world.name, {"spec": {"packages": names or None}})


def reports(catalog: Object, names: str) -> bool:
    """Whether these packages are reported as those of the last edit."""
    status = catalog["status"]
    return bool(
        status["observedGeneration"] == catalog["metadata"]["generation"] and status.get("selectedPackages") == names
    )


async def offers(replicas: Replicas, replica: Replica, *names: str) -> None:
    """Wait until the replica lists these packages."""
    path, found = f"/catalogs/{replicas.world.name}/api/v1/packages", ["nothing yet"]
    async with asyncio.timeout(60):
        while found != [*names]:
            status, _, body = await replicas.ask(replica, path)
            found = [each["name"] for each in json.loads(body)["packages"]] if status == 200 else [str(status)]
            await asyncio.sleep(0.05)  # there is no event to await


async def test_a_list_of_packages_that_is_edited_during_a_failover_is_that_of_both_replicas(
    world: World, replicas: Replicas
) -> None:
    digest = await world.push(lines(package("p", "1.0.0"), package("q", "1.0.0")))
    await world.catalog(world.ref())
    first = await replicas.start("first")
    await world.serves(digest)
    second = await replicas.start("second")
    await replicas.serves(second, digest)

    await edit(world, "p")
    await offers(replicas, first, "p")
    await offers(replicas, second, "p")
    first.proxy.silence()  # the other replica learns nothing of the edits that this one has applied
    await edit(world, "q")
    await offers(replicas, first, "q")
    first.manager.stop()
    await edit(world, "q", "p")
    await edit(world, "q")
    await world.until("the new leader reports the list", lambda: reports(world.seen(), "q"))
    await offers(replicas, second, "q")
    listed = [f"{world.name}-q"]
    await world.until("the Packages are those of the list", lambda: sorted(world.packages()) == listed)
    third = await replicas.start("third")
    await offers(replicas, third, "q")
    await edit(world)
    await offers(replicas, third, "p", "q")
    await offers(replicas, second, "p", "q")


async def test_a_replica_whose_copy_is_lost_copies_it_again_for_another_list(
    world: World, replicas: Replicas, tmp_path: Path
) -> None:
    digest = await world.push(BEFORE)
    await world.catalog(world.ref())
    await replicas.start("first")
    await world.serves(digest)
    second = await replicas.start("second")
    await replicas.serves(second, digest)
    for each in (tmp_path / "second" / "content").glob("sha256-*"):
        await asyncio.to_thread(shutil.rmtree, each)
    await edit(world, "absent")
    await offers(replicas, second)
    assert await replicas.served(second) == digest
