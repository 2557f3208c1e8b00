"""The resolution document of a package: one small JSON document with what a resolver needs, and the names and days that people
see beside it.

Made by catalogd.ingest.package_index, and by directory_documents.py for a catalog in a directory; catalogd serves it at
/catalogs/<c>/api/v1/resolution?package=. Documents that differ only in the digest of the catalog have the same digest of their
own, so that a client can keep what it derived from one. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.fbc.catalog import Bundle, Channel, Deprecations, Package, Property
from olmkit.fbc.errors import BadBlob
from olmkit.fbc.schemas import BUNDLE_OBJECT, CONSTRAINT, DEPRECATED, GVK, GVK_REQUIRED, PACKAGE, PACKAGE_REQUIRED
from olmkit.gocompat.numbers import read_json

RESOLUTION_PROPERTY_TYPES = frozenset(
    {GVK, GVK_REQUIRED, PACKAGE_REQUIRED, CONSTRAINT, DEPRECATED, "olm.maxOpenShiftVersion"}
)
"""The types of properties that affect resolution, of any size."""
LEFT_OUT_PROPERTY_TYPES = frozenset({PACKAGE, BUNDLE_OBJECT, "olm.csv.metadata"})
"""The types of properties that documents do not contain: they have the version, and rules of olm.constraint see no manifests."""
MAX_OTHER_PROPERTY_BYTES = 2_048
"""Bytes of JSON of a property of another type, which only the rule of an olm.constraint can mention; larger ones are left out."""


@dataclass(frozen=True)
class ResolutionBlobs:
    """The blobs of one package, for its resolution document. `bundles` are made by bundle_part or invalid_bundle_part.

    `errors` are messages about invalid blobs of the package: if there are any, no bundle of the package may be chosen.
    """

    name: str
    package: Package | None
    channels: Sequence[Channel]
    bundles: Sequence[dict[str, Any]]
    deprecations: Sequence[Deprecations]
    errors: Sequence[str]


def bundle_part(bundle: Bundle, checked: tuple[str, str] | None = None) -> dict[str, Any]:
    """The entry of one bundle. `problem` is why the bundle must not be chosen.

    `checked` are its version and release if all its properties are known to be valid; Bundle.version() is not called then.
    """
    part: dict[str, Any] = {
        "name": bundle.name,
        "image": bundle.image,
        "version": "",
        "mediaType": bundle.media_type(),
        "properties": [{"type": each.type, "value": each.value} for each in bundle.properties if _is_included(each)],
    }
    try:
        part["version"], release = checked or bundle.version()
    except BadBlob as error:
        return {**part, "problem": str(error)}
    needed = bundle.cluster_requirements()
    requirements = {
        "release": release,
        "minKubeVersion": needed.min_kube_version,
        "nativeAPIs": [
            {"group": group, "version": version, "kind": kind} for group, version, kind in needed.native_apis
        ],
        "displayNames": bundle.display_names(),
        "createdOn": bundle.created_on(),
    }
    return {**part, **{key: value for key, value in requirements.items() if value}}


def _is_included(entry: Property) -> bool:
    if entry.type in RESOLUTION_PROPERTY_TYPES:
        return True
    return entry.type not in LEFT_OUT_PROPERTY_TYPES and len(orjson.dumps(entry.value)) <= MAX_OTHER_PROPERTY_BYTES


def invalid_bundle_part(name: str, problem: str) -> dict[str, Any]:
    """The entry of a bundle whose blob is invalid."""
    return {"name": name, "image": "", "version": "", "mediaType": "", "properties": [], "problem": problem}


def build_document(parts: ResolutionBlobs, catalog_digest: str) -> bytes:
    """The document as one line of JSON with sorted keys. `digest` covers all other fields but `catalogDigest`.

    `displayNames` of the package has the name that most bundles give a kind; a bundle has only those that differ.
    """
    display_names = _common_names(each.get("displayNames", {}) for each in parts.bundles)
    rest: dict[str, Any] = {
        "package": parts.name,
        "defaultChannel": parts.package.default_channel if parts.package else "",
        "channels": [_channel(each) for each in parts.channels],
        "bundles": [_with_errors(_without_common_names(each, display_names), parts.errors) for each in parts.bundles],
        "deprecations": list(_deprecations(parts.deprecations)),
    }
    if display_names:
        rest["displayNames"] = display_names
    return _with_digests(rest, catalog_digest)


def build_refusal(package: str, too_large: str, catalog_digest: str) -> bytes:
    """The document of a package that is too large for one: without bundles; `tooLarge` says which limit the package exceeds."""
    rest = {"package": package, "defaultChannel": "", "channels": [], "bundles": [], "deprecations": []}
    return _with_digests({**rest, "tooLarge": too_large}, catalog_digest)


def _with_digests(rest: dict[str, Any], catalog_digest: str) -> bytes:
    digest = hashlib.sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()
    whole = {**rest, "catalogDigest": catalog_digest, "digest": f"sha256:{digest}"}
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def _common_names(names: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The most frequent name of each kind; of equally frequent ones that of the last bundle."""
    counts: dict[str, dict[str, int]] = {}
    for each in names:
        for kind, name in each.items():
            known = counts.setdefault(kind, {})
            known[name] = known.pop(name, 0) + 1
    return {kind: max(reversed(known), key=lambda name: known[name]) for kind, known in counts.items()}


def _without_common_names(part: dict[str, Any], common: Mapping[str, str]) -> dict[str, Any]:
    own = {kind: name for kind, name in part.get("displayNames", {}).items() if common[kind] != name}
    rest = {key: value for key, value in part.items() if key != "displayNames"}
    return {**rest, "displayNames": own} if own else rest


def provided_kinds(document: bytes) -> set[str]:
    """The kinds that the bundles of a document provide, as `<group>/<kind>`. Invalid olm.gvk properties are ignored."""
    kinds = set()
    for bundle in read_json(document)["bundles"] if orjson.dumps(GVK) in document else ():
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


def _with_errors(part: dict[str, Any], errors: Sequence[str]) -> dict[str, Any]:
    return {**part, "problem": "; ".join(errors)} if errors and "problem" not in part else part


def _deprecations(blobs: Iterable[Deprecations]) -> Iterable[dict[str, Any]]:
    for blob in blobs:
        for each in blob.entries:
            reference = {"schema": each.schema, **({"name": each.name} if each.name else {})}
            yield {"reference": reference, "message": each.message}
