"""What a Package object says of a package: specs, and fingerprints to compare them by.

Made by catalogd.reading.writing while a catalog is read, compared by catalogd.listing. Knows neither cluster nor API models,
which jobs do without, nor what reads blobs, which the controller does without. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from olmkit.fbc.schemas import BUNDLE_OBJECT

if TYPE_CHECKING:
    from olmkit.fbc.catalog import Bundle, Channel, Package

SIZE_LIMIT = 1_000_000
"""Bytes of a spec as the API server writes it: etcd refuses a request of 1.5 MiB, and an object also has metadata. What is
sent to the API server stays below 1 MiB then, which aiohttp sends as one piece."""
ESCAPED = (("<", 5), (">", 5), ("&", 5), ("\u2028", 3), ("\u2029", 3))
"""What Go writes as six bytes, and how many that is more."""


def package_spec(package: Package, channels: Sequence[Channel]) -> tuple[dict[str, Any], str]:
    """The spec without its catalog, and what had to be left out for size ("" nothing). Fields that are empty are left out.

    Channels and entries keep the catalog's order.
    """
    spec: dict[str, Any] = {
        "packageName": package.name,
        "defaultChannel": package.default_channel,
        "description": package.description,
        "channels": [_channel(channel) for channel in channels],
    }
    if package.icon is not None:
        data, media_type = package.icon
        with_icon = {**spec, "icon": {"data": data, "mediatype": media_type}}
        if _size(with_icon) <= SIZE_LIMIT:
            return with_icon, ""
        spec, left_out = spec, "its icon"
    else:
        left_out = ""
    if _size(spec) > SIZE_LIMIT:
        return {**spec, "description": "", "channels": []}, "its icon, description and channels"
    return spec, left_out


def _channel(channel: Channel) -> dict[str, Any]:
    entries = []
    for entry in channel.entries:
        edges = {"replaces": entry.replaces, "skips": list(entry.skips), "skipRange": entry.skip_range}
        entries.append({"name": entry.name, **{key: value for key, value in edges.items() if value}})
    return {"name": channel.name, "entries": entries}


def bundle_spec(blob: Mapping[str, Any], bundle: Bundle) -> tuple[dict[str, Any], str]:
    """The spec of a BundleMetadata object without its catalog, and what had to be left out for size ("" nothing).

    Property types and values stand as the blob has them; bundle objects are left out: they are what the bundle's image holds.
    """
    spec: dict[str, Any] = {
        "package": bundle.package,
        "bundleName": bundle.name,
        "image": bundle.image,
        "properties": [
            {"type": each.type, "value": each.value} for each in bundle.properties if each.type != BUNDLE_OBJECT
        ],
        "relatedImages": [_related(each) for each in blob.get("relatedImages") or () if isinstance(each, Mapping)],
    }
    spec = {key: value for key, value in spec.items() if value or key == "package"}
    if _size(spec) <= SIZE_LIMIT:
        return spec, ""
    return {key: value for key, value in spec.items() if key in ("package", "bundleName")}, "all but its name"


def _related(image: Mapping[str, Any]) -> dict[str, str]:
    return {key: image[key] for key in ("name", "image") if isinstance(image.get(key), str)}


def _size(spec: Mapping[str, Any]) -> int:
    data = orjson.dumps(spec)
    if len(data) > SIZE_LIMIT or 6 * len(data) <= SIZE_LIMIT:
        return len(data)
    return len(data) + sum(more * data.count(character.encode()) for character, more in ESCAPED)


def fingerprint(spec: Mapping[str, Any]) -> str:
    """Of a spec, whatever its catalog and the order of its fields: two that are equal say the same."""
    rest = {key: value for key, value in spec.items() if key != "catalog"}
    return hashlib.sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True)
class Offer:
    """A package that a catalog offers: its true name, and the fingerprint of the spec its object should have."""

    package: str
    fingerprint: str
