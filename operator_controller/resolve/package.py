"""One package of one catalog: channels, entries, bundles with versions, deprecations.

Parsed by catalog_client from catalogd's resolution document (docs/catalogd-http.md), used by all of this package. Pure.
A document of another shape raises InvalidDocument; a bundle that cannot be read is kept with its problem and never selected.

Bundle, Channel, Entry and Property are the part of one package that resolution needs, with parsed versions. olmkit.fbc.catalog
has classes of the same names for the publisher's blobs in full, as opm reads them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

from olmkit.fbc.schemas import CONSTRAINT, GVK, GVK_REQUIRED, PACKAGE, PACKAGE_REQUIRED
from olmkit.gocompat.fields import canonical_keys
from olmkit.gocompat.versions import BadVersion, Version, parse_bundle_version

DEPENDENCY_TYPES = (PACKAGE_REQUIRED, GVK_REQUIRED, CONSTRAINT)
DEFAULT_MEDIA_TYPE = "registry+v1"
MAX_CHANNEL_ENTRIES = 50_000
"""Entries of all channels of one package. The largest real packages have some hundreds."""
MAX_NAMED_EDGES = 1_000_000
"""Names in `replaces` and `skips` of all entries of one package."""
MAX_RANGE_COMPARISONS = 200_000
"""Comparisons in the skipRanges of all entries of one package: four for each of MAX_CHANNEL_ENTRIES. Real entries have two."""

MAX_RECORDED_PROPERTIES_BYTES = 131_072
"""Bytes of the annotation that records a bundle's properties. The API server allows twice that for all annotations together."""
SHRINK_HINT = "ask its publisher to remove old entries"


class InvalidDocument(ValueError):
    """The response is not a resolution document. The message names the part."""


class PackageTooLarge(ValueError):
    """The package exceeds a limit of resolution. The message says which, by how much, and what to do."""


@dataclass(frozen=True)
class Entry:
    """One entry of a channel: a bundle by name, and the bundles that it upgrades."""

    name: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""


@dataclass(frozen=True)
class Channel:
    """An upgrade channel."""

    name: str
    entries: tuple[Entry, ...]


GroupKind = tuple[str, str]


class GroupVersionKind(NamedTuple):
    """A kind of the Kubernetes API; the core group is ""."""

    group: str
    version: str
    kind: str

    @property
    def group_kind(self) -> GroupKind:
        """The kind in any version."""
        return self.group, self.kind

    def __str__(self) -> str:
        return f"{self.group}/{self.version} {self.kind}" if self.group else f"{self.version} {self.kind}"


@dataclass(frozen=True)
class Property:
    """A property of a bundle; `value` is JSON as read."""

    type: str
    value: Any


@dataclass(frozen=True)
class Bundle:
    """One version of the package. A bundle without a version has a problem and is never selected."""

    name: str
    image: str
    version: Version | None
    media_type: str = DEFAULT_MEDIA_TYPE
    properties: tuple[Property, ...] = ()
    problem: str = ""
    api_services: tuple[str, ...] = ()
    """API services that it owns, as far as its catalog lists them."""
    webhooks: tuple[str, ...] = ()

    @property
    def dependencies(self) -> tuple[Property, ...]:
        """The requirements of the bundle on other packages."""
        return tuple(entry for entry in self.properties if entry.type in DEPENDENCY_TYPES)

    def rule_properties(self, package: str) -> list[dict[str, Any]]:
        """The properties that the rule of an olm.constraint sees: olm.package and those that its catalog lists."""
        identity = {"packageName": package, "version": "" if self.version is None else str(self.version)}
        listed = [{"type": entry.type, "value": entry.value} for entry in self.properties]
        return [{"type": PACKAGE, "value": identity}, *listed]

    @cached_property
    def provided_kinds(self) -> frozenset[GroupVersionKind]:
        """The kinds that it provides. Invalid olm.gvk properties are ignored: opm refuses them."""
        return frozenset(
            found for entry in self.properties if entry.type == GVK and (found := _provided_kind(entry.value))
        )

    @property
    def needs_certificates(self) -> bool:
        """Whether its catalog lists webhooks or API services, which rukpak does not install yet."""
        return bool(self.webhooks or self.api_services)

    @cached_property
    def recorded_properties(self) -> str:
        """JSON of the provided kinds and the dependencies. Properties beyond the size limit are left out."""
        kept: list[str] = []
        size = 2
        for entry in self.properties:
            if entry.type != GVK and entry.type not in DEPENDENCY_TYPES:
                continue
            text = json.dumps({"type": entry.type, "value": entry.value}, sort_keys=True, separators=(",", ":"))
            size += len(text) + 1
            if size > MAX_RECORDED_PROPERTIES_BYTES:
                break
            kept.append(text)
        return f"[{','.join(kept)}]"


