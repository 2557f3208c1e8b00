"""Catalogs whose images have to be signed: what is refused, what is verified again, and what is not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import catalogs
from olmkit.api.meta import Kind
from olmkit.errors import ApiError, NotFound
from tests.cluster.catalogd.conftest import NAMESPACE, Object, World, lines, package, running
from tests.conditions import triple
from tests.servers.registry_proxy import status
from tests.signing import PrivateKey, classic, key_id, new_key, payload_of, public_pem, push_classic

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)


async def put_keys(world: World, **keys: str) -> None:
    """Apply the ConfigMap of this test's keys."""
    metadata = {"name": f"{world.name}-keys", "namespace": NAMESPACE}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": keys}
    await world.client.apply(CONFIG_MAP, body, "test")


@pytest.fixture
async def signed(world: World) -> AsyncIterator[World]:
    """The World, whose ConfigMap of keys is deleted afterwards."""
    yield world
    with contextlib.suppress(NotFound):
        await world.client.delete(CONFIG_MAP, f"{world.name}-keys", NAMESPACE)


async def sign(world: World, digest: str, key: PrivateKey) -> None:
    """Sign the image of this digest, under the name that the Catalog has for it."""
    payload = payload_of(world.ref("").removesuffix(":"), digest)
    await asyncio.to_thread(
        push_classic, world.cluster.registry, f"catalogs/{world.name}", digest, classic(key, payload)
    )


def by_config_map(world: World) -> Object:
    return {"authorities": [{"key": {"configMap": {"name": f"{world.name}-keys"}}}]}


async def apply(world: World, verify: Object | None, poll: str = "1h", **metadata: Any) -> None:
    """Apply the Catalog of the tag."""
    image = {"ref": world.ref(), "pollInterval": poll, **({"verify": verify} if verify else {})}
    await world.catalog_of({"source": {"type": "image", "image": image}}, **metadata)


async def refresh(world: World, value: str) -> None:
    """Request a check of the source, and wait for its end."""
    patch = {"metadata": {"annotations": {catalogs.REFRESH_ANNOTATION: value}}}
    await world.client.patch(catalogs.KIND, world.name, patch)
    await world.until("it is checked", lambda: world.seen()["status"].get("lastHandledRefresh") == value)


async def test_an_image_is_refused_until_it_is_signed(signed: World, catalogd: Path) -> None:
    world, key = signed, new_key()
    digest = await world.push(lines(package("p", "1.0.0")))
    await apply(world, by_config_map(world))
    found = await world.when("Stalled", "True", "Blocked")
    missing = f'ConfigMap "{world.name}-keys" not found in namespace "{NAMESPACE}": create it there'
    assert triple(found, "Unpacked") == ("False", "UnpackFailed", missing)
    await put_keys(world, **{"release.pub": public_pem(key), "readme": "none"})
    found = await world.when("Reconciling", "True", "Retrying")
    ref = f"{world.ref('')}@{digest}"
    command = f"cosign sign --key cosign.key {ref}"
    words = f"image {ref} has no signature: sign it with `{command}`, or copy its signatures too (cosign copy)"
    assert triple(found, "Unpacked") == ("False", "UnpackFailed", f"source catalog content: {words}")
    assert triple(found, "Ready")[0] == "False"
    assert world.count("/blobs/") == 0, "nothing of the image is read"
    await sign(world, digest, key)
    await refresh(world, "signed")
    found = await world.ready()
    assert found["status"]["signedBy"] == {"key": key_id(key)}


async def test_what_is_verified_is_not_verified_again_by_a_poll(signed: World, catalogd: Path) -> None:
    world, key = signed, new_key()
    await put_keys(world, **{"a.pub": public_pem(key)})
    await sign(world, await world.push(lines(package("p", "1.0.0"))), key)
    await apply(world, by_config_map(world))
    await world.ready()
    read = world.count(".sig")
    assert read == 1
    await refresh(world, "1")
    await refresh(world, "2")
    assert world.count(".sig") == read
    # A moved tag is verified; what is served stays until that has succeeded.
    second = await world.push(lines(package("p", "1.0.0", "1.1.0")))
    await refresh(world, "3")
    found = await world.when("Ready", "True", "ServingOldContent")
    assert f"@{second} has no signature" in triple(found, "Unpacked")[2]
    assert found["status"]["signedBy"] == {"key": key_id(key)}
    await sign(world, second, key)
    await refresh(world, "4")
    await world.serves(second)


