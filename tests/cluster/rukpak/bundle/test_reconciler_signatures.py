"""Bundles whose images have to be signed, on the real API server."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.api import bundles
from olmkit.api.meta import Kind
from tests.cluster.rukpak.bundle.test_reconciler import REGISTRY, Stage, digest_of, registry_bundle, unpacking
from tests.cluster.rukpak.harness import Harness, Object
from tests.conditions import triple
from tests.signing import PrivateKey, classic, key_id, new_key, payload_of, public_pem, push_classic

SECRET = Kind("", "v1", "Secret", "secrets", namespaced=True)
NAMESPACE = "olm-suite-system"


@pytest.fixture
async def stage(at: Harness) -> Stage:
    """The Stage, with the namespace of the suite."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await at.client.apply(Kind("", "v1", "Namespace", "namespaces"), body, "test")
    return Stage(at)


async def create(stage: Stage, key_secret: str, ref: str) -> str:
    """Create a Bundle whose image has to be signed with the key of a Secret."""
    verify = {"authorities": [{"key": {"secret": {"name": key_secret}}}]}
    body = {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "Bundle",
        "metadata": {"name": stage.name},
        "spec": {
            "provisionerClassName": REGISTRY,
            "source": {"type": "image", "image": {"ref": ref, "verify": verify}},
        },
    }
    await stage.at.create(bundles.KIND, body)
    return stage.name


async def put_secret(stage: Stage, name: str, **keys: str) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}}
    await stage.client.apply(SECRET, {**body, "stringData": keys}, "test")


async def sign(stage: Stage, digest: str, key: PrivateKey) -> None:
    name = f"bundles/{stage.name}"
    payload = payload_of(f"{stage.cluster.registry}/{name}", digest)
    await asyncio.to_thread(push_classic, stage.cluster.registry, name, digest, classic(key, payload))


async def failing(stage: Stage, name: str, words: str) -> Object:
    """The Bundle when it fails with these words."""
    return await stage.at.when(bundles.KIND, name, "", lambda raw: words in triple(raw or {}, "Unpacked")[2]) or {}


async def test_a_bundle_is_unpacked_once_its_image_is_signed(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    key, secret = new_key(), f"{stage.name}-keys"
    digest = stage.push(registry_bundle("things"))
    async with unpacking(cluster, tmp_path) as store:
        name = await create(stage, secret, stage.image())
        missing = await failing(stage, name, f'Secret "{secret}" not found')
        assert triple(missing, "Stalled")[0] == "True"
        private = {"cosign.key": "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----", "cosign.password": "s3cret"}
        await put_secret(stage, secret, **private)
        await failing(stage, name, f"Secret {secret} has no key that ends with .pub, such as cosign.pub")
        await put_secret(stage, secret, **private, **{"cosign.pub": public_pem(key)})
        refused = await failing(stage, name, "has no signature: sign it with `cosign sign --key cosign.key ")
        assert refused["status"]["phase"] == "Failing"
        assert triple(refused, "Reconciling")[:2] == ("True", "Retrying")
        assert "resolvedSource" not in refused["status"], "a tag that moves is resolved again"
        assert digest not in store.digests()
        await sign(stage, digest, key)
        await put_secret(stage, secret, **private, **{"cosign.pub": public_pem(key), "wakes": "it"})
        found = await stage.when(name, "Unpacked")
        assert found["status"]["signedBy"] == {"key": key_id(key)}
        assert digest_of(found) == digest


async def test_lost_content_of_a_verified_bundle_is_fetched_without_its_signature(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    key, secret = new_key(), f"{stage.name}-keys"
    await put_secret(stage, secret, **{"cosign.pub": public_pem(key)})
    digest = stage.push(registry_bundle("things"))
    await sign(stage, digest, key)
    async with unpacking(cluster, tmp_path):
        name = await create(stage, secret, stage.image())
        await stage.when(name, "Unpacked")
    shutil.rmtree(tmp_path)
    await sign(stage, digest, new_key())
    async with unpacking(cluster, tmp_path) as store:
        async with asyncio.timeout(60):
            while digest not in await asyncio.to_thread(store.digests):  # noqa: ASYNC110 there is no event to await
                await asyncio.sleep(0.05)
        found = await stage.when(name, "Unpacked")
        assert found["status"]["signedBy"] == {"key": key_id(key)}
