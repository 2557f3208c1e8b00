"""The places where a registry has the signatures of an image: the tag of cosign, and the referrers of its digest.

Referrers come from the API of registries, and from the tag that clients write where a registry lacks it. Reads with the client,
the mirrors and the logins of the image itself. Verifies nothing.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from olmkit.gocompat.text import printable
from olmkit.sources.oci.image import Endpoints
from olmkit.sources.oci.manifests import Descriptor, InvalidManifest, descriptor
from olmkit.sources.signatures.found import (
    BUNDLE,
    BUNDLE_PREFIX,
    SIGN_PREDICATE,
    SIMPLE_SIGNING,
    Signature,
    bundle,
    classic,
)
from olmkit.sources.signatures.strict_json import Unreadable, items, member, read_object, text

MAX_SIGNATURES = 64
"""Signatures of one place."""
PREDICATE_ANNOTATION = "dev.sigstore.bundle.predicateType"
MAX_PAYLOAD_BYTES = 64 * 1024
MAX_BUNDLE_BYTES = 1024**2


@dataclass(frozen=True)
class FoundSignature:
    """A signature, or the reason why it cannot be read. `name` is for messages."""

    name: str
    signature: Signature | None
    problem: str = ""


async def _classic(endpoints: Endpoints, digest: str) -> AsyncIterator[FoundSignature]:
    tag = f"{digest.replace(':', '-')}.sig"
    data = await endpoints.manifest(tag)
    if data is None:
        return
    try:
        layers = [each for each in _list(data, "layers") if text(each, "mediaType") == SIMPLE_SIGNING]
        _check_count(layers)
    except Unreadable as error:
        yield FoundSignature(f"tag {tag}", None, str(error))
        return
    for number, layer in enumerate(layers, start=1):
        name = f"signature {number} of tag {tag}" if len(layers) > 1 else f"the signature of tag {tag}"
        try:
            payload = await _blob(endpoints, layer, MAX_PAYLOAD_BYTES)
            found: Signature | None = classic(payload, _texts(member(layer, "annotations")))
        except Unreadable as error:
            yield FoundSignature(name, None, str(error))
            continue
        yield FoundSignature(name, found)


async def _bundles(endpoints: Endpoints, digest: str) -> AsyncIterator[FoundSignature]:
    known: set[str] = set()
    for place, data in (
        ("the referrers", await endpoints.referrers(digest, BUNDLE)),
        (f"tag {digest.replace(':', '-')}", await endpoints.manifest(digest.replace(":", "-"))),
    ):
        if data is None:
            continue
        try:
            entries = [each for each in _list(data, "manifests") if _is_bundle(each)]
            _check_count(entries)
        except Unreadable as error:
            yield FoundSignature(place, None, str(error))
            continue
        for entry in entries:
            manifest = text(entry, "digest")
            if manifest in known:
                continue
            known.add(manifest)
            name = f"bundle {printable(manifest[:19])}"
            try:
                found = await _bundle(endpoints, entry, digest)
            except Unreadable as error:
                yield FoundSignature(name, None, str(error))
                continue
            if found is not None:
                yield FoundSignature(name, found)


async def _bundle(endpoints: Endpoints, entry: Any, digest: str) -> Signature | None:
    try:
        at = descriptor(entry)
    except InvalidManifest as error:
        raise Unreadable(str(error)) from None
    data = await endpoints.manifest(at.digest)
    if data is None:
        raise Unreadable("is listed and does not exist (404)")
    manifest = read_object(data, "a manifest")
    if text(manifest, "subject", "digest") != digest:
        raise Unreadable("is attached to another image")
    layers = [each for each in items(manifest, "layers") if text(each, "mediaType").startswith(BUNDLE_PREFIX)]
    if len(layers) != 1:
        raise Unreadable(f"has {len(layers)} bundles")
    return bundle(await _blob(endpoints, layers[0], MAX_BUNDLE_BYTES))


def _is_bundle(entry: Any) -> bool:
    """Report whether an entry is a bundle, without those that are known to be attestations."""
    predicate = text(entry, "annotations", PREDICATE_ANNOTATION)
    return text(entry, "artifactType").startswith(BUNDLE_PREFIX) and predicate in ("", SIGN_PREDICATE)


def _list(data: bytes, name: str) -> Sequence[Any]:
    return items(read_object(data, "a manifest"), name)


def _check_count(found: Sequence[Any]) -> None:
    if len(found) > MAX_SIGNATURES:
        raise Unreadable(f"has {len(found):,} signatures; at most {MAX_SIGNATURES} are read")


def _texts(value: Any) -> Mapping[str, str]:
    return {name: each for name, each in value.items() if isinstance(each, str)} if isinstance(value, dict) else {}


async def _blob(endpoints: Endpoints, layer: Any, limit: int) -> bytes:
    try:
        blob: Descriptor = descriptor(layer)
    except InvalidManifest as error:
        raise Unreadable(str(error)) from None
    if blob.size > limit:
        raise Unreadable(f"has {blob.size:,} bytes; at most {limit:,} are read")
    file = io.BytesIO()
    await endpoints.fetch(blob, file, lambda count: None)
    return file.getvalue()


Place: TypeAlias = Callable[[Endpoints, str], AsyncIterator[FoundSignature]]

PLACES: tuple[Place, ...] = (_classic, _bundles)
"""Each gives the signatures that it has for an image by digest, one after the other. Raises Waiting if it cannot be read."""
