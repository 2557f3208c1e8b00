"""The status of the PackageManifest of a package, as OLM v0's packageserver has it, without what differs by Catalog. Pure.

catalogd.http.package_manifests adds names and serves them. An icon is not part of it: it has a route of its own. Values that have
another form than the fields of OLM v0 are left out, because clients are written in languages that refuse them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from catalogd.ingest.package_summaries import bundle_description
from olmkit.fbc import catalog
from olmkit.fbc.catalog import Bundle, Channel, Deprecations, Package
from olmkit.gocompat.versions import BadVersion, Order, parse_bundle_version

MAX_MANIFEST_BYTES = 2 * 1024 * 1024
"""Bytes of one status. Descriptions of bundles beyond it are shortened, that of the default channel last: a description has up to
half a megabyte of examples, and each channel has one."""
MAX_DESCRIPTION_BYTES = 1024 * 1024
"""Bytes of the description of one bundle; a longer one is shortened."""
_TEXTS = ("displayName", "description", "maturity", "minKubeVersion")
_SHORT = ("displayName", "version", "provider", "minKubeVersion")


def manifest_status(
    package: Package,
    channels: Iterable[Channel],
    heads: Mapping[str, tuple[str, Bundle | None]],
    versions: Mapping[str, str],
    deprecations: Iterable[Deprecations],
) -> bytes:
    """The status as JSON, without `catalogSource` and its like. `heads` are by channel: the name of the bundle, and the bundle if
    it can be read; `versions` are by bundle."""
    messages = _messages(deprecations)
    described: dict[str, dict[str, Any]] = {}
    room = MAX_MANIFEST_BYTES
    for channel in sorted(heads, key=lambda name: (name != package.default_channel, name)):
        name, bundle = heads[channel]
        if bundle is not None:
            described[channel], size = _description(bundle, versions.get(name, ""), room)
            room -= size
    found = [_channel(each, heads, described, versions, messages) for each in channels]
    provider = described.get(package.default_channel, {}).get("provider", {})
    status = {
        "packageName": package.name,
        "provider": provider,
        "channels": found,
        "defaultChannel": package.default_channel,
        **_deprecation(messages, catalog.PACKAGE, ""),
    }
    return orjson.dumps(status)


def _channel(
    channel: Channel,
    heads: Mapping[str, tuple[str, Bundle | None]],
    described: Mapping[str, dict[str, Any]],
    versions: Mapping[str, str],
    messages: Mapping[tuple[str, str], str],
) -> dict[str, Any]:
    names = sorted(
        dict.fromkeys(each.name for each in channel.entries), key=lambda name: _order(versions.get(name, ""))
    )
    entries = [
        {"name": name, "version": versions.get(name, ""), **_deprecation(messages, catalog.BUNDLE, name)}
        for name in reversed(names)
    ]
    return {
        "name": channel.name,
        "currentCSV": heads.get(channel.name, ("", None))[0],
        "currentCSVDesc": described.get(channel.name, {}),
        "entries": entries,
        **_deprecation(messages, catalog.CHANNEL, channel.name),
    }


def _order(version: str) -> tuple[bool, Order | tuple[()]]:
    try:
        return True, parse_bundle_version(version).order
    except BadVersion:
        return False, ()


def _messages(deprecations: Iterable[Deprecations]) -> dict[tuple[str, str], str]:
    return {(each.schema, each.name): each.message for blob in deprecations for each in blob.entries}


def _deprecation(messages: Mapping[tuple[str, str], str], schema: str, name: str) -> dict[str, Any]:
    found = messages.get((schema, name))
    return {} if found is None else {"deprecation": {"message": found}}


def _description(bundle: Bundle, version: str, room: int) -> tuple[dict[str, Any], int]:
    """The description of a bundle, in short if it has more bytes than there is room for, and its size."""
    fields, annotations = bundle_description(bundle)
    found = {
        "version": version,
        **{name: text for name in _TEXTS if isinstance(text := fields.get(name), str) and text},
        "provider": _texts(fields.get("provider"), ("name", "url")),
        "annotations": {name: text for name, text in annotations.items() if isinstance(text, str)},
        "keywords": [each for each in _items(fields, "keywords") if isinstance(each, str)],
        "links": [_texts(each, ("name", "url")) for each in _items(fields, "links")],
        "maintainers": [_texts(each, ("name", "email")) for each in _items(fields, "maintainers")],
        "installModes": _install_modes(_items(fields, "installModes")),
        "customresourcedefinitions": _definitions(fields, "crdDescriptions", "customresourcedefinitions"),
        "apiservicedefinitions": _definitions(fields, "apiServiceDefinitions", "apiservicedefinitions"),
        "nativeApis": [_texts(each, ("group", "version", "kind")) for each in _items(fields, "nativeAPIs")],
        "relatedImages": list(dict.fromkeys(filter(None, bundle.related_images))),
    }
    for form in (found, {name: found[name] for name in _SHORT if name in found}):
        try:
            size = len(orjson.dumps(form))
        except (TypeError, ValueError):  # numbers beyond 64 bits, or nested too deep
            continue
        if size <= min(room, MAX_DESCRIPTION_BYTES):
            return form, size
    return {"version": version}, len(version)


def _items(fields: Mapping[str, Any], name: str) -> list[Any]:
    found = fields.get(name)
    return found if isinstance(found, list) else []


def _texts(value: Any, names: Iterable[str]) -> dict[str, str]:
    found = value if isinstance(value, Mapping) else {}
    return {name: text for name in names if isinstance(text := found.get(name), str) and text}


def _install_modes(values: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {"type": each["type"], "supported": each.get("supported") is True}
        for each in values
        if isinstance(each, Mapping) and isinstance(each.get("type"), str)
    ]


def _definitions(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The mappings of what is owned and required, as far as they are some."""
    found = next((value for name in names if isinstance(value := fields.get(name), Mapping)), {})
    lists = {key: [each for each in _items(found, key) if isinstance(each, Mapping)] for key in ("owned", "required")}
    return {key: each for key, each in lists.items() if each}
