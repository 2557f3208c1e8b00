"""What a resolver needs of one package, and nothing else: one small JSON document per package.

Made by catalogd.ingest.content_writer, served at /catalogs/<c>/api/v1/resolution?package=. Documents that differ in nothing
but the catalog's digest have the same digest of their own, so that a reader can keep what it made of one. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.fbc.catalog import Bundle, Channel, Deprecations, Package
from olmkit.fbc.errors import BadBlob
from olmkit.fbc.schemas import CONSTRAINT, GVK, GVK_REQUIRED, PACKAGE_REQUIRED

RESOLUTION_PROPERTY_TYPES = frozenset({GVK, GVK_REQUIRED, PACKAGE_REQUIRED, CONSTRAINT, "olm.maxOpenShiftVersion"})
"""Types of the properties that bear on resolution."""


@dataclass(frozen=True)
class PackageBlobs:
    """One package as its blobs say. `bundles` are parts made by bundle_part or bad_bundle_part.

    `faults` are sentences about blobs of the package that could not be read: then no bundle of it may be chosen, for nobody
    knows what they would have said.
    """

    name: str
    package: Package | None
    channels: Sequence[Channel]
    bundles: Sequence[dict[str, Any]]
    deprecations: Sequence[Deprecations]
    faults: Sequence[str]


def bundle_part(bundle: Bundle, checked: tuple[str, str] | None = None) -> dict[str, Any]:
    """What a document holds of one bundle. `problem` says why a bundle must not be chosen.

    `checked` are its version and release when all its properties are known to be right: Bundle.version() is not asked then.
    """
    part: dict[str, Any] = {
        "name": bundle.name,
        "image": bundle.image,
        "version": "",
        "mediaType": bundle.media_type(),
        "properties": [
            {"type": each.type, "value": each.value}
            for each in bundle.properties
            if each.type in RESOLUTION_PROPERTY_TYPES
        ],
    }
    try:
        part["version"], release = checked or bundle.version()
    except BadBlob as error:
        return {**part, "problem": str(error)}
    least, api_services, webhooks = bundle.cluster_requirements()
    demands = {"release": release, "minKubeVersion": least, "apiServices": api_services, "webhooks": webhooks}
    return {**part, **{key: value for key, value in demands.items() if value}}


def invalid_bundle_part(name: str, problem: str) -> dict[str, Any]:
    """What stands for a bundle whose blob could not be read."""
    return {"name": name, "image": "", "version": "", "mediaType": "", "properties": [], "problem": problem}


def build_document(parts: PackageBlobs, catalog_digest: str) -> bytes:
    """The document as one line of JSON, keys sorted. `digest` is that of all the rest but `catalogDigest`."""
    rest = {
        "package": parts.name,
        "defaultChannel": parts.package.default_channel if parts.package else "",
        "channels": [_channel(each) for each in parts.channels],
        "bundles": [_with_fault(each, parts.faults) for each in parts.bundles],
        "deprecations": list(_deprecations(parts.deprecations)),
    }
    digest = hashlib.sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()
    whole = {**rest, "catalogDigest": catalog_digest, "digest": f"sha256:{digest}"}
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def provided_kinds(document: bytes) -> set[str]:
    """The kinds that bundles of a document provide, as `<group>/<kind>`; an olm.gvk that says none gives none."""
    kinds = set()
    for bundle in orjson.loads(document)["bundles"] if orjson.dumps(GVK) in document else ():
        for each in bundle["properties"]:
            value = each["value"] if each["type"] == GVK else None
            if (
                isinstance(value, dict)
                and isinstance(value.get("kind"), str)
                and isinstance(value.get("group", ""), str)
            ):
                kinds.add(f"{value.get('group', '')}/{value['kind']}")
    return kinds


def _channel(channel: Channel) -> dict[str, Any]:
    entries = [
        {"name": each.name, "replaces": each.replaces, "skips": each.skips, "skipRange": each.skip_range}
        for each in channel.entries
    ]
    return {"name": channel.name, "entries": entries}


def _with_fault(part: dict[str, Any], faults: Sequence[str]) -> dict[str, Any]:
    return {**part, "problem": "; ".join(faults)} if faults and "problem" not in part else part


def _deprecations(blobs: Iterable[Deprecations]) -> Iterable[dict[str, Any]]:
    for blob in blobs:
        for each in blob.entries:
            reference = {"schema": each.schema, **({"name": each.name} if each.name else {})}
            yield {"reference": reference, "message": each.message}