async def test_a_change_of_the_policy_verifies_the_same_image_again(signed: World, catalogd: Path) -> None:
    world, first, second = signed, new_key(), new_key()
    await put_keys(world, **{"a.pub": public_pem(first)})
    digest = await world.push(lines(package("p", "1.0.0")))
    await sign(world, digest, first)
    await apply(world, None)
    assert "signedBy" not in (await world.ready())["status"]
    assert world.count(".sig") == 0, "without a policy no signature is requested"
    await apply(world, by_config_map(world))
    await world.until("it is verified", lambda: world.seen()["status"].get("signedBy") == {"key": key_id(first)})
    # Another key in the same ConfigMap.
    await put_keys(world, **{"a.pub": public_pem(second)})
    words = f"is not by key {key_id(second)}"
    await world.until("it is refused", lambda: words in triple(world.seen(), "Unpacked")[2])
    found = await world.when("Ready", "True", "ServingOldContent")
    beginning = f'serving "{world.ref("")}@{digest}", which spec.source.image.verify refuses: '
    assert triple(found, "Ready")[2].startswith(beginning)
    await sign(world, digest, second)
    await refresh(world, "signed")
    await world.until("it is verified", lambda: world.seen()["status"].get("signedBy") == {"key": key_id(second)})
    await apply(world, None)
    await world.until("it is not verified", lambda: "signedBy" not in world.seen()["status"])


async def test_signatures_that_cannot_be_read_are_waited_for(signed: World, catalogd: Path) -> None:
    world, key = signed, new_key()
    await put_keys(world, **{"a.pub": public_pem(key)})
    await sign(world, await world.push(lines(package("p", "1.0.0"))), key)
    world.proxy.on(".sig", status(503))
    await apply(world, by_config_map(world))
    found = await world.when("Reconciling", "True", "Retrying")
    assert "answered 503 Service Unavailable" in triple(found, "Unpacked")[2]
    assert "cannot be read" in triple(found, "Unpacked")[2]
    world.proxy.on(".sig", None)
    await world.ready()


async def test_who_signed_is_known_after_a_restart(signed: World, tmp_path: Path) -> None:
    world, key = signed, new_key()
    await put_keys(world, **{"a.pub": public_pem(key)})
    await sign(world, await world.push(lines(package("p", "1.0.0"))), key)
    async with running(world, tmp_path / "cache"):
        await apply(world, by_config_map(world))
        await world.ready()
    read = world.count(".sig")
    async with running(world, tmp_path / "cache"):
        await refresh(world, "again")
        found = await world.ready()
    assert found["status"]["signedBy"] == {"key": key_id(key)}
    assert world.count(".sig") == read


async def test_fields_that_the_api_server_refuses(signed: World) -> None:
    for verify, words in (
        ({"authorities": []}, "should have at least 1 items"),
        ({"authorities": [{}]}, "exactly one of key, keyless must be set"),
        ({"authorities": [{"key": {}}]}, "exactly one of data, secret, configMap must be set"),
        (
            {"authorities": [{"keyless": {"trustRoot": {"certificates": "x"}, "identities": [{"subject": "a"}]}}]},
            "log must be Ignored with trustRoot.certificates, which name no log",
        ),
        (
            {
                "authorities": [
                    {"keyless": {"trustRoot": {"configMap": {"name": "x"}}, "identities": [{"subject": "a"}]}}
                ]
            },
            "each identity needs an issuer with trustRoot.configMap: other issuers could give the same subject",
        ),
    ):
        with pytest.raises(ApiError) as raised:
            await apply(signed, verify)
        assert words in str(raised.value)
