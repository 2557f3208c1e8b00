"""What a Catalog can ask for beside an image: not to be served, a look now, ConfigMaps, a pull secret, BundleMetadata."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import catalogs
from olmkit.api.meta import Kind
from olmkit.errors import NotFound
from tests.cluster.catalogd.conftest import NAMESPACE, Object, World, lines, package, running
from tests.conditions import triple
from tests.servers.registry_proxy import status

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRET = Kind("", "v1", "Secret", "secrets", namespaced=True)
REFRESH = "catalogd.operatorframework.io/refresh"


def text(*blobs: list[Object]) -> str:
    """A catalog's blobs as one file."""
    return lines(*blobs)["configs/catalog.json"].decode()


async def put(world: World, kind: Kind, name: str, **content: Any) -> None:
    """Apply an object of the system namespace."""
    metadata = {"name": name, "namespace": NAMESPACE}
    body = {"apiVersion": "v1", "kind": kind.kind, "metadata": metadata, **content}
    await world.client.apply(kind, body, "test")


async def spec(world: World, **changes: Any) -> None:
    """Change the spec of this test's Catalog."""
    await world.client.patch(catalogs.KIND, world.name, {"spec": changes})


@pytest.fixture
async def login(world: World) -> AsyncIterator[str]:
    """The name of a Secret that is not there yet; gone afterwards."""
    name = f"{world.name}-login"
    yield name
    with contextlib.suppress(NotFound):
        await world.client.delete(SECRET, name, NAMESPACE)


async def test_one_that_shall_be_unavailable_is_withdrawn_and_comes_back(world: World, catalogd: Path) -> None:
    await world.push(lines(package("p", "1.0.0")))
    await world.catalog(world.ref())
    await world.ready()
    await spec(world, availability="Unavailable")
    found = await world.when("Serving", "False", "UserSpecifiedUnavailable")
    assert triple(found, "Ready") == (
        *("True", "UserSpecifiedUnavailable"),
        "Catalog availability mode is set to Unavailable",
    )
    assert "contentURL" not in found["status"]
    await world.until("its Packages are gone", lambda: not world.packages())
    assert (await world.get(f"{world.name}/all.json"))[0] == 503
    pulled = world.count("/blobs/")
    assert not await asyncio.to_thread(lambda: list(catalogd.glob("content/sha256-*")))
    await spec(world, availability=None)
    await world.ready()
    assert world.count("/blobs/") > pulled
    assert world.packages()


async def ask(world: World, value: str | None) -> None:
    """Set the annotation that asks for a look, or take it away."""
    await world.client.patch(catalogs.KIND, world.name, {"metadata": {"annotations": {REFRESH: value}}})


async def handled(world: World, value: str) -> Object:
    """The Catalog as soon as its status says that the look of that annotation has ended."""
    await world.until(
        f"the look of {value} is handled", lambda: world.seen().get("status", {}).get("lastHandledRefresh") == value
    )
    return world.seen()


async def test_an_annotation_asks_for_a_look_now_and_the_status_tells_when_it_has_ended(
    world: World, catalogd: Path
) -> None:
    await world.push(lines(package("p", "1.0.0")))
    await world.catalog(world.ref(), poll="0s")
    assert "lastHandledRefresh" not in (await world.ready())["status"]
    before = world.count("/manifests/")
    await ask(world, "nothing moved")
    found = await handled(world, "nothing moved")
    assert triple(found, "Ready")[:2] == ("True", "Succeeded")
    assert world.count("/manifests/") == before + 1
    digest = await world.push(lines(package("p", "2.0.0")))
    await ask(world, "moved")
    found = await handled(world, "moved")
    assert found["status"]["contentDigest"] == digest, "that it was handled is told in one with what was found"
    world.proxy.on("/manifests/", status(500))
    await ask(world, "broken")
    found = await handled(world, "broken")
    assert triple(found, "Unpacked")[:2] == ("False", "UnpackFailed")
    assert triple(found, "Reconciling")[:2] == ("True", "Retrying")


async def test_what_was_asked_while_it_was_down_is_done_and_what_was_handled_before_is_not_done_again(
    world: World, tmp_path: Path
) -> None:
    await world.push(lines(package("p", "1.0.0")))
    await world.push(lines(package("q", "1.0.0")), "v2")
    async with running(world, tmp_path / "cache"):
        await world.catalog(world.ref(), poll="0s")
        await world.ready()
        await ask(world, "x" * 5000)
        await handled(world, "x" * 1024)
    looks = world.count("/manifests/v1")
    async with running(world, tmp_path / "cache"):
        await world.ready(await world.catalog(world.ref(":v2"), f"{world.name}-other"))
        await ask(world, None)
        await world.until("it is seen without", lambda: not world.seen()["metadata"].get("annotations"))
        assert world.count("/manifests/v1") == looks
        assert world.seen()["status"]["lastHandledRefresh"] == "x" * 1024
    await ask(world, "while it was down")
    async with running(world, tmp_path / "cache"):
        await handled(world, "while it was down")
    assert world.count("/manifests/v1") == looks + 1


