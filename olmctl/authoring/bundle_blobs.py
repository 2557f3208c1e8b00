"""The olm.bundle blob of a bundle's files, as `opm render` writes it (formats 1.5, 1.8). Plain bundles, which opm refuses, too.

The manifests become olm.bundle.object properties, as by default in opm; with `summarized` (opm's --migrate) an olm.csv.metadata
property replaces them if the bundle has an image. A bundle without an image must contain its objects. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson

from olmkit.fbc import bundle_objects
from olmkit.fbc.bundle_files import BadBundleFiles, Body, RegistryFiles, properties_of, read_objects
from olmkit.fbc.catalog import BUNDLE, BUNDLE_OBJECT, PACKAGE, Property
from olmkit.fbc.documents import MAX_DOCUMENT_BYTES
from olmkit.fbc.schemas import GVK, GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.gocompat.go_decode_errors import decode_error
from olmkit.gocompat.go_encoding import round_trip
from olmkit.gocompat.go_types import STRUCTS
from olmkit.gocompat.numbers import read_json
from olmkit.gocompat.text import quoted

PLAIN_V0 = "plain+v0"
CSV_METADATA = "olm.csv.metadata"
_CSV_METADATA_TYPE = "property.CSVMetadata"
_SPEC_FIELDS = {
    "apiServiceDefinitions": "apiservicedefinitions",
    "crdDescriptions": "customresourcedefinitions",
}
"""Fields of olm.csv.metadata that have another name in the CSV's spec; all others have the same name."""
_METADATA_FIELDS = ("annotations", "labels")
_LAST_PROPERTIES = frozenset({BUNDLE_OBJECT, CSV_METADATA})
_GO_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""Characters that Go's JSON encoder escapes."""

Group = tuple[str, str, str]
"""group, kind, version."""


def registry_blob(bundle: RegistryFiles, image: str = "", *, summarized: bool = False) -> dict[str, Any]:
    """The blob of a registry+v1 bundle; `image` is "" for a bundle without an image. Raises BadBundleFiles."""
    with _type_errors():
        return _registry_blob(bundle, image, summarized)


def plain_blob(files: Mapping[str, bytes], image: str, package: str, version: str, name: str = "") -> dict[str, Any]:
    """The blob of a bundle with manifests/ alone, as in section 7.4.4 of the guide. Raises BadBundleFiles."""
    read_objects(files)
    properties = [
        _property(PACKAGE, {"packageName": package, "version": version}),
        _property("olm.bundle.mediatype", PLAIN_V0),
    ]
    return {
        "schema": BUNDLE,
        "name": name or f"{package}.v{version}",
        "package": package,
        "image": image,
        "properties": [_json(each) for each in properties],
    }


def summarized_blob(blob: Mapping[str, Any]) -> dict[str, Any]:
    """An olm.bundle blob of a catalog with olm.csv.metadata in place of its objects, if it has an image and its objects a CSV.

    Otherwise, and if it has that property already, the same blob. Raises BadBundleFiles.
    """
    properties = blob.get("properties") or []
    manifests = [each.get("value") for each in properties if each.get("type") == BUNDLE_OBJECT]
    csv = (
        bundle_objects.find_csv(manifests)
        if blob.get("image") and not any(p.get("type") == CSV_METADATA for p in properties)
        else None
    )
    if csv is None:
        return dict(blob)
    others = [each for each in properties if each.get("type") != BUNDLE_OBJECT]
    with _type_errors():
        return {**blob, "properties": [*others, _json(_summary(csv))]}


def package_icon(icons: Any) -> dict[str, str]:
    """The first icon of a ClusterServiceVersion as an olm.package blob has it; empty if there is none."""
    first = icons[0] if isinstance(icons, list) and icons else None
    if not isinstance(first, dict):
        return {}
    found = {key: first.get(key) for key in ("base64data", "mediatype")}
    return {key: str(value) for key, value in found.items()} if all(map(_is_text, found.values())) else {}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


@contextmanager
def _type_errors() -> Iterator[None]:
    """Raise BadBundleFiles for the errors of code that reads an object as if its fields had the right types."""
    try:
        yield
    except (TypeError, AttributeError, KeyError) as error:
        text = f"the ClusterServiceVersion or a CRD has a field of another type than it should: {error}"
        raise BadBundleFiles(text) from error


def _registry_blob(bundle: RegistryFiles, image: str, summarized: bool) -> dict[str, Any]:
    name = _text((bundle.csv.get("metadata") or {}).get("name"), "metadata.name")
    properties = sorted(_unique(_properties(bundle)), key=lambda each: (each.type, _raw(each.value)))
    first = [each for each in properties if each.type not in _LAST_PROPERTIES]
    last = [each for each in properties if each.type in _LAST_PROPERTIES]
    if not (summarized and image):
        last += [_property(BUNDLE_OBJECT, {"data": _encoded(each)}) for each in bundle.objects]
    elif not any(each.type == CSV_METADATA for each in last):
        last = [_summary(bundle.csv)]
    return {
        "schema": BUNDLE,
        "name": name,
        "package": bundle.package,
        "image": image,
        "properties": [_json(each) for each in (*first, *last)],
        "relatedImages": sorted(_related_images(bundle.csv, image), key=lambda each: each["image"]),
    }


