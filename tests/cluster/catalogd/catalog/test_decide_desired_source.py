"""What the spec of a Catalog asks for: availability, a refresh, ConfigMaps, a pull secret."""

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
    """The name of a Secret that does not exist yet; it is deleted afterwards."""
    name = f"{world.name}-login"
    yield name
    with contextlib.suppress(NotFound):
        await world.client.delete(SECRET, name, NAMESPACE)


async def test_an_unavailable_catalog_is_not_served_until_it_is_available_again(world: World, catalogd: Path) -> None:
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
    await world.until("its Packages are deleted", lambda: not world.packages())
    assert (await world.get(f"{world.name}/all.json"))[0] == 503
    pulled = world.count("/blobs/")
    assert not await asyncio.to_thread(lambda: list(catalogd.glob("content/sha256-*")))
    await spec(world, availability=None)
    await world.ready()
    assert world.count("/blobs/") > pulled
    assert world.packages()


async def request_refresh(world: World, value: str | None) -> None:
    """Set the annotation that requests a check, or remove it."""
    await world.client.patch(catalogs.KIND, world.name, {"metadata": {"annotations": {REFRESH: value}}})


async def handled(world: World, value: str) -> Object:
    """The Catalog as soon as its status reports that the check of that annotation has ended."""
    await world.until(
        f"the refresh {value} is handled", lambda: world.seen().get("status", {}).get("lastHandledRefresh") == value
    )
    return world.seen()


async def test_an_annotation_requests_a_check_and_the_status_reports_its_end(world: World, catalogd: Path) -> None:
    await world.push(lines(package("p", "1.0.0")))
    await world.catalog(world.ref(), poll="0s")
    assert "lastHandledRefresh" not in (await world.ready())["status"]
    before = world.count("/manifests/")
    await request_refresh(world, "nothing moved")
    found = await handled(world, "nothing moved")
    assert triple(found, "Ready")[:2] == ("True", "Succeeded")
    assert world.count("/manifests/") == before + 1
    digest = await world.push(lines(package("p", "2.0.0")))
    await request_refresh(world, "moved")
    found = await handled(world, "moved")
    assert found["status"]["contentDigest"] == digest, (
        "the end of the check is reported in the same update as its result"
    )
    world.proxy.on("/manifests/", status(500))
    await request_refresh(world, "broken")
    found = await handled(world, "broken")
    assert triple(found, "Unpacked")[:2] == ("False", "UnpackFailed")
    assert triple(found, "Reconciling")[:2] == ("True", "Retrying")


async def test_a_check_that_was_requested_during_downtime_is_made_and_one_that_was_handled_is_not_repeated(
    world: World, tmp_path: Path
) -> None:
    await world.push(lines(package("p", "1.0.0")))
    await world.push(lines(package("q", "1.0.0")), "v2")
    async with running(world, tmp_path / "cache"):
        await world.catalog(world.ref(), poll="0s")
        await world.ready()
        await request_refresh(world, "x" * 5000)
        await handled(world, "x" * 1024)
    checks = world.count("/manifests/v1")
    async with running(world, tmp_path / "cache"):
        await world.ready(await world.catalog(world.ref(":v2"), f"{world.name}-other"))
        await request_refresh(world, None)
        await world.until("the annotation is removed", lambda: not world.seen()["metadata"].get("annotations"))
        assert world.count("/manifests/v1") == checks
        assert world.seen()["status"]["lastHandledRefresh"] == "x" * 1024
    await request_refresh(world, "while it was down")
    async with running(world, tmp_path / "cache"):
        await handled(world, "while it was down")
    assert world.count("/manifests/v1") == checks + 1


async def test_every_catalog_has_its_name_as_a_label(world: World, catalogd: Path) -> None:
    await world.push(lines(package("p", "1.0.0")))
    label = {"olm.operatorframework.io/metadata.name": world.name}
    await world.catalog(world.ref())
    await world.until("it has the label", lambda: world.find().get("metadata", {}).get("labels") == label)
    await world.client.patch(catalogs.KIND, world.name, {"metadata": {"labels": dict.fromkeys(label)}})
    await world.until("it has the label again", lambda: world.find()["metadata"].get("labels") == label)


async def test_config_maps_are_read_again_when_they_change(world: World, catalogd: Path) -> None:
    first, second = f"{world.name}-a", f"{world.name}-b"
    source = {
        "type": "configMaps",
        "configMaps": [{"configMap": {"name": first}}, {"configMap": {"name": second}, "path": "more"}],
    }
    await world.catalog_of({"source": source})
    found = await world.when("Stalled", "True", "Blocked")
    assert triple(found, "Unpacked")[2] == (
        f'ConfigMaps "{first}", "{second}" not found in namespace "{NAMESPACE}": create them there'
    )
    await put(world, CONFIG_MAP, first, data={"p.json": text(package("p", "1.0.0"))})
    await put(world, CONFIG_MAP, second, data={"q.json": text(package("q", "1.0.0"))})
    found = await world.ready()
    assert found["status"]["packages"] == "p,q"
    assert found["status"]["resolvedSource"]["configMaps"]["digest"].startswith("sha256:")
    await put(world, CONFIG_MAP, second, data={"r.json": text(package("r", "1.0.0"))})
    await world.until("the new file is served", lambda: world.seen()["status"].get("packages") == "p,r")
    for name in (first, second):
        await world.client.delete(CONFIG_MAP, name, NAMESPACE)
    found = await world.when("Ready", "True", "ServingOldContent")
    assert found["status"]["packages"] == "p,r"


async def test_a_catalog_recovers_when_its_pull_secret_appears(world: World, catalogd: Path, login: str) -> None:
    await world.push(lines(package("p", "1.0.0")))
    await world.catalog_of({"source": {"type": "image", "image": {"ref": world.ref(), "pullSecret": login}}})
    found = await world.when("Stalled", "True", "Blocked")
    assert f'Secret "{login}" not found' in triple(found, "Ready")[2]
    await put(world, SECRET, login, type="kubernetes.io/basic-auth", stringData={"username": "u", "password": "hush"})
    found = await world.until(
        "its error is reported",
        lambda: seen if "source-hosts" in triple(seen := world.seen(), "Stalled")[2] else None,
    )
    assert "hush" not in json.dumps(found)
    config = {"auths": {world.proxy.address: {"auth": base64.b64encode(b"u:hush").decode()}}}
    await world.client.delete(SECRET, login, NAMESPACE)
    data = {".dockerconfigjson": json.dumps(config)}
    await put(world, SECRET, login, type="kubernetes.io/dockerconfigjson", stringData=data)
    await world.ready()
