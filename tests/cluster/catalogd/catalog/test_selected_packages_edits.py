"""spec.packages that is edited while something else happens: what is served, listed and reported is that of the last edit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from aiohttp import web

from olmkit.api import catalogs
from olmkit.errors import Invalid
from tests.cluster.catalogd.conftest import World, lines, package
from tests.conditions import triple
from tests.servers.registry_proxy import RegistryProxy

EVERY = ("p", "q", "r", "s")
BEFORE, AFTER, LAST = (lines(*(package(name, version) for name in EVERY)) for version in ("1.0.0", "2.0.0", "3.0.0"))


async def select(world: World, names: Sequence[str] | None) -> None:
    await world.client.patch(catalogs.KIND, world.name, {"spec": {"packages": names}})


async def offered(world: World, path: str) -> list[str]:
    code, body = await world.get(f"{world.name}/api/v1/{path}")
    assert code == 200
    if path == "packages":
        return [each["name"] for each in json.loads(body)["packages"]]
    return [json.loads(line)["package"] for line in body.splitlines()]


async def settles(world: World, names: Sequence[str], every: Sequence[str] = EVERY) -> None:
    """Wait until the Catalog is reconciled with the last edit, and compare what is reported, listed and served."""

    def is_done() -> bool:
        if not (found := world.find()):
            return False
        is_observed = found["status"]["observedGeneration"] == found["metadata"]["generation"]
        is_listed = sorted(each["spec"]["packageName"] for each in world.packages().values()) == sorted(names)
        is_reconciled = triple(found, "Ready")[:2] == ("True", "Succeeded") and not triple(found, "Reconciling")[0]
        return is_observed and is_listed and is_reconciled

    await world.until(f"{names} are offered", is_done)
    status = world.seen()["status"]
    assert status.get("selectedPackages", status["packages"]) == ",".join(names)
    assert (status["packages"], status["packageCount"]) == (",".join(every), len(every))
    assert await offered(world, "packages") == [*names]
    assert await offered(world, "resolution") == [*names]
    assert await offered(world, "resolution?all=true") == [*every]


async def test_edits_while_the_catalog_is_read_for_the_first_time(world: World, catalogd: Path) -> None:
    released = asyncio.Event()

    async def held(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        await released.wait()
        status, headers, body = await proxy.fetch(request)
        return web.Response(status=status, headers=headers, body=body)

    world.proxy.on("/blobs/", held)
    await world.push(BEFORE)
    await world.catalog_of({"source": {"type": "image", "image": {"ref": world.ref()}}, "packages": ["p"]})
    await world.when("Unpacked", "False", "Unpacking")
    assert triple(world.seen(), "PackagesSelected")[:2] == ("Unknown", "NotReadYet")
    for names in (["q"], None, ["q", "r"], ["s"]):
        await select(world, names)
    released.set()
    await settles(world, ["s"])
    assert triple(world.seen(), "PackagesSelected")[:2] == ("True", "PackagesFound")


async def test_many_edits_while_the_tag_moves(world: World, catalogd: Path) -> None:
    await world.push(BEFORE)
    await world.catalog(world.ref(), poll="1s")
    await settles(world, EVERY)
    wanted: list[str] = []
    for number in range(30):
        if number % 10 == 5:
            await world.push(AFTER if number % 20 == 5 else BEFORE)
        wanted = [name for place, name in enumerate(EVERY) if (number + 1) >> place & 1]
        await select(world, wanted or None)
    digest = await world.push(LAST)
    await world.serves(digest)
    await settles(world, wanted or EVERY)
    code, body = await world.get(f"{world.name}/api/v1/resolution?package={wanted[0]}")
    assert code == 200
    assert [each["version"] for each in json.loads(body)["bundles"]] == ["3.0.0"]


async def test_an_edit_while_the_catalog_is_withdrawn_and_offered_again(world: World, catalogd: Path) -> None:
    await world.push(BEFORE)
    await world.catalog(world.ref())
    await settles(world, EVERY)
    for availability, names in (("Unavailable", ["p"]), ("Available", ["q"]), ("Unavailable", ["r"])):
        await world.client.patch(catalogs.KIND, world.name, {"spec": {"availability": availability, "packages": names}})
    await world.until("nothing is listed", lambda: not world.packages())
    await world.client.patch(catalogs.KIND, world.name, {"spec": {"availability": "Available"}})
    await settles(world, ["r"])


async def test_names_are_compared_as_they_are_written(world: World, catalogd: Path) -> None:
    await world.push(BEFORE)
    await world.catalog_of({"source": {"type": "image", "image": {"ref": world.ref()}}, "packages": ["P", "q"]})
    await settles(world, ["q"])
    status, reason, message = triple(world.seen(), "PackagesSelected")
    assert (status, reason) == ("False", "PackagesNotFound")
    assert message == (
        "spec.packages names 2 packages, of which the catalog lacks 1: P (it has p); they are offered as soon as its"
        " content has them"
    )


@pytest.mark.scale
async def test_a_thousand_names(world: World, catalogd: Path) -> None:
    names = [f"package-{number:04}" for number in range(1200)]
    await world.push(lines(*(package(name, "1.0.0") for name in names)))
    listed = names[100:1100]
    await world.catalog_of({"source": {"type": "image", "image": {"ref": world.ref()}}, "packages": listed[::-1]})
    await settles(world, listed, names)
    with pytest.raises(Invalid, match="must have at most 1000 items"):
        await select(world, names[:1001])
    others = names[:50] + [f"{'x' * 240}-{number:04}" for number in range(950)]
    await select(world, others)
    await settles(world, names[:50], names)
    assert len(triple(world.seen(), "PackagesSelected")[2].encode()) <= 32_768
    assert len(triple(world.seen(), "Ready")[2].encode()) <= 1_024


async def test_no_list_is_every_package_and_an_empty_one_is_refused(world: World, catalogd: Path) -> None:
    await world.push(BEFORE)
    await world.catalog_of({"source": {"type": "image", "image": {"ref": world.ref()}}, "packages": ["p"]})
    await settles(world, ["p"])
    with pytest.raises(Invalid, match="should have at least 1 items"):
        await select(world, [])
    await settles(world, ["p"])
    await world.catalog(world.ref())  # applied again by the same manager, without a list
    await settles(world, EVERY)
    assert triple(world.seen(), "PackagesSelected") == ("", "", "")
    await select(world, ["q"])
    await select(world, None)
    await settles(world, EVERY)
