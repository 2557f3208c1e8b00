"""The summary of a bundle from replicas of catalogd as in a cluster: one makes it, another one asks that one and keeps a copy."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from olmkit.fbc.bundle_summary import load
from tests import images
from tests.cluster.catalogd.conftest import World, lines, package
from tests.cluster.catalogd.elected import Replica, Replicas
from tests.unit.rukpak.builders import crd, csv, files


async def answer(replicas: Replicas, replica: Replica, bundle: str) -> tuple[int, Any]:
    """The answer that is not that one has to wait."""
    path = f"/catalogs/{replicas.world.name}/api/v1/bundles/{bundle}/summary"
    async with asyncio.timeout(60):
        while True:
            status, _, body = await replicas.ask(replica, path)
            if status not in (202, 503):
                return status, orjson.loads(body)
            await asyncio.sleep(0.1)


async def test_a_summary_is_made_by_the_leader_and_copied(world: World, replicas: Replicas) -> None:
    layer = images.tar(files(csv("p.v1.0.0"), crd(), package="p"))
    name = f"bundles/{world.name}"
    digest = await asyncio.to_thread(images.push, world.cluster.registry, name, "v1", [layer], {})
    *others, first, second = package("p", "1.0.0", "2.0.0")
    first["image"], second["image"] = (
        f"{world.proxy.address}/{name}@{each}" for each in (digest, f"sha256:{'1' * 64}")
    )
    catalog = await world.push(lines([*others, first, second]))
    await world.catalog(world.ref())
    leader = await replicas.start("first")
    await world.serves(catalog)
    other = await replicas.start("second")
    await replicas.serves(other, catalog)

    status, summary = await answer(replicas, other, "p.v1.0.0")
    assert status == 200
    assert load(summary).image == first["image"]
    assert list(load(summary).definitions()) == ["things.example.com"]
    asked = world.count(f"{name}/blobs/")
    assert await answer(replicas, leader, "p.v1.0.0") == (200, summary)
    assert world.count(f"{name}/blobs/") == asked, "the image was pulled once"

    status, refusal = await answer(replicas, other, "p.v2.0.0")
    assert (status, "has no such tag or repository (404)" in refusal["error"]) == (404, True), refusal
    assert leader.proxy.accepted > 0
    leader.proxy.close()
    assert await answer(replicas, other, "p.v1.0.0") == (200, summary), "the copy is served without the leader"