async def test_every_catalog_has_its_name_as_a_label(world: World, catalogd: Path) -> None:
    await world.push(lines(package("p", "1.0.0")))
    label = {"olm.operatorframework.io/metadata.name": world.name}
    await world.catalog(world.ref())
    await world.until("it has the label", lambda: world.find().get("metadata", {}).get("labels") == label)
    await world.client.patch(catalogs.KIND, world.name, {"metadata": {"labels": dict.fromkeys(label)}})
    await world.until("it has the label again", lambda: world.find()["metadata"].get("labels") == label)


async def test_config_maps_are_followed_when_they_change(world: World, catalogd: Path) -> None:
    first, second = f"{world.name}-a", f"{world.name}-b"
    source = {
        "type": "configMaps",
        "configMaps": [{"configMap": {"name": first}}, {"configMap": {"name": second}, "path": "more"}],
    }
    await world.catalog_of({"source": source})
    found = await world.when("Stalled", "True", "Blocked")
    assert triple(found, "Unpacked")[2] == (
        f'ConfigMap "{first}" not found in namespace "{NAMESPACE}": create it there'
    )
    await put(world, CONFIG_MAP, first, data={"p.json": text(package("p", "1.0.0"))})
    await put(world, CONFIG_MAP, second, data={"q.json": text(package("q", "1.0.0"))})
    found = await world.ready()
    assert found["status"]["packages"] == "p,q"
    assert found["status"]["resolvedSource"]["configMaps"]["digest"].startswith("sha256:")
    await put(world, CONFIG_MAP, second, data={"r.json": text(package("r", "1.0.0"))})
    await world.until("the new file counts", lambda: world.seen()["status"].get("packages") == "p,r")
    for name in (first, second):
        await world.client.delete(CONFIG_MAP, name, NAMESPACE)
    found = await world.when("Ready", "True", "ServingOldContent")
    assert found["status"]["packages"] == "p,r"


async def test_a_pull_secret_that_appears_wakes_its_catalog(world: World, catalogd: Path, login: str) -> None:
    await world.push(lines(package("p", "1.0.0")))
    await world.catalog_of({"source": {"type": "image", "image": {"ref": world.ref(), "pullSecret": login}}})
    found = await world.when("Stalled", "True", "Blocked")
    assert f'Secret "{login}" not found' in triple(found, "Ready")[2]
    await put(world, SECRET, login, type="kubernetes.io/basic-auth", stringData={"username": "u", "password": "hush"})
    found = await world.until(
        "what is wrong with it is said",
        lambda: seen if "source-hosts" in triple(seen := world.seen(), "Stalled")[2] else None,
    )
    assert "hush" not in json.dumps(found)
    config = {"auths": {world.proxy.address: {"auth": base64.b64encode(b"u:hush").decode()}}}
    await world.client.delete(SECRET, login, NAMESPACE)
    data = {".dockerconfigjson": json.dumps(config)}
    await put(world, SECRET, login, type="kubernetes.io/dockerconfigjson", stringData=data)
    await world.ready()


async def test_bundle_metadata_is_there_only_when_it_is_asked_for(world: World, tmp_path: Path) -> None:
    two = [package("p", "1.0.0", "1.1.0"), package("q", "1.0.0")]
    two[1][2]["name"] = "p.v1.0.0"  # the name of a bundle of p
    two[1][1]["entries"] = [{"name": "p.v1.0.0"}]
    await world.push(lines(*two))
    await world.catalog(world.ref())
    async with running(world, tmp_path / "cache"):
        await world.ready()
        assert world.bundles() == {}
    async with running(world, tmp_path / "cache", "--bundle-metadata"):
        await world.until("each bundle has one", lambda: len(world.bundles()) == 3)
        found = await world.when("Ready", "True", "Succeeded")
    said = world.bundles()[f"{world.name}-p.v1.1.0"]
    assert said["spec"]["catalog"] == {"name": world.name}
    assert [said["spec"][key] for key in ("package", "bundleName", "image")] == [
        "p",
        "p.v1.1.0",
        "registry.example/p:1.1.0",
    ]
    assert said["spec"]["properties"] == [{"type": "olm.package", "value": {"packageName": "p", "version": "1.1.0"}}]
    assert said["metadata"]["ownerReferences"][0]["uid"] == found["metadata"]["uid"]
