"""Blobs as typed values: package, channel, bundle, deprecations (formats 1.4, 1.5).

Called when a catalog is loaded. A blob that is not what its schema says raises BadBlob with opm's words; nothing here decides
what that costs. Knows no cluster and no files. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from olmkit.fbc import go_types, objects, yaml_values
from olmkit.fbc.documents import DOCUMENT_LIMIT
from olmkit.fbc.errors import BadBlob, BadDocument
from olmkit.fbc.go_text import quoted, words
from olmkit.fbc.schemas import BUNDLE as BUNDLE
from olmkit.fbc.schemas import BUNDLE_OBJECT as BUNDLE_OBJECT
from olmkit.fbc.schemas import CHANNEL as CHANNEL
from olmkit.fbc.schemas import DEPRECATIONS as DEPRECATIONS
from olmkit.fbc.schemas import PACKAGE as PACKAGE

REGISTRY_V1 = "registry+v1"
_MEDIA_TYPE, _CSV_METADATA = "olm.bundle.mediatype", "olm.csv.metadata"

_TYPES = {
    PACKAGE: "property.Package",
    "olm.package.required": "property.PackageRequired",
    "olm.gvk": "property.GVK",
    "olm.gvk.required": "property.GVKRequired",
    BUNDLE_OBJECT: "property.BundleObject",
    _CSV_METADATA: "property.CSVMetadata",
    "olm.channel": "property.Channel",
}
"""The types of properties that opm knows, and what it reads their values as."""
OBJECTS = frozenset({BUNDLE_OBJECT})
_DESCRIPTIONS = OBJECTS | {_CSV_METADATA}


@dataclass(frozen=True, slots=True)
class Package:
    """An olm.package blob. `icon` is base64 data and media type."""

    name: str
    default_channel: str
    description: str
    icon: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One bundle of a channel and the edges that lead to it; "" and () where there are none."""

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

    def fault(self) -> str:
        """Why opm does not read the value of this type; "" when it does, as it does with every type that it does not know."""
        if not self.has_value:
            return "unexpected end of JSON input"
        return go_types.fault(_TYPES[self.type], self.value) if self.type in _TYPES else ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An olm.bundle blob."""

    name: str
    package: str
    image: str
    properties: tuple[Property, ...]
    related_images: tuple[str, ...] = ()

    def version(self) -> tuple[str, str]:
        """Version and release of its one olm.package property. Raises BadBlob in opm's words (formats 1.7, A11 to A13).

        Also for other properties that bear on resolution and cannot be read.
        """
        self.check_properties(besides=_DESCRIPTIONS)
        return self.checked_version()

    def checked_version(self) -> tuple[str, str]:
        """The same, after check_properties."""
        found = [each.value or {} for each in self.properties if each.type == PACKAGE]
        if len(found) != 1:
            sentence = 'package %q bundle %q must have exactly 1 "olm.package" property, found %d'
            raise BadBlob(words(sentence, self.package, self.name, len(found)))
        package, version, release = (_text(found[0], key) for key in ("packageName", "version", "release"))
        if package != self.package:
            raise BadBlob(words('package %q does not match "olm.package" property %q', self.package, package))
        return version, release

    def check_properties(self, besides: frozenset[str] = frozenset()) -> None:
        """Raises BadBlob in opm's words for the first property that cannot be read (A11)."""
        for index, each in enumerate(self.properties):
            if each.type not in besides and (fault := each.fault()):
                sentence = "parse properties for bundle %q: parse property[%d] of type %q: %s"
                raise BadBlob(words(sentence, self.name, index, each.type, fault))

    def media_type(self) -> str:
        """What olm.bundle.mediatype says, registry+v1 without it; "" when it is no string."""
        for each in self.properties:
            if each.type == _MEDIA_TYPE:
                return each.value if isinstance(each.value, str) else ""
        return REGISTRY_V1

    def min_kube_version(self) -> str:
        """minKubeVersion of its CSV metadata, else of the CSV among its objects; "" when none is known."""
        for each in self.properties:
            if each.type == _CSV_METADATA and isinstance(each.value, Mapping):
                return _version_in(each.value)
        csv = objects.csv((each.value for each in self.properties if each.type == BUNDLE_OBJECT), b"minKubeVersion")
        spec = csv.get("spec") if csv is not None else None
        return _version_in(spec) if isinstance(spec, Mapping) else ""


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
    """Raises BadBlob `parse package: …`."""
    _check(blob, "package", "declcfg.Package")
    icon = _get(blob, "icon")
    return Package(
        name=_text(blob, "name"),
        default_channel=_text(blob, "defaultChannel"),
        description=_text(blob, "description"),
        icon=None if icon is None else (_icon_data(icon), _text(icon, "mediatype")),
    )


def channel(blob: Mapping[str, Any]) -> Channel:
    """Raises BadBlob `parse channel: …`."""
    try:
        shape = msgspec.convert(blob, _ChannelShape)
    except (msgspec.MsgspecError, RecursionError):
        return _channel(blob)
    entries = tuple([Entry(each.name, each.replaces, each.skips, each.skipRange) for each in shape.entries])
    return Channel(shape.name, shape.package, entries)


def _channel(blob: Mapping[str, Any]) -> Channel:
    """The same of any blob."""
    _check(blob, "channel", "declcfg.Channel")
    return Channel(
        name=_text(blob, "name"),
        package=_text(blob, "package"),
        entries=tuple(_entry(each) for each in _items(blob, "entries")),
    )


