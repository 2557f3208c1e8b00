"""Summaries of bundles whose images need a login, or a signature: read with the Secret and the policy of their Catalog."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from olmkit.api.meta import Kind
from olmkit.errors import NotFound
from olmkit.fbc.bundle_summary import load
from tests import images
from tests.cluster.catalogd.conftest import NAMESPACE, World, lines, package, running
from tests.secrets import auth, docker_config
from tests.servers.registry import PASSWORD, USER, basic_auth, own_registry
from tests.signing import classic, new_key, payload_of, public_pem, push_classic
from tests.unit.rukpak.builders import crd, csv, files

SECRET = Kind("", "v1", "Secret", "secrets", namespaced=True)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
WRONG = "n0t-the-password"
BUNDLE = images.tar(files(csv("p.v1.0.0"), crd(), package="p"))


@pytest.fixture
async def named(world: World) -> AsyncIterator[str]:
    """The name of the Secret and the ConfigMap of the test, which are deleted afterwards."""
    yield world.name
    for kind in (SECRET, CONFIG_MAP):
        with contextlib.suppress(NotFound):
            await world.client.delete(kind, world.name, NAMESPACE)


async def answer(world: World) -> tuple[int, Any]:
    """The answer for the bundle when it is not being read any more."""
    async with asyncio.timeout(60):
        while True:
            status, body = await world.get(f"{world.name}/api/v1/bundles/p.v1.0.0/summary")
            if status != 202:
                return status, orjson.loads(body)
            await asyncio.sleep(0.05)


def catalog_of(image: str) -> dict[str, bytes]:
    *others, bundle = package("p", "1.0.0")
    return lines([*others, {**bundle, "image": image}])


async def put_login(world: World, host: str, password: str) -> None:
    body = docker_config({host: auth(USER, password)})
    metadata = {**body["metadata"], "name": world.name, "namespace": NAMESPACE}
    await world.client.apply(SECRET, {**body, "metadata": metadata}, "test")


async def test_the_image_is_read_with_the_pull_secret_of_the_catalog(
    world: World, named: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with own_registry(tmp_path / "images") as opened:
        digest = await asyncio.to_thread(images.push, opened, "p", "v1", [BUNDLE], {})
    async with own_registry(tmp_path / "images", basic_auth(tmp_path / "users")) as guarded:
        conf = tmp_path / "guarded.conf"
        registries = (world.proxy.address, guarded)
        conf.write_text("".join(f'[[registry]]\nprefix = "{each}"\ninsecure = true\n' for each in registries))
        await world.push(catalog_of(f"{guarded}/p@{digest}"))
        await put_login(world, guarded, WRONG)
        async with running(world, tmp_path / "cache", "--registries-conf", str(conf)):
            image: dict[str, Any] = {"ref": world.ref(), "pollInterval": "1h"}
            await world.catalog_of({"source": {"type": "image", "image": image}})
            await world.ready()
            status, refused = await answer(world)
            assert (status, "401" in refused["error"]) == (404, True), refused
            await world.catalog_of({"source": {"type": "image", "image": {**image, "pullSecret": named}}})
            await world.ready()
            status, refused = await answer(world)
            assert (status, "401" in refused["error"]) == (404, True), refused
            assert all(each not in str(refused) for each in (WRONG, PASSWORD))
            await put_login(world, guarded, PASSWORD)
            async with asyncio.timeout(60):
                while (found := await answer(world))[0] != 200:  # noqa: ASYNC110 the Secret reaches catalogd by its informer
                    await asyncio.sleep(0.1)
            assert load(found[1]).image == f"{guarded}/p@{digest}"
            assert list(load(found[1]).definitions()) == ["things.example.com"]
    assert PASSWORD not in str(found[1])
    assert all(each not in caplog.text for each in (WRONG, PASSWORD))


async def test_an_image_that_the_policy_of_the_catalog_refuses_has_no_summary(
    world: World, named: str, catalogd: Path
) -> None:
    key, name = new_key(), f"bundles/{world.name}"
    registry = world.cluster.registry
    digest = await asyncio.to_thread(images.push, registry, name, "v1", [BUNDLE], {})
    image = f"{world.proxy.address}/{name}"
    await world.push(catalog_of(f"{image}@{digest}"))
    source = {"type": "image", "image": {"ref": world.ref(), "pollInterval": "1h"}}
    verify = {"authorities": [{"key": {"configMap": {"name": named}}}]}
    await world.catalog_of({"source": source, "bundles": {"verify": verify}})
    await world.ready()
    status, refused = await answer(world)
    missing = f'ConfigMap "{named}" not found in namespace "{NAMESPACE}": create it there'
    assert (status, refused["error"]) == (404, missing)
    await world.catalog_of(
        {"source": source, "bundles": {"verify": {"authorities": [{"key": {"data": public_pem(key)}}]}}}
    )
    await world.ready()
    status, refused = await answer(world)
    assert (status, refused["error"].startswith(f"image {image}@{digest} has no signature: ")) == (404, True), refused
    assert world.count(f"{name}/blobs/") == 0, "nothing of the image is read"
    await asyncio.to_thread(push_classic, registry, name, digest, classic(key, payload_of(image, digest)))
    await world.catalog_of({"source": source, "bundles": {"verify": {"authorities": [
        {"key": {"data": public_pem(key)}}, {"key": {"data": public_pem(new_key())}},
    ]}}})  # fmt: skip
    await world.ready()
    status, found = await answer(world)
    assert (status, load(found).image) == (200, f"{image}@{digest}")
