"""Blobs as typed values: package, channel, bundle, deprecations (formats 1.4, 1.5).

A blob that does not match its schema raises BadBlob with opm's message; the caller decides what follows. Reads no files and no
cluster. Pure.

Bundle, Channel, Entry and Property are the publisher's blobs in full, as opm reads them.
operator_controller.resolve.package.package_content has classes of the same names for the part of one package that resolution
needs, with parsed versions.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from olmkit.fbc.csv_metadata import (
    ClusterRequirements,
    date_of,
    display_names_of_metadata,
    requirements_of_csv,
    requirements_of_metadata,
)
from olmkit.fbc.errors import BadBlob
from olmkit.fbc.schemas import BUNDLE as BUNDLE
from olmkit.fbc.schemas import BUNDLE_OBJECT as BUNDLE_OBJECT
from olmkit.fbc.schemas import CHANNEL as CHANNEL
from olmkit.fbc.schemas import DEPRECATIONS as DEPRECATIONS
from olmkit.fbc.schemas import GVK, GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.fbc.schemas import PACKAGE as PACKAGE
from olmkit.gocompat.base64_text import decode_bytes
from olmkit.gocompat.fields import field, items_field, text_field
from olmkit.gocompat.go_decode_errors import decode_error
from olmkit.gocompat.text import quoted, sprintf

REGISTRY_V1 = "registry+v1"
_MEDIA_TYPE, _CSV_METADATA = "olm.bundle.mediatype", "olm.csv.metadata"

_TYPES = {
    PACKAGE: "property.Package",
    PACKAGE_REQUIRED: "property.PackageRequired",
    GVK: "property.GVK",
    GVK_REQUIRED: "property.GVKRequired",
    BUNDLE_OBJECT: "property.BundleObject",
    _CSV_METADATA: "property.CSVMetadata",
    "olm.channel": "property.Channel",
}
"""The types of properties that opm decodes, and the Go types of their values."""
_MANIFEST_TYPES = frozenset({BUNDLE_OBJECT, _CSV_METADATA})
"""Types of properties that describe a bundle and have no part in resolution."""


@dataclass(frozen=True, slots=True)
class Package:
    """An olm.package blob. `icon` is base64 data and media type."""

    name: str
    default_channel: str
    description: str
    icon: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One bundle of a channel and the upgrade edges that lead to it; "" and () where there are none."""

    name: str
    replaces: str
    skips: tuple[str, ...]
    skip_range: str


@dataclass(frozen=True, slots=True)
class Channel:
    """An olm.channel blob."""

    name: str
    package: str
    entries: tuple[Entry, ...]


class Property(Struct, frozen=True, gc=False):
    """A property; the value is JSON of any shape, None also when there is none."""

    type: str
    value: Any
    has_value: bool = True

    def error(self) -> str:
        """opm's error for the value; "" when there is none, as for every type that opm does not decode."""
        if not self.has_value:
            return "unexpected end of JSON input"
        return decode_error(_TYPES[self.type], self.value) if self.type in _TYPES else ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An olm.bundle blob."""

    name: str
    package: str
    image: str
    properties: tuple[Property, ...]
    related_images: tuple[str, ...] = ()

    def version(self) -> tuple[str, str]:
        """Version and release of its one olm.package property.

        Raises BadBlob with opm's message (formats 1.7, A11 to A13), also for another property that matters for resolution and
        cannot be read.
        """
        self.check_properties(excluding=_MANIFEST_TYPES)
        return self.checked_version()

    def checked_version(self) -> tuple[str, str]:
        """Same as version(), for a caller that has called check_properties."""
        found = [each.value or {} for each in self.properties if each.type == PACKAGE]
        if len(found) != 1:
            sentence = 'package %q bundle %q must have exactly 1 "olm.package" property, found %d'
            raise BadBlob(sprintf(sentence, self.package, self.name, len(found)))
        package, version, release = (text_field(found[0], key) for key in ("packageName", "version", "release"))
        if package != self.package:
            raise BadBlob(sprintf('package %q does not match "olm.package" property %q', self.package, package))
        return version, release

    def check_properties(self, excluding: frozenset[str] = frozenset()) -> None:
        """Raises BadBlob with opm's message for the first property, of a type not excluded, that cannot be read (A11)."""
        for index, each in enumerate(self.properties):
            if each.type not in excluding and (error := each.error()):
                sentence = "parse properties for bundle %q: parse property[%d] of type %q: %s"
                raise BadBlob(sprintf(sentence, self.name, index, each.type, error))

    def media_type(self) -> str:
        """The value of olm.bundle.mediatype; registry+v1 without that property, "" when its value is no string."""
        for each in self.properties:
            if each.type == _MEDIA_TYPE:
                return each.value if isinstance(each.value, str) else ""
        return REGISTRY_V1

    def cluster_requirements(self) -> ClusterRequirements:
        """The requirements in its olm.csv.metadata, else in the CSV among its objects."""
        metadata = self._csv_metadata()
        if metadata is not None:
            return requirements_of_metadata(metadata)
        return requirements_of_csv(each.value for each in self.properties if each.type == BUNDLE_OBJECT)

    def display_names(self) -> dict[str, str]:
        """Names for people of the kinds that its olm.csv.metadata describes, by `<group>/<version>/<kind>`.

        A name that is that of the kind is left out.
        """
        metadata = self._csv_metadata()
        return {} if metadata is None else display_names_of_metadata(metadata)

    def created_on(self) -> str:
        """The day on which its olm.csv.metadata says that it was made, such as 2026-01-31; "" without one."""
        annotations = (self._csv_metadata() or {}).get("annotations")
        return date_of(annotations) if isinstance(annotations, Mapping) else ""

    def _csv_metadata(self) -> Mapping[str, Any] | None:
        values = (each.value for each in self.properties if each.type == _CSV_METADATA)
        return next((value for value in values if isinstance(value, Mapping)), None)