def bundle(blob: Mapping[str, Any]) -> Bundle:
    """Raises BadBlob `parse bundle: …`."""
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
    """How nearly all bundles are written: no nulls, no unknown keys, no names in another case."""

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
    """How nearly all channels are written."""

    schema: str = ""
    name: str = ""
    package: str = ""
    entries: list[_EntryShape] = []
    properties: list[_PropertyShape] = []


def _bundle(blob: Mapping[str, Any]) -> Bundle:
    """The same of any blob."""
    _check(blob, "bundle", "declcfg.Bundle")
    return Bundle(
        name=_text(blob, "name"),
        package=_text(blob, "package"),
        image=_text(blob, "image"),
        properties=tuple(_property(each) for each in _items(blob, "properties")),
        related_images=tuple(_text(each, "image") for each in _items(blob, "relatedImages")),
    )


def deprecations(blob: Mapping[str, Any]) -> Deprecations:
    """Raises BadBlob `parse deprecation: …`."""
    _check(blob, "deprecation", "declcfg.Deprecation")
    return Deprecations(
        package=_text(blob, "package"),
        entries=tuple(_deprecation(each) for each in _items(blob, "entries")),
    )


def check_objects(bundle: Bundle) -> None:
    """Read the bundle's objects (olm.bundle.object). Raises BadBlob `read bundle objects: …` for one that is no base64 of YAML.

    Apart from `bundle`, as it decodes all objects, which are most of the bytes of a catalog that has them. Words about YAML are
    ours.
    """
    for index, each in enumerate(bundle.properties):
        if each.type != BUNDLE_OBJECT:
            continue
        place = words("read bundle objects: package %q, bundle %q: ", bundle.package, bundle.name)
        data = each.value.get("data") if isinstance(each.value, Mapping) else None
        text = go_types.plain_bytes(data) if isinstance(data, str) else None
        if text is None:
            if fault := each.fault():
                raise BadBlob(place + words("parse property at index %d as bundle object: %s", index, fault))
            text = _lenient(_get(each.value or {}, "data"))
        if fault := _object_fault(text):
            raise BadBlob(place + words("convert bundle object property at index %d to JSON: %s", index, fault))


def _lenient(data: str | list[int | None] | None) -> bytes:
    """What Go reads bytes from besides plain base64: base64 with line ends, numbers, null."""
    return base64.b64decode(data) if isinstance(data, str) else bytes(number or 0 for number in data or ())


def _object_fault(text: bytes) -> str:
    if text.lstrip().startswith(b"{"):
        return ""  # opm does not look into what begins like JSON, as nearly all objects do
    try:
        yaml_values.load(text, DOCUMENT_LIMIT)
    except BadDocument as error:
        return f"yaml: line {error.line}: {error.text}" if error.line else f"yaml: {error.text}"
    return ""


def _check(blob: Mapping[str, Any], schema: str, type_name: str) -> None:
    if fault := go_types.fault(type_name, blob):
        raise BadBlob(f"parse {schema}: {fault}", _place(blob, schema))


def _place(blob: Mapping[str, Any], schema: str) -> str:
    if schema == "package":
        return f"package {_shown(blob, 'name')}"
    package = f"package {_shown(blob, 'package')}"
    return package if schema == "deprecation" else f"{package}, {schema} {_shown(blob, 'name')}"


def _shown(blob: Mapping[str, Any], key: str) -> str:
    text = _get(blob, key)
    return quoted(text if isinstance(text, str) else "")


def _version_in(spec: Mapping[str, Any]) -> str:
    version = _get(spec, "minKubeVersion")
    return version if isinstance(version, str) else ""


def _icon_data(icon: Mapping[str, Any]) -> str:
    data = _get(icon, "base64data")
    return base64.b64encode(_lenient(data)).decode() if isinstance(data, list) else data or ""


def _entry(value: Mapping[str, Any]) -> Entry:
    skips = tuple(skip or "" for skip in _get(value, "skips") or ())
    return Entry(_text(value, "name"), _text(value, "replaces"), skips, _text(value, "skipRange"))


def _property(value: Mapping[str, Any]) -> Property:
    held = value.get("value")
    if held is not None:  # nearly always
        return Property(_text(value, "type"), held)
    return Property(_text(value, "type"), _get(value, "value"), any(key.casefold() == "value" for key in value))


def _deprecation(value: Mapping[str, Any]) -> Deprecation:
    reference = _get(value, "reference") or {}
    return Deprecation(_text(reference, "schema"), _text(reference, "name"), _text(value, "message"))


def _get(value: Mapping[str, Any], key: str) -> Any:
    """A field, by its name or, as Go's decoder does, by its name in another case."""
    if key in value:
        return value[key]
    fold, length = key.casefold(), len(key)
    for name in value:  # as nearly all names have another length, they need not be folded
        if len(name) == length and name.casefold() == fold:
            return value[name]
    return None


def _text(value: Mapping[str, Any], key: str) -> str:
    """A field that is a string by now; "" when it is absent or null."""
    text: str | None = value.get(key) or _get(value, key)
    return text or ""


def _items(value: Mapping[str, Any], key: str) -> Iterable[Mapping[str, Any]]:
    """A list of mappings; null stands for an empty one."""
    return [each or {} for each in _get(value, key) or ()]
