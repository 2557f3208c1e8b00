"""The unpack job with a policy for signatures: images and Helm charts, in processes with limits and a sandbox."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from olmkit.errors import Waiting
from olmkit.sources.access import Access
from olmkit.sources.signatures.policy import KeyAuthority, NamedText, SignaturePolicy
from olmkit.sources.source import ImageSource
from tests import images
from tests.chart_files import packed_chart, small_chart
from tests.images import MANIFEST, tar
from tests.integration.rukpak.bundle.source_unpacker import PLAIN, SourceUnpacker, config_map
from tests.servers.local_registry import LocalRegistry
from tests.signing import classic, key_id, new_key, payload_of, public_pem, push_classic

KEY = new_key()
POLICY = SignaturePolicy((KeyAuthority((NamedText("key", public_pem(KEY)),)),))
CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


@pytest_asyncio.fixture
async def unpacker(local_registry: LocalRegistry, tmp_path: Path) -> AsyncIterator[SourceUnpacker]:
    access = Access(local_registry.registries_conf, allowed_cidrs=("127.0.0.0/8",), policy=POLICY)
    made = SourceUnpacker(tmp_path, access)
    yield made
    await made.jobs.close()


def push_plain(registry: str, name: str) -> tuple[str, str]:
    layer = tar({"manifests/a.yaml": config_map(name.replace("/", "-"))})
    return images.push(registry, name, "v1", [layer], {}), PLAIN


def push_chart(registry: str, name: str) -> tuple[str, str]:
    chart = packed_chart(small_chart({"a.yaml": "a: b"}), "x")
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST["oci"],
        "config": images.push_blob(registry, name, b"{}", CHART_CONFIG),
        "layers": [images.push_blob(registry, name, chart, CHART)],
    }
    return images.push_manifest(registry, name, "v1", manifest, MANIFEST["oci"]), "helm"


@pytest.mark.parametrize("push", [push_plain, push_chart], ids=["an image", "a Helm chart"])
async def test_content_is_unpacked_once_it_is_signed(
    unpacker: SourceUnpacker, local_registry: LocalRegistry, push: object
) -> None:
    name = f"unpacked/{os.getpid()}-{push.__name__}"  # type: ignore[attr-defined]
    digest, content_type = push(local_registry.address, name)  # type: ignore[operator]
    source, ref = ImageSource(f"quay.io/{name}:v1"), f"quay.io/{name}@{digest}"
    with pytest.raises(Waiting) as raised:
        await unpacker.unpack(source, content_type)
    assert (raised.value.reason, raised.value.subject) == ("SignatureVerificationFailed", (ref,))
    assert unpacker.store.digests() == set()
    payload = payload_of(f"quay.io/{name}", digest)
    push_classic(local_registry.address, name, digest, classic(KEY, payload))
    result = await unpacker.unpack(source, content_type)
    assert (result.problem, result.digest, result.signed_by) == ("", digest, {"key": key_id(KEY)})
    assert unpacker.store.digests() == {digest}


async def test_content_that_another_bundle_has_unpacked_is_verified_too(
    unpacker: SourceUnpacker, local_registry: LocalRegistry, tmp_path: Path
) -> None:
    name = f"unpacked/{os.getpid()}-shared"
    digest, _ = push_plain(local_registry.address, name)
    source = ImageSource(f"quay.io/{name}@{digest}")
    unpacker.access = unpacker.access.with_policy(None)
    assert (await unpacker.unpack(source)).signed_by == {}
    unpacker.access = unpacker.access.with_policy(POLICY)
    with pytest.raises(Waiting, match="has no signature"):
        await unpacker.unpack(source)
    unpacker.access = unpacker.access.with_policy(POLICY.with_verified(digest))
    assert (await unpacker.unpack(source)).digest == digest, "what was verified for this Bundle is not verified again"