@dataclass(frozen=True, slots=True)
class Deprecation:
    """One entry of an olm.deprecations blob; `name` is "" for the package itself."""

    schema: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Deprecations:
    """An olm.deprecations blob."""

    package: str
    entries: tuple[Deprecation, ...]


def package(blob: Mapping[str, Any]) -> Package:
    """An olm.package blob as a value. Raises BadBlob `parse package: …`."""
    _check(blob, "package", "declcfg.Package")
    icon = field(blob, "icon")
    return Package(
        name=text_field(blob, "name"),
        default_channel=text_field(blob, "defaultChannel"),
        description=text_field(blob, "description"),
        icon=None if icon is None else (_icon_data(icon), text_field(icon, "mediatype")),
    )


def channel(blob: Mapping[str, Any]) -> Channel:
    """An olm.channel blob as a value. Raises BadBlob `parse channel: …`."""
    try:
        shape = msgspec.convert(blob, _ChannelShape)
    except (msgspec.MsgspecError, RecursionError):
        return _channel(blob)
    entries = tuple([Entry(each.name, each.replaces, each.skips, each.skipRange) for each in shape.entries])
    return Channel(shape.name, shape.package, entries)


def _channel(blob: Mapping[str, Any]) -> Channel:
    """Same as channel(), for a blob of any form."""
    _check(blob, "channel", "declcfg.Channel")
    return Channel(
        name=text_field(blob, "name"),
        package=text_field(blob, "package"),
        entries=tuple(_entry(each) for each in items_field(blob, "entries")),
    )


def bundle(blob: Mapping[str, Any]) -> Bundle:
    """An olm.bundle blob as a value. Raises BadBlob `parse bundle: …`."""
    try:
        shape = msgspec.convert(blob, _BundleShape)
    except (msgspec.MsgspecError, RecursionError):
        return _bundle(blob)
    return Bundle(
        shape.name,
        shape.package,
        shape.image,
        tuple(
            [
                Property(each.type, each.value) if each.value is not UNSET else Property(each.type, None, False)
                for each in shape.properties
            ]
        ),
        tuple([each.image for each in shape.relatedImages]),
    )


class _PropertyShape(Struct, forbid_unknown_fields=True, gc=False):
    type: str = ""
    value: Any = UNSET


class _ImageShape(Struct, forbid_unknown_fields=True, gc=False):
    name: str = ""
    image: str = ""


class _BundleShape(Struct, forbid_unknown_fields=True, gc=False):
    """The form of nearly all bundles: no nulls, no unknown keys, no keys in another case."""

    schema: str = ""
    name: str = ""
    package: str = ""
    image: str = ""
    properties: list[_PropertyShape] = []
    relatedImages: list[_ImageShape] = []


class _EntryShape(Struct, forbid_unknown_fields=True, gc=False):
    name: str = ""
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skipRange: str = ""


class _ChannelShape(Struct, forbid_unknown_fields=True, gc=False):
    """The form of nearly all channels."""

    schema: str = ""
    name: str = ""
    package: str = ""
    entries: list[_EntryShape] = []
    properties: list[_PropertyShape] = []


def _bundle(blob: Mapping[str, Any]) -> Bundle:
    """Same as bundle(), for a blob of any form."""
    _check(blob, "bundle", "declcfg.Bundle")
    return Bundle(
        name=text_field(blob, "name"),
        package=text_field(blob, "package"),
        image=text_field(blob, "image"),
        properties=tuple(_property(each) for each in items_field(blob, "properties")),
        related_images=tuple(text_field(each, "image") for each in items_field(blob, "relatedImages")),
    )


def deprecations(blob: Mapping[str, Any]) -> Deprecations:
    """An olm.deprecations blob as a value. Raises BadBlob `parse deprecation: …`."""
    _check(blob, "deprecation", "declcfg.Deprecation")
    return Deprecations(
        package=text_field(blob, "package"),
        entries=tuple(_deprecation(each) for each in items_field(blob, "entries")),
    )


def _check(blob: Mapping[str, Any], schema: str, type_name: str) -> None:
    if error := decode_error(type_name, blob):
        raise BadBlob(f"parse {schema}: {error}", _place(blob, schema))


def _place(blob: Mapping[str, Any], schema: str) -> str:
    if schema == "package":
        return f"package {_shown(blob, 'name')}"
    package = f"package {_shown(blob, 'package')}"
    return package if schema == "deprecation" else f"{package}, {schema} {_shown(blob, 'name')}"


def _shown(blob: Mapping[str, Any], key: str) -> str:
    text = field(blob, key)
    return quoted(text if isinstance(text, str) else "")


def _icon_data(icon: Mapping[str, Any]) -> str:
    data = field(icon, "base64data")
    return base64.b64encode(decode_bytes(data)).decode() if isinstance(data, list) else data or ""


def _entry(value: Mapping[str, Any]) -> Entry:
    skips = tuple(skip or "" for skip in field(value, "skips") or ())
    return Entry(text_field(value, "name"), text_field(value, "replaces"), skips, text_field(value, "skipRange"))


def _property(value: Mapping[str, Any]) -> Property:
    held = value.get("value")
    if held is not None:  # nearly always
        return Property(text_field(value, "type"), held)
    return Property(text_field(value, "type"), field(value, "value"), any(key.casefold() == "value" for key in value))


def _deprecation(value: Mapping[str, Any]) -> Deprecation:
    reference = field(value, "reference") or {}
    return Deprecation(text_field(reference, "schema"), text_field(reference, "name"), text_field(value, "message"))
