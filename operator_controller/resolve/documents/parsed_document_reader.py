"""Reads a resolution document of any form, given as parsed JSON: `read_package(document) -> PackageContent`.

For documents of which document_reader.py does not read the text, and for the command `olm`. A document of another shape raises
InvalidDocument; a bundle that cannot be read is kept with its problem and never selected. The format is in docs/catalogd-http.md.
Pure.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, cast

from olmkit.fbc.schemas import DEPRECATED
from olmkit.gocompat.versions import BadVersion, Version, parse_bundle_version
from operator_controller.resolve.package.package_content import (
    DEFAULT_MEDIA_TYPE,
    Bundle,
    Channel,
    Entry,
    PackageContent,
    PackageTooLarge,
    Property,
    display_names_of,
    kind_of,
    recording_problem,
    refuse_too_large,
)


class InvalidDocument(ValueError):
    """The response is not a resolution document. The message names the part."""


def read_package(document: Any) -> PackageContent:
    """Parse a resolution document. Raises InvalidDocument, or PackageTooLarge before any edge is built."""
    top = _mapping(document, "the document")
    if too_large := _text(top, "tooLarge"):
        raise PackageTooLarge(too_large)
    items = _list(top, "channels")
    _refuse_large_entries([entry for item in items for entry in _list(_mapping(item, "a channel"), "entries")])
    channels = tuple(_channel(item) for item in items)
    display_names = display_names_of(top.get("displayNames"))
    bundles = [_bundle(item, display_names) for item in _list(top, "bundles")]
    by_name = {bundle.name: bundle for bundle in bundles}
    marked = {name: "" for name, each in by_name.items() if any(one.type == DEPRECATED for one in each.properties)}
    deprecations = _deprecations(_list(top, "deprecations"))
    return PackageContent(
        name=_text(top, "package"),
        default_channel=_text(top, "defaultChannel"),
        channels=channels,
        bundles=by_name,
        deprecated_bundles={**marked, **deprecations["olm.bundle"]},
        deprecated_channels=deprecations["olm.channel"],
        deprecation=next(iter(deprecations["olm.package"].values()), None),
    )


def _refuse_large_entries(items: list[Any]) -> None:
    """Raise PackageTooLarge if resolving the entries could delay other Operators."""
    entries = [entry for entry in items if isinstance(entry, dict)]
    refuse_too_large(
        len(items),
        edges=sum(bool(entry.get("replaces")) + len(_list(entry, "skips")) for entry in entries),
        ranges=(text for entry in entries if isinstance(text := entry.get("skipRange"), str)),
    )


def _channel(item: Any) -> Channel:
    channel = _mapping(item, "a channel")
    return Channel(_text(channel, "name"), tuple(_entry(entry) for entry in _list(channel, "entries")))


def _entry(item: Any) -> Entry:
    entry = _mapping(item, "a channel entry")
    skips = tuple(sys.intern(name) for name in _list(entry, "skips") if isinstance(name, str))
    return Entry(_text(entry, "name"), _text(entry, "replaces"), skips, _text(entry, "skipRange"))


def _bundle(item: Any, common_names: Mapping[str, str]) -> Bundle:
    bundle = _mapping(item, "a bundle")
    name, image, problem = _text(bundle, "name"), _text(bundle, "image"), _text(bundle, "problem")
    version: Version | None = None
    release = bundle.get("release")
    try:
        version = parse_bundle_version(_text(bundle, "version"), release if isinstance(release, str) else None)
    except BadVersion as error:
        problem = problem or str(error)
    if not image:
        problem = problem or "it names no image"
    properties = tuple(_property(entry) for entry in _list(bundle, "properties"))
    problem = problem or recording_problem(properties)
    own_names = display_names_of(bundle.get("displayNames"))
    return Bundle(
        name=name,
        image=image,
        version=None if problem else version,
        media_type=_text(bundle, "mediaType") or DEFAULT_MEDIA_TYPE,
        properties=properties,
        problem=problem,
        min_kube_version=_text(bundle, "minKubeVersion"),
        native_apis=tuple(kind for value in _list(bundle, "nativeAPIs") if (kind := kind_of(value)) is not None),
        display_names={**common_names, **own_names} if own_names else common_names,
    )


def _property(item: Any) -> Property:
    entry = _mapping(item, "a property")
    return Property(_text(entry, "type"), entry.get("value"))


def _deprecations(items: list[Any]) -> dict[str, dict[str, str]]:
    """Messages by schema and name; of several for the same name the last one."""
    found: dict[str, dict[str, str]] = {"olm.package": {}, "olm.channel": {}, "olm.bundle": {}}
    for item in items:
        entry = _mapping(item, "a deprecation")
        reference = _mapping(entry.get("reference"), "a deprecation's reference")
        if (schema := _text(reference, "schema")) in found:
            found[schema][_text(reference, "name")] = _text(entry, "message")
    return found


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidDocument(f"{what} is no mapping")
    return cast("Mapping[str, Any]", value)


def _list(holder: Mapping[str, Any], key: str) -> list[Any]:
    value = holder.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidDocument(f"{key} is no list")
    return value


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidDocument(f"{key} is no string")
    return value
