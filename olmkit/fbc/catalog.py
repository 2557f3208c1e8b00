"""Blobs as typed values: package, channel, bundle, deprecations (formats 1.4, 1.5).

Called when a catalog is loaded. A blob that is not what its schema says raises BadBlob with the words upstream would begin with;
nothing here decides what that costs. Knows no cluster and no files. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.fbc import yaml_values
from olmkit.fbc.documents import DOCUMENT_LIMIT
from olmkit.fbc.errors import BadBlob

PACKAGE, CHANNEL, BUNDLE, DEPRECATIONS = "olm.package", "olm.channel", "olm.bundle", "olm.deprecations"
REGISTRY_V1 = "registry+v1"
_MEDIA_TYPE, _CSV_METADATA, _OBJECT = "olm.bundle.mediatype", "olm.csv.metadata", "olm.bundle.object"


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


@dataclass(frozen=True, slots=True)
class Property:
    """A property; the value is JSON of any shape."""

    type: str
    value: Any


@dataclass(frozen=True, slots=True)
class Bundle:
    """An olm.bundle blob."""

    name: str
    package: str
    image: str
    properties: tuple[Property, ...]

    def version(self) -> tuple[str, str]:
        """Version and release of its one olm.package property. Raises BadBlob in opm's words (formats 1.7, A11 to A13)."""
        found = [each for each in enumerate(self.properties) if each[1].type == PACKAGE]
        try:
            texts = [
                tuple(_text(_mapping(each.value), key) for key in ("packageName", "version", "release"))
                for _, each in found
            ]
        except _WrongType as error:
            raise BadBlob(
                f'parse properties for bundle "{self.name}": parse property[{found[0][0]}] of type "{PACKAGE}": {error}'
            ) from error
        if len(texts) != 1:
            raise BadBlob(
                f'package "{self.package}" bundle "{self.name}" must have exactly 1 "olm.package" property, found {len(texts)}'
            )
        package, version, release = texts[0]
        if package != self.package:
            raise BadBlob(f'package "{self.package}" does not match "olm.package" property "{package}"')
        return version, release

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
        for each in self.properties:
            if each.type == _OBJECT and isinstance(each.value, Mapping) and (spec := _csv_spec(each.value)) is not None:
                return _version_in(spec)
        return ""


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


class _WrongType(ValueError):
    """A value is not of the type its field has."""


def package(blob: Mapping[str, Any]) -> Package:
    """Raises BadBlob `parse package: …`."""
    try:
        icon = _get(blob, "icon")
        return Package(
            name=_text(blob, "name"),
            default_channel=_text(blob, "defaultChannel"),
            description=_text(blob, "description"),
            icon=None if icon is None else (_text(_mapping(icon), "base64data"), _text(icon, "mediatype")),
        )
    except _WrongType as error:
        raise BadBlob(f'parse package: package "{_shown(blob, "name")}": {error}') from error


def channel(blob: Mapping[str, Any]) -> Channel:
    """Raises BadBlob `parse channel: …`."""
    try:
        return Channel(
            name=_text(blob, "name"),
            package=_text(blob, "package"),
            entries=tuple(_entry(each) for each in _items(blob, "entries")),
        )
    except _WrongType as error:
        raise BadBlob(f"parse channel: {_place(blob, 'channel')}: {error}") from error


def bundle(blob: Mapping[str, Any]) -> Bundle:
    """Raises BadBlob `parse bundle: …`."""
    try:
        for image in _items(blob, "relatedImages"):
            _text(image, "name"), _text(image, "image")
        return Bundle(
            name=_text(blob, "name"),
            package=_text(blob, "package"),
            image=_text(blob, "image"),
            properties=tuple(_property(index, each) for index, each in enumerate(_items(blob, "properties"))),
        )
    except _WrongType as error:
        raise BadBlob(f"parse bundle: {_place(blob, 'bundle')}: {error}") from error


def deprecations(blob: Mapping[str, Any]) -> Deprecations:
    """Raises BadBlob `parse deprecation: …`."""
    try:
        return Deprecations(
            package=_text(blob, "package"),
            entries=tuple(_deprecation(each) for each in _items(blob, "entries")),
        )
    except _WrongType as error:
        raise BadBlob(f'parse deprecation: package "{_shown(blob, "package")}": {error}') from error


def _version_in(spec: Mapping[str, Any]) -> str:
    version = _get(spec, "minKubeVersion")
    return version if isinstance(version, str) else ""


def _csv_spec(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The spec of a bundle object that is a CSV with a minKubeVersion; it is parsed only if it may be one."""
    data = value.get("data")
    try:
        text = base64.b64decode(data) if isinstance(data, str) else b""
        if b"ClusterServiceVersion" not in text or b"minKubeVersion" not in text:
            return None
        found = orjson.loads(text) if text.lstrip().startswith(b"{") else yaml_values.load(text, DOCUMENT_LIMIT)
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("kind") != "ClusterServiceVersion":
        return None
    spec = found.get("spec")
    return spec if isinstance(spec, dict) else None


def _entry(value: Mapping[str, Any]) -> Entry:
    skips = _list(value, "skips")
    for skip in skips:
        if not isinstance(skip, str):
            raise _WrongType(f'field "skips" must hold strings, not {_kind(skip)}')
    return Entry(_text(value, "name"), _text(value, "replaces"), tuple(skips), _text(value, "skipRange"))


def _property(index: int, value: Mapping[str, Any]) -> Property:
    kind, held = _text(value, "type"), _get(value, "value")
    if not kind:
        raise _WrongType(f"property[{index}]: type must be set")
    if held is None:
        raise _WrongType(f'property[{index}] of type "{kind}": value must be set')
    return Property(kind, held)


def _deprecation(value: Mapping[str, Any]) -> Deprecation:
    reference = _get(value, "reference")
    reference = {} if reference is None else _mapping(reference)
    return Deprecation(_text(reference, "schema"), _text(reference, "name"), _text(value, "message"))


def _get(value: Mapping[str, Any], key: str) -> Any:
    """A field, by its name or, as Go's decoder does, by its name in another case."""
    if key in value:
        return value[key]
    fold = key.casefold()
    return next((held for name, held in value.items() if name.casefold() == fold), None)


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    if type(text) is str:  # nearly always
        return text
    text = _get(value, key)
    if text is None:
        return ""
    if type(text) is not str:
        raise _WrongType(f'field "{key}" must be a string, not {_kind(text)}')
    return text


def _list(value: Mapping[str, Any], key: str) -> Sequence[Any]:
    held = _get(value, key)
    if held is None:
        return ()
    if not isinstance(held, list):
        raise _WrongType(f'field "{key}" must be a list, not {_kind(held)}')
    return held


def _items(value: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    """A list of mappings; null stands for an empty one."""
    held = _list(value, key)
    for each in held:
        if each is not None and not isinstance(each, dict):
            raise _WrongType(f'field "{key}" must hold mappings, not {_kind(each)}')
    return [each or {} for each in held]


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _WrongType(f"must be a mapping, not {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", str: "a string", list: "a list", dict: "a mapping"}
    return names.get(type(value), "a number")


def _place(blob: Mapping[str, Any], schema: str) -> str:
    return f'package "{_shown(blob, "package")}", {schema} "{_shown(blob, "name")}"'


def _shown(blob: Mapping[str, Any], key: str) -> str:
    text = _get(blob, key)
    return text if isinstance(text, str) else ""