def _properties(bundle: RegistryFiles) -> Iterator[Property]:
    """All properties but the manifests. Of several olm.package the last is used: the CSV's annotation comes last."""
    annotated = _annotated(bundle.csv)
    declared = (*bundle.properties, *annotated)
    spec = bundle.csv.get("spec") or {}
    own = {"packageName": bundle.package, "version": _text(spec.get("version"), "spec.version")}
    if spec.get("release"):
        own["release"] = _text(spec["release"], "spec.release")
    packages = [each for each in annotated if each.type == PACKAGE]
    yield packages[-1] if packages else _property(PACKAGE, own)
    yield from (each for each in declared if each.type != PACKAGE)
    yield from (_group_version_kind(GVK, each) for each in _provided(bundle))
    yield from (_group_version_kind(GVK_REQUIRED, each) for each in _required(bundle.csv))
    yield from (_dependency(each) for each in bundle.dependencies)


def _annotated(csv: Body) -> tuple[Property, ...]:
    """The CSV's annotation olm.properties."""
    text = ((csv.get("metadata") or {}).get("annotations") or {}).get("olm.properties")
    if text is None:
        return ()
    place = "the ClusterServiceVersion's annotation olm.properties"
    try:
        return properties_of(read_json(text), place)
    except orjson.JSONDecodeError as error:
        raise BadBundleFiles(f"{place} is not valid JSON: {error}") from error


def _provided(bundle: RegistryFiles) -> Iterator[Group]:
    """Every version of what the CRDs define, and the APIServices that the CSV owns."""
    for each in bundle.objects:
        if each["kind"] == "CustomResourceDefinition":
            spec = each.get("spec") or {}
            versions = [version["name"] for version in spec.get("versions") or ()]
            for version in versions or [spec.get("version") or ""]:
                yield spec.get("group") or "", (spec.get("names") or {}).get("kind") or "", version
    yield from _api_services(bundle.csv, "owned")


def _required(csv: Body) -> Iterator[Group]:
    definitions = (csv.get("spec") or {}).get("customresourcedefinitions") or {}
    for each in definitions.get("required") or ():
        plural, dot, group = (each.get("name") or "").partition(".")
        if not plural or not dot:
            raise BadBundleFiles(
                f"the ClusterServiceVersion requires a CRD named {quoted(each.get('name') or '')}, which is no plural.group"
            )
        yield group, each.get("kind") or "", each.get("version") or ""
    yield from _api_services(csv, "required")


def _api_services(csv: Body, which: str) -> Iterator[Group]:
    for each in ((csv.get("spec") or {}).get("apiservicedefinitions") or {}).get(which) or ():
        yield each.get("group") or "", each.get("kind") or "", each.get("version") or ""


def _dependency(each: Property) -> Property:
    """An entry of dependencies.yaml as a property."""
    value = each.value
    if each.type == GVK:
        return _group_version_kind(
            GVK_REQUIRED, (value.get("group") or "", value.get("kind") or "", value.get("version") or "")
        )
    if each.type == PACKAGE:
        required = {"packageName": value.get("packageName") or "", "versionRange": value.get("version") or ""}
        return _property(PACKAGE_REQUIRED, required)
    return each


def _related_images(csv: Body, image: str) -> Iterator[dict[str, str]]:
    """The images that the CSV lists, the bundle's own, and those of the containers of its Deployments."""
    spec = csv.get("spec") or {}
    seen = set()
    for each in spec.get("relatedImages") or ():
        seen.add(each.get("image") or "")
        yield {"name": each.get("name") or "", "image": each.get("image") or ""}
    for found in (image, *sorted(_container_images(spec))):
        if found and found not in seen:
            seen.add(found)
            yield {"name": "", "image": found}


def _container_images(spec: Body) -> Iterator[str]:
    for deployment in ((spec.get("install") or {}).get("spec") or {}).get("deployments") or ():
        pod = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
        for container in (*(pod.get("containers") or ()), *(pod.get("initContainers") or ())):
            yield container.get("image") or ""


def _summary(csv: Body) -> Property:
    """The olm.csv.metadata property of a ClusterServiceVersion: what users browse, without what only an installation needs."""
    spec, metadata = csv.get("spec") or {}, csv.get("metadata") or {}
    values = {each.name: spec.get(_SPEC_FIELDS.get(each.name, each.name)) for each in STRUCTS[_CSV_METADATA_TYPE]}
    values |= {name: metadata.get(name) for name in _METADATA_FIELDS}
    if error := decode_error(_CSV_METADATA_TYPE, values):
        raise BadBundleFiles(f"the ClusterServiceVersion cannot be read: {error}")
    return _property(CSV_METADATA, round_trip(_CSV_METADATA_TYPE, values))


def _group_version_kind(of: str, value: Group) -> Property:
    group, kind, version = value
    return _property(of, {"group": group, "kind": kind, "version": version})


def _property(of: str, value: Any) -> Property:
    return Property(of, value)


def _json(each: Property) -> dict[str, Any]:
    return {"type": each.type, "value": each.value}


def _raw(value: Any) -> bytes:
    """The JSON text that properties are sorted by."""
    return orjson.dumps(value)


def _unique(properties: Iterable[Property]) -> Iterator[Property]:
    """The properties without repetitions."""
    seen = set()
    for each in properties:
        key = each.type, orjson.dumps(each.value, option=orjson.OPT_SORT_KEYS)
        if key not in seen:
            seen.add(key)
            yield each


def _encoded(body: Body) -> str:
    text = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    if len(text) > MAX_DOCUMENT_BYTES:
        raise BadBundleFiles(f"an object is larger than {MAX_DOCUMENT_BYTES // 1024 // 1024} MiB")
    return base64.b64encode(text.decode().translate(_GO_ESCAPES).encode()).decode()


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise BadBundleFiles(f"the ClusterServiceVersion needs a {field}, which is a string")
    return value