@dataclass(frozen=True)
class PackageContent:
    """Everything in a catalog that resolution needs of one package."""

    name: str
    default_channel: str
    channels: tuple[Channel, ...]
    bundles: Mapping[str, Bundle]
    deprecated_bundles: Mapping[str, str]
    """Message by bundle name. Deprecated packages and channels do not affect resolution."""

    def channel(self, name: str) -> Channel | None:
        """The channel of that name."""
        return next((channel for channel in self.channels if channel.name == name), None)


def read_package(document: Any) -> PackageContent:
    """Parse a resolution document. Raises InvalidDocument, or PackageTooLarge before any edge is built."""
    top = _mapping(document, "the document")
    items = _list(top, "channels")
    _refuse_too_large([entry for item in items for entry in _list(_mapping(item, "a channel"), "entries")])
    channels = tuple(_channel(item) for item in items)
    bundles = [_bundle(item) for item in _list(top, "bundles")]
    return PackageContent(
        name=_text(top, "package"),
        default_channel=_text(top, "defaultChannel"),
        channels=channels,
        bundles={bundle.name: bundle for bundle in bundles},
        deprecated_bundles=dict(_deprecated(_list(top, "deprecations"))),
    )


def _refuse_too_large(items: list[Any]) -> None:
    """Raise PackageTooLarge if resolving the entries could delay other Operators."""
    entries = [entry for entry in items if isinstance(entry, dict)]
    edges = sum(bool(entry.get("replaces")) + len(_list(entry, "skips")) for entry in entries)
    ranges = [text for entry in entries if isinstance(text := entry.get("skipRange"), str) and text]
    comparisons = sum(text.count(" ") + 1 for text in ranges)
    for count, limit, what in (
        (len(items), MAX_CHANNEL_ENTRIES, "entries in its channels"),
        (edges, MAX_NAMED_EDGES, "names in replaces and skips"),
        (comparisons, MAX_RANGE_COMPARISONS, "comparisons in its skipRanges"),
    ):
        if count > limit:
            raise PackageTooLarge(f"it has {count:,} {what}, and at most {limit:,} are resolved; {SHRINK_HINT}")


def _channel(item: Any) -> Channel:
    channel = _mapping(item, "a channel")
    return Channel(_text(channel, "name"), tuple(_entry(entry) for entry in _list(channel, "entries")))


def _entry(item: Any) -> Entry:
    entry = _mapping(item, "a channel entry")
    skips = tuple(sys.intern(name) for name in _list(entry, "skips") if isinstance(name, str))
    return Entry(_text(entry, "name"), _text(entry, "replaces"), skips, _text(entry, "skipRange"))


def _bundle(item: Any) -> Bundle:
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
    media_type = _text(bundle, "mediaType") or DEFAULT_MEDIA_TYPE
    api_services, webhooks = _texts(bundle, "apiServices"), _texts(bundle, "webhooks")
    return Bundle(name, image, None if problem else version, media_type, properties, problem, api_services, webhooks)


def _provided_kind(value: Any) -> GroupVersionKind | None:
    if not isinstance(value, dict):
        return None
    fields = canonical_keys(value, GroupVersionKind._fields)
    found = GroupVersionKind(*(fields.get(name) or "" for name in GroupVersionKind._fields))
    return found if all(isinstance(text, str) for text in found) and found.kind else None


def _texts(holder: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(text for text in _list(holder, key) if isinstance(text, str))


def _property(item: Any) -> Property:
    entry = _mapping(item, "a property")
    return Property(_text(entry, "type"), entry.get("value"))


def _deprecated(items: list[Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for item in items:
        entry = _mapping(item, "a deprecation")
        reference = _mapping(entry.get("reference"), "a deprecation's reference")
        if reference.get("schema") == "olm.bundle":
            found.append((_text(reference, "name"), _text(entry, "message")))
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
