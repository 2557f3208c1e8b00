"""The specs and annotations of Packages, and the fingerprints by which they are compared.

Imports neither the API models (jobs do without them) nor the parser of blobs (the controller does without it). Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, Any

import orjson

from olmkit.api.package_annotations import CHANNELS_ANNOTATION, LATEST_VERSION_ANNOTATION, VERSIONS_ANNOTATION
from olmkit.gocompat.versions import BadVersion, Order, parse_bundle_version

if TYPE_CHECKING:
    from olmkit.fbc.catalog import Channel, Package

MAX_COLUMN_LENGTH = 60
"""The longest value of a printer column."""
MAX_VERSIONS_SHOWN = 20
"""The most versions in the column of `kubectl get -o wide`."""
MAX_SPEC_BYTES = 1_000_000
"""The largest spec, as the API server encodes it: etcd rejects requests of 1.5 MiB, and an object also has metadata. Requests to
the API server then stay below 1 MiB, which aiohttp sends in one piece."""
ESCAPED_CHARACTERS = (("<", 5), (">", 5), ("&", 5), ("\u2028", 3), ("\u2029", 3))
"""Characters that Go encodes as six bytes, and how many bytes more that is."""


def package_spec(package: Package, channels: Sequence[Channel]) -> tuple[dict[str, Any], str]:
    """The spec of a Package without its catalog, and the names of the parts that were left out because of its size.

    Empty fields are left out. Channels and entries keep the catalog's order. The icon is left out first, then the larger of
    the description and the channels.
    """
    spec: dict[str, Any] = {
        "packageName": package.name,
        "defaultChannel": package.default_channel,
        "description": package.description,
        "channels": [_channel(channel) for channel in channels],
    }
    if package.icon is not None:
        data, media_type = package.icon
        spec["icon"] = {"data": data, "mediatype": media_type}
    left_out = []
    for part in ("icon", *sorted(("channels", "description"), key=lambda part: _size(spec[part]), reverse=True)):
        if part in spec and _size(spec) > MAX_SPEC_BYTES:
            left_out.append(part)
            if part == "icon":
                del spec[part]
            else:
                spec[part] = type(spec[part])()
    return spec, f"its {' and '.join(left_out)}" if left_out else ""


def _channel(channel: Channel) -> dict[str, Any]:
    entries = []
    for entry in channel.entries:
        edges = {"replaces": entry.replaces, "skips": list(entry.skips), "skipRange": entry.skip_range}
        entries.append({"name": entry.name, **{key: value for key, value in edges.items() if value}})
    return {"name": channel.name, "entries": entries}


def package_columns(channels: Sequence[Channel], latest: str, versions: Mapping[str, str]) -> dict[str, str]:
    """The annotations of the printer columns, without empty ones. `versions` are the versions of the bundles, by name."""
    names = ",".join(channel.name for channel in channels)
    columns = {LATEST_VERSION_ANNOTATION: latest, CHANNELS_ANNOTATION: names}
    shown = {
        key: text if len(text) <= MAX_COLUMN_LENGTH else f"{text[: MAX_COLUMN_LENGTH - 1]}…"
        for key, text in columns.items()
        if text
    }
    entries = {entry.name for channel in channels for entry in channel.entries}
    to_pin = _newest_first({versions[name] for name in entries if name in versions})
    return {**shown, VERSIONS_ANNOTATION: to_pin} if to_pin else shown


def _newest_first(versions: Collection[str]) -> str:
    """Invalid versions are left out: no Operator can request them."""
    ranked = [(order, text) for text in versions if (order := _order(text)) is not None]
    newest = ",".join(text for _, text in nlargest(MAX_VERSIONS_SHOWN, ranked))
    more = len(ranked) - MAX_VERSIONS_SHOWN
    return newest + (f" and {more} more" if more > 0 else "")


def _order(text: str) -> Order | None:
    try:
        return parse_bundle_version(text).order
    except BadVersion:
        return None


def _size(spec: Any) -> int:
    data = orjson.dumps(spec)
    if len(data) > MAX_SPEC_BYTES or 6 * len(data) <= MAX_SPEC_BYTES:
        return len(data)
    return len(data) + sum(more * data.count(character.encode()) for character, more in ESCAPED_CHARACTERS)


def object_body(spec: Mapping[str, Any], annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The part of an object that comes from the content of the catalog."""
    return {"metadata": {"annotations": {**annotations}} if annotations else {}, "spec": spec}


def fingerprint(obj: Mapping[str, Any]) -> str:
    """The fingerprint of an object, or of object_body(); independent of its catalog and the order of its fields."""
    spec = {key: value for key, value in (obj.get("spec") or {}).items() if key != "catalog"}
    annotations = obj["metadata"].get("annotations") or {}
    columns = {
        key: annotations[key]
        for key in (LATEST_VERSION_ANNOTATION, CHANNELS_ANNOTATION, VERSIONS_ANNOTATION)
        if key in annotations
    }
    return hashlib.sha256(orjson.dumps([columns, spec], option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True)
class ObjectFingerprint:
    """A package of a catalog: its name, and the fingerprint that its object should have."""

    package: str
    fingerprint: str
