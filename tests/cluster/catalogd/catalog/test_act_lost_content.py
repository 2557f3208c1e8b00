"""Content that others remove from the cache directory while it is served: it is read again at once, and then with a delay."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

from olmkit.api import catalogs
from tests.cluster.catalogd.catalog.test_reconciler import passes
from tests.cluster.catalogd.conftest import Object, World, lines, package
from tests.conditions import triple

CATALOG = lines(package("p", "1.0.0"), package("q", "1.0.0"))
LOST_AGAIN = "content that was read again is lost from the cache directory again"


def remove_content(cache: Path) -> None:
    for each in (cache / "content").glob("sha256-*"):
        shutil.rmtree(each)


async def select(world: World, *names: str) -> None:
    await world.client.patch(catalogs.KIND, world.name, {"spec": {"packages": [*names]}})


async def lose(world: World, cache: Path, name: str) -> Object:
    """The Catalog when a list of packages that was edited after a loss applies, or cannot be applied for now."""
    await asyncio.to_thread(remove_content, cache)
    await select(world, name)

    def reached() -> Object | None:
        found = world.seen()
        if found["status"]["observedGeneration"] != found["metadata"]["generation"]:
            return None
        is_applied = triple(found, "Ready")[0] == "True" and found["status"].get("selectedPackages") == name
        return found if is_applied or triple(found, "Unpacked")[1] == "UnpackFailed" else None

    return await world.until("the content is read again, or will be", reached)


async def listed(world: World) -> list[str]:
    code, body = await world.get(f"{world.name}/api/v1/packages")
    assert code == 200
    return [each["name"] for each in json.loads(body)["packages"]]


async def test_a_list_that_is_edited_when_the_content_is_lost_applies_to_content_that_is_read_again(
    world: World, catalogd: Path
) -> None:
    await world.push(CATALOG)
    await world.catalog(world.ref())
    await world.ready()
    pulled, before = world.count("/blobs/"), passes()
    await asyncio.to_thread(remove_content, catalogd)
    seen = len(world.history)
    await select(world, "q")
    await world.until("the list applies", lambda: world.seen()["status"].get("selectedPackages") == "q")
    await world.until("the Package of p is deleted", lambda: [*world.packages()] == [f"{world.name}-q"])
    assert await listed(world) == ["q"]
    assert passes() - before < 20, "no pass is repeated without an end"
    assert world.count("/blobs/") == pulled * 2, "it is read once more"
    said = {triple(each, "Serving")[2] for each in world.history[seen:] if triple(each, "Serving")[0] == "False"}
    assert said == {"the content is damaged on disk and is read again: there is no such content"}
    assert not [each for each in world.history[seen:] if triple(each, "Unpacked")[1] == "UnpackFailed"]


async def test_a_longer_list_is_written_although_the_objects_of_its_packages_are_lost(
    world: World, catalogd: Path
) -> None:
    await world.push(CATALOG)
    await world.catalog_of({"source": {"type": "image", "image": {"ref": world.ref()}}, "packages": ["p"]})
    await world.when("Ready", "True", "Succeeded")
    for each in (catalogd / "content").glob("*/content/packages.jsonl"):
        each.unlink()
    await select(world, "p", "q")
    both = [f"{world.name}-p", f"{world.name}-q"]
    await world.until("both Packages exist", lambda: sorted(world.packages()) == both, within=30)
    assert await listed(world) == ["p", "q"]


async def test_content_that_is_lost_again_and_again_is_read_with_a_delay_and_the_status_says_so(
    world: World, catalogd: Path
) -> None:
    await world.push(CATALOG)
    await world.catalog(world.ref())
    await world.ready()
    pulled = world.count("/blobs/")
    await lose(world, catalogd, "q")
    assert world.count("/blobs/") == pulled * 2, "it is read at once"
    # The delay counts from the last load and doubles: on a machine that is slow enough it ends before the loss is noticed.
    losses = 1
    while triple(found := await lose(world, catalogd, "pq"[losses % 2 - 1]), "Ready")[0] == "True":
        losses += 1
        assert losses < 8, "a delay of minutes has not ended"
    assert triple(found, "Unpacked")[:2] == ("False", "UnpackFailed")
    assert triple(found, "Unpacked")[2].startswith(LOST_AGAIN)
    assert triple(found, "Ready")[:2] == ("False", "UnpackFailed")
    assert triple(found, "Reconciling")[:2] == ("True", "Retrying")
    assert world.count("/blobs/") == pulled * (losses + 1), "it is read again after a delay"
    await world.when("Ready", "True", "Succeeded")
    assert await listed(world) == found["spec"]["packages"]
