"""Templates, from which `opm alpha render-template` renders catalogs: olm.template.basic and olm.semver (formats 1.9).

A template names the images of bundles. What they contain is asked of the caller: nothing is pulled here. Keys may differ in upper
and lower case, as Go reads them. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

import orjson

from olmctl.authoring.bundle_blobs import package_icon
from olmctl.authoring.semver_channels import ARCHETYPES, MAJOR, MINOR, BadVersions, VersionedBundle, channels_of
from olmctl.validation.places import line_of
from olmkit.fbc import catalog
from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.bundle_objects import find_csv
from olmkit.fbc.catalog import BUNDLE, BUNDLE_OBJECT, PACKAGE
from olmkit.fbc.documents import Document, read_documents
from olmkit.fbc.errors import BadBlob, BadDocument
from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import BadVersion, parse_version

BASIC: Final = "olm.template.basic"
SEMVER: Final = "olm.semver"
TYPES: Final = {"basic": BASIC, "semver": SEMVER}
"""The names that opm has for the schemas."""
ENTRIES: Final = "entries"
BUNDLES: Final = "bundles"
IMAGE: Final = "image"
_GENERATE: Final = {MAJOR: "generateMajorChannels", MINOR: "generateMinorChannels"}
_PREFERENCE: Final = "defaultChannelTypePreference"
_FIELDS: Final = ("schema", *_GENERATE.values(), _PREFERENCE, *ARCHETYPES)
_WRITTEN: Final = ("schema", IMAGE)

Path = tuple[str | int, ...]
BundleBlob = Callable[[str], Blob]
"""The olm.bundle blob of an image, with its manifests."""


class BadTemplate(ValueError):
    """A template cannot be read, or no catalog can be made of it. The message begins with the line if that is known."""


@dataclass(frozen=True)
class Template:
    """A template."""

    data: bytes
    value: Mapping[str, Any]
    schema: str

    @classmethod
    def read(cls, data: bytes) -> Template:
        """The template in the text of a file. Raises BadTemplate."""
        try:
            found = list(read_documents(BytesIO(data)))
        except BadDocument as error:
            raise BadTemplate(str(error)) from None
        if len(found) != 1:
            raise BadTemplate(f"has {len(found)} documents, and a template is one, with a schema {BASIC} or {SEMVER}")
        value = found[0].value
        schema = member(value, "schema")[1] if isinstance(value, dict) else None
        if schema not in (BASIC, SEMVER):
            raise BadTemplate(
                f"template has unknown schema ({quoted(str(schema or ''))}), should be {BASIC} or {SEMVER}"
            )
        try:
            return cls(data, parse_blob(found[0]).value, schema)
        except BadDocument as error:
            raise BadTemplate(str(error)) from None

    def error(self, path: Path, text: str) -> BadTemplate:
        """The error about the value at a path, with its line."""
        return BadTemplate(f"line {line_of(self.data, path)}: {text}")

    def list_at(self, value: Mapping[str, Any], name: str, path: Path = ()) -> tuple[Path, Sequence[Any]]:
        """The list of this name in the mapping at `path`, and its own path; empty if there is none. Raises BadTemplate."""
        key, found = member(value, name)
        if found is not None and not isinstance(found, list):
            raise self.error((*path, key), f"{key} must be a list")
        return (*path, key), found or ()

    def images(self) -> list[str]:
        """The images of bundles that it names, each once. Raises BadTemplate."""
        if self.schema == BASIC:
            found = [_image_of(each) for each in self.entries() if each.schema == BUNDLE]
        else:
            self._check_fields(self.value, _FIELDS, ())
            found = [image for archetype in ARCHETYPES for image in self.semver_images(archetype)]
        return list(dict.fromkeys(found))

    def entries(self) -> list[Blob]:
        """The entries of a basic template. Raises BadTemplate."""
        path, listed = self.list_at(self.value, ENTRIES)
        made = []
        for index, each in enumerate(listed):
            try:
                blob = parse_blob(Document(each, b"", 1))
            except BadDocument as error:
                text = str(error).removeprefix("line 1: ")
                raise self.error((*path, index), text) from None
            if blob.schema == BUNDLE and (set(map(str.casefold, blob.value)) - set(_WRITTEN) or not _image_of(blob)):
                text = "unexpected fields present in basic template bundle: it has schema and image, and nothing else"
                raise self.error((*path, index), text)
            made.append(blob)
        return made

    def semver_images(self, archetype: str) -> list[str]:
        """The images of one list of a semver template. Raises BadTemplate."""
        key, section = member(self.value, archetype)
        if section is None:
            return []
        if not isinstance(section, dict):
            raise self.error((key,), f"{key} must be a mapping with a list {BUNDLES}")
        self._check_fields(section, (BUNDLES,), (key,))
        path, listed = self.list_at(section, BUNDLES, (key,))
        found = []
        for index, each in enumerate(listed):
            image = member(each, IMAGE)[1] if isinstance(each, dict) else None
            if not isinstance(image, str) or not image:
                raise self.error((*path, index), f"each of the {BUNDLES} must be a mapping with an {IMAGE}")
            self._check_fields(each, (IMAGE,), (*path, index))
            found.append(image)
        return found

    def rendered(self, bundle: BundleBlob) -> Iterator[Blob]:
        """The blobs of the catalog. Raises BadTemplate, and what `bundle` raises."""
        return self._basic(bundle) if self.schema == BASIC else self._semver(bundle)

    def _basic(self, bundle: BundleBlob) -> Iterator[Blob]:
        for each in self.entries():
            yield bundle(_image_of(each)) if each.schema == BUNDLE else each

    def _semver(self, bundle: BundleBlob) -> Iterator[Blob]:
        kinds, preferred = self._kinds()
        blobs = {image: bundle(image) for image in self.images()}
        if not blobs:
            raise BadTemplate("render: no bundles specified or no bundles could be rendered")
        package = next(iter(blobs.values())).package
        lists = {
            name: [self._versioned(blobs[image], package) for image in self.semver_images(name)] for name in ARCHETYPES
        }
        try:
            channels = channels_of(package, lists, kinds, preferred)
        except BadVersions as error:
            raise BadTemplate(str(error)) from None
        heads = next(each["entries"] for each in channels.blobs if each["name"] == channels.default)
        head = next(each for each in blobs.values() if each.name == heads[-1]["name"])
        yield _blob({"schema": PACKAGE, "name": package, "defaultChannel": channels.default, **_description(head)})
        yield from map(_blob, channels.blobs)
        yield from blobs.values()

    def _kinds(self) -> tuple[list[str], str]:
        """The kinds of channels to make, and the one that is preferred as the default channel. Raises BadTemplate."""
        kinds = []
        for kind, field in _GENERATE.items():
            key, value = member(self.value, field)
            if not isinstance(value, bool | None):
                raise self.error((key,), f"{key} must be true or false")
            kinds += [kind] * bool(value)
        kinds = kinds or [MINOR]
        key, preferred = member(self.value, _PREFERENCE)
        if preferred in (None, ""):
            return kinds, kinds[-1]
        if preferred not in (MAJOR, MINOR):
            raise self.error((key,), f"unknown {key}: {quoted(str(preferred))}: valid values are 'major' or 'minor'")
        if preferred not in kinds:
            text = f"{key} set to '{preferred}' doesn't make sense if not generating {preferred}-version channels"
            raise self.error((key,), f"schema attribute mismatch: {text}")
        return kinds, preferred

    def _versioned(self, blob: Blob, package: str) -> VersionedBundle:
        if blob.package != package:
            raise BadTemplate(f"bundle {quoted(blob.name)} does not belong to this package: {quoted(package)}")
        text = ""
        try:
            text, _ = catalog.bundle(blob.value).version()
            return VersionedBundle(blob.name, parse_version(text))
        except BadBlob as error:
            raise BadTemplate(str(error)) from None
        except BadVersion as error:
            raise BadTemplate(f"bundle {quoted(blob.name)} has invalid version {quoted(text)}: {error}") from None

    def _check_fields(self, value: Mapping[str, Any], known: Sequence[str], path: Path) -> None:
        """Raise BadTemplate for a key that is none of a semver template."""
        names = {each.casefold() for each in known}
        for key in value:
            if key.casefold() not in names:
                raise self.error((*path, key), f"unknown field {quoted(key)}: there are {', '.join(known)}")


def member(value: Mapping[str, Any], name: str) -> tuple[str, Any]:
    """The key of a field as the mapping has it, and its value; the name and None if there is none."""
    if name in value:
        return name, value[name]
    return next(((key, found) for key, found in value.items() if key.casefold() == name.casefold()), (name, None))


def _image_of(blob: Blob) -> str:
    image = member(blob.value, IMAGE)[1]
    return image if isinstance(image, str) else ""


def _description(head: Blob) -> dict[str, Any]:
    """The description and the icon that the ClusterServiceVersion of a bundle has, as an olm.package blob has them."""
    manifests = [each.get("value") for each in head.value["properties"] if each.get("type") == BUNDLE_OBJECT]
    csv = find_csv(manifests)
    spec = csv.get("spec") if csv is not None else None
    if not isinstance(spec, dict):
        return {}
    text, icon = spec.get("description"), package_icon(spec.get("icon"))
    description = {"description": text} if isinstance(text, str) and text else {}
    return {**description, **({"icon": icon} if icon else {})}


def _blob(value: Mapping[str, Any]) -> Blob:
    return parse_blob(Document(value, orjson.dumps(value), 1))
