"""Reads the files of a bundle as a value, or reports every error in them at once.

A registry+v1 bundle has manifests/ (flat; one ClusterServiceVersion, CRDs, other objects) and metadata/annotations.yaml; a
plain+v0 bundle has manifests/ (flat; at least one object). Files are YAML or JSON and may contain several documents and lists.
Pure: reads bytes, never a path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from olmkit.gocompat import documents
from olmkit.gocompat.fields import canonical_keys, canonical_object
from olmkit.gocompat.go_encoding import Mismatch, round_trip
from olmkit.gocompat.numbers import read_json
from olmkit.gocompat.parse_errors import ParseError
from rukpak.format.bundle import MAX_BUNDLE_BYTES, MAX_OBJECT_BYTES, Body, PlainBundle, RegistryBundle
from rukpak.format.errors import UNPACK_FAILED, BadBundle
from rukpak.format.objects import BundleObject, group_of, without_duplicates

MANIFESTS = "manifests/"
ANNOTATIONS_FILE = "metadata/annotations.yaml"
PROPERTIES_FILE = "metadata/properties.yaml"
PROPERTIES_ANNOTATION = "olm.properties"
PACKAGE_ANNOTATION = "operators.operatorframework.io.bundle.package.v1"

CSV = "ClusterServiceVersion"
CRD = "CustomResourceDefinition"
CRD_API_VERSION = "apiextensions.k8s.io/v1"

_CHECKED: Mapping[tuple[str, str], str] = {
    ("apiextensions.k8s.io", CRD): "AnyDefinition",
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "WebhookConfiguration",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "WebhookConfiguration",
    ("apps", "DaemonSet"): "Templated",
    ("apps", "Deployment"): "Templated",
    ("apps", "ReplicaSet"): "Templated",
    ("apps", "StatefulSet"): "Templated",
    ("batch", "CronJob"): "Templated",
    ("batch", "Job"): "Templated",
    ("", "ReplicationController"): "Templated",
}
"""(group, kind) of objects of which rukpak reads parts -> the type of those parts."""


@dataclass(frozen=True)
class _Manifest:
    """An object and the file that contains it."""

    file: str
    body: dict[str, Any]

    @cached_property
    def object(self) -> BundleObject:
        return BundleObject(self.body)


def _object_of(manifest: _Manifest) -> BundleObject:
    return manifest.object


@dataclass
class _Reading:
    """The files of one bundle, and the errors found so far."""

    files: Mapping[str, bytes]
    read: Callable[[bytes], list[Any]] = documents.read
    errors: list[str] = field(default_factory=list)

    def raise_errors(self) -> None:
        if self.errors:
            raise BadBundle.of(UNPACK_FAILED, self.errors)


def read_registry(files: Mapping[str, bytes], read: Callable[[bytes], list[Any]] = documents.read) -> RegistryBundle:
    """The registry+v1 bundle in the files (path in the image -> content). Raises BadBundle with all errors.

    `read` returns the documents of a file, as documents.read does, for callers that have them already.
    """
    reading = _Reading(files, read)
    annotations = _annotations(reading)
    properties = _properties(reading)
    found = _objects(reading)
    csvs = without_duplicates([item for item in found if item.body["kind"] == CSV], _object_of)
    crds = without_duplicates([item for item in found if item.body["kind"] == CRD], _object_of)
    _check_one_csv(reading, csvs)
    others = _deduplicated(reading, [item for item in found if item.body["kind"] not in (CSV, CRD)])
    csv = _typed_csv(reading, csvs[0], properties) if len(csvs) == 1 else {}
    typed_crds = tuple(_typed_crd(reading, item) for item in crds)
    for item in others:
        _check_types(reading, item)
    reading.raise_errors()
    return RegistryBundle(
        package=annotations[PACKAGE_ANNOTATION],
        csv=csv,
        crds=typed_crds,
        others=tuple(item.body for item in others),
        properties=properties,
        annotations=annotations,
    )


def read_plain(files: Mapping[str, bytes]) -> PlainBundle:
    """The plain+v0 bundle in the files (path in the image -> content). Raises BadBundle with all errors."""
    reading = _Reading(files)
    found = _deduplicated(reading, _objects(reading))
    for item in found:
        _check_types(reading, item)
    if not found and not reading.errors:
        reading.errors.append(
            "invalid bundle: found zero objects: plain+v0 bundles are required to contain at least one object"
        )
    reading.raise_errors()
    return PlainBundle(objects=tuple(item.body for item in found))


def read_manifests(
    named: Iterable[tuple[str, bytes]], selects: Callable[[str, Body], bool] = lambda name, body: True
) -> PlainBundle:
    """The objects in these files (name and content), which may be none. Those that `selects` does not want, by the name of the
    file and the object, are left out. Raises BadBundle with all errors."""
    reading = _Reading({})
    found = [item for item in _objects_of(reading, named) if selects(item.file, item.body)]
    for item in (kept := _deduplicated(reading, found)):
        _check_types(reading, item)
    reading.raise_errors()
    return PlainBundle(objects=tuple(item.body for item in kept))


def _manifest_files(reading: _Reading) -> Iterator[tuple[str, bytes]]:
    """The files directly in manifests/, by name. Hidden files are no part of a bundle."""
    subdirectories: set[str] = set()
    names = sorted(path for path in reading.files if path.startswith(MANIFESTS))
    if not names:
        reading.errors.append(
            'the bundle has no "manifests" directory with files in it: was the image built from the right directory?'
        )
    for path in names:
        name = path.removeprefix(MANIFESTS)
        if "/" in name:
            subdirectories.add(MANIFESTS + name.partition("/")[0])
        elif not name.startswith("."):
            yield path, reading.files[path]
    reading.errors += (
        'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem: '
        f'found "{directory}"'
        for directory in sorted(subdirectories)
    )


def _objects(reading: _Reading) -> list[_Manifest]:
    return _objects_of(reading, ((path.removeprefix(MANIFESTS), data) for path, data in _manifest_files(reading)))


def _objects_of(reading: _Reading, named: Iterable[tuple[str, bytes]]) -> list[_Manifest]:
    found: list[_Manifest] = []
    for name, data in named:
        try:
            read = reading.read(data)
        except ParseError as error:
            reading.errors.append(f'error parsing objects in "{name}": {error}')
            continue
        for number, document in enumerate(read, start=1):
            where = f'"{name}"' if len(read) == 1 else f'"{name}", document {number}'
            found += (_Manifest(name, body) for body in _flattened(reading, where, document))
    return found


def _flattened(
    reading: _Reading, where: str, document: Any, inherited: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """The object, or the items of a list; `inherited` are apiVersion and kind for an item that does not have its own."""
    if not isinstance(document, dict):
        reading.errors.append(
            f"error parsing objects in {where}: an object is a mapping with apiVersion, kind and metadata"
        )
        return
    document = {**(inherited or {}), **canonical_object(document)}
    list_kind = document.get("kind")
    if isinstance(list_kind, str) and list_kind.endswith("List"):
        items = canonical_keys(document, ("items",)).get("items")
        if isinstance(items, list):
            item_kind = list_kind.removesuffix("List")
            given = {"apiVersion": document.get("apiVersion"), "kind": item_kind} if item_kind else None
            for number, item in enumerate(items, start=1):
                yield from _flattened(reading, f"{where}, item {number}", item, given)
            return
    problem = _identity_problem(document) or _size_problem(document)
    if problem:
        reading.errors.append(f"error parsing objects in {where}: {problem}")
        return
    yield document


def _identity_problem(body: dict[str, Any]) -> str:
    for identity in ("apiVersion", "kind"):
        if not isinstance(body.get(identity), str) or not body[identity]:
            return f"{identity} is missing" if not body.get(identity) else f"{identity} must be text"
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return f"{body['kind']} has no metadata"
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        return f"{body['kind']} has no metadata.name" if not name else f"{body['kind']}: metadata.name must be text"
    if not isinstance(metadata.get("namespace") or "", str):
        return f"{body['kind']} {name}: metadata.namespace must be text"
    for field_name in ("labels", "annotations"):
        values = metadata.get(field_name) or {}
        if not isinstance(values, dict):
            return f"{body['kind']} {name}: metadata.{field_name} must be a mapping"
        wrong = sorted(key for key, value in values.items() if not isinstance(value, str | None))
        if wrong:
            return f"{body['kind']} {name}: metadata.{field_name}: {wrong[0]} must be text in quotes"
    return ""


def _size_problem(body: dict[str, Any]) -> str:
    size = len(orjson.dumps(body))
    if size <= MAX_OBJECT_BYTES:
        return ""
    name = str(body["metadata"]["name"])[:300]
    return f"{body['kind']} {name} has {size:,} bytes of JSON; the API server takes {MAX_OBJECT_BYTES:,}"


def _check_types(reading: _Reading, found: _Manifest) -> None:
    """Check the types of the parts that rukpak reads of an object that is applied as it is written."""
    body = found.body
    checked = _CHECKED.get((group_of(body["apiVersion"]), body["kind"]))
    if checked is None:
        return
    try:
        round_trip(CRD if body["apiVersion"] == CRD_API_VERSION else checked, body)
    except Mismatch as error:
        _add_mismatch(reading, found, f"{body['kind']} {found.object.name}: {error}")


def _add_mismatch(reading: _Reading, found: _Manifest, problem: str) -> None:
    reading.errors.append(f'error parsing objects in "{found.file}": {problem}')


def _deduplicated(reading: _Reading, found: list[_Manifest]) -> list[_Manifest]:
    """The objects without exact duplicates. Objects of one name that differ are an error: the order of files would decide."""
    kept = without_duplicates(found, _object_of)
    count = Counter(item.object.key for item in kept)
    for key in sorted(key for key, number in count.items() if number > 1):
        files = [item.file for item in found if item.object.key == key]
        reading.errors.append(
            f"{key} is there {len(files)} times, not the same each time (in {', '.join(sorted(set(files)))}): keep one"
        )
    return kept


def _check_one_csv(reading: _Reading, csvs: list[_Manifest]) -> None:
    if len(csvs) == 1 or (not csvs and any(error.startswith("error parsing") for error in reading.errors)):
        return
    if not csvs:
        reading.errors.append('no ClusterServiceVersion found in "manifests"')
        return
    named = ", ".join(f'"{item.object.name}" in {item.file}' for item in csvs)
    reading.errors.append(
        f'{len(csvs)} ClusterServiceVersions found in "manifests" ({named}): a bundle holds exactly one'
    )


def _typed_csv(reading: _Reading, found: _Manifest, properties: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """The CSV, in which the parts of its spec that are rendered or checked have the form of their types."""
    body = canonical_keys(found.body, ("spec",))
    spec = body.get("spec")
    try:
        typed = round_trip("ClusterServiceVersionSpec", spec)
    except Mismatch as error:
        _add_mismatch(reading, found, f"{CSV}: {error.within('.spec')}")
        return {}
    rest = {name: value for name, value in canonical_keys(spec or {}, typed).items() if name not in typed}
    annotations = {key: value or "" for key, value in (found.body["metadata"].get("annotations") or {}).items()}
    if properties or reading.files.get(PROPERTIES_FILE):
        text = _merged_properties(reading, found, annotations.get(PROPERTIES_ANNOTATION) or "[]", properties)
        annotations[PROPERTIES_ANNOTATION] = text
    metadata = {**found.body["metadata"], "annotations": annotations}
    csv = {**body, "metadata": metadata, "spec": {**rest, **typed}}
    problem = _size_problem(csv) or _copies_problem(annotations, typed)
    if problem:
        _add_mismatch(reading, found, problem)
    return csv


def _copies_problem(annotations: Mapping[str, str], spec: Mapping[str, Any]) -> str:
    """The error of annotations that are too large together: each Deployment gets a copy of those of the CSV."""
    deployments = len((spec["install"].get("spec") or {}).get("deployments") or ())
    size = deployments * len(orjson.dumps(annotations))
    if size <= MAX_BUNDLE_BYTES:
        return ""
    return (
        f"{CSV}: its annotations, which each of its {deployments:,} deployments gets, make {size:,} bytes; "
        f"{MAX_BUNDLE_BYTES:,} are the most"
    )


def _merged_properties(reading: _Reading, found: _Manifest, text: str, properties: tuple[dict[str, Any], ...]) -> str:
    """The CSV's olm.properties followed by those of metadata/properties.yaml, as a JSON text of Go: `null` if there are none."""
    try:
        own = read_json(text)
    except orjson.JSONDecodeError:
        own = None
    if not isinstance(own, list):
        reading.errors.append(
            f'error parsing objects in "{found.file}": annotation {PROPERTIES_ANNOTATION} must be a JSON list'
        )
        return text
    written = [orjson.dumps(item).decode() for item in own]
    written += [orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode() for item in properties]
    return _go_escaped(f"[{','.join(written)}]") if written else "null"


def _go_escaped(text: str) -> str:
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _typed_crd(reading: _Reading, found: _Manifest) -> dict[str, Any]:
    if found.body["apiVersion"] != CRD_API_VERSION:
        _check_types(reading, found)
        return found.body
    try:
        typed: dict[str, Any] = round_trip("CustomResourceDefinition", found.body)
    except Mismatch as error:
        _add_mismatch(reading, found, f"{CRD} {found.object.name}: {error}")
        return {}
    return typed


def _metadata_file(reading: _Reading, path: str) -> dict[str, Any] | None:
    try:
        read = reading.read(reading.files[path])
    except ParseError as error:
        reading.errors.append(f"{path}: {error}")
        return None
    document = read[0] if read else {}
    if not isinstance(document, dict):
        reading.errors.append(f"{path}: must be a mapping")
        return None
    return document


def _annotations(reading: _Reading) -> dict[str, str]:
    if ANNOTATIONS_FILE not in reading.files:
        reading.errors.append(f"{ANNOTATIONS_FILE} is missing: it names the package of the bundle")
        return {}
    document = _metadata_file(reading, ANNOTATIONS_FILE)
    if document is None:
        return {}
    annotations = canonical_keys(document, ("annotations",)).get("annotations")
    if not isinstance(annotations, dict):
        reading.errors.append(f"{ANNOTATIONS_FILE}: has no mapping `annotations`")
        return {}
    package = annotations.get(PACKAGE_ANNOTATION)
    if not isinstance(package, str) or not package.strip():
        reading.errors.append(f"package name is empty: {ANNOTATIONS_FILE} must name it as {PACKAGE_ANNOTATION}")
        return {}
    return {key: value for key, value in annotations.items() if isinstance(value, str)}


def _properties(reading: _Reading) -> tuple[dict[str, Any], ...]:
    if PROPERTIES_FILE not in reading.files:
        return ()
    document = _metadata_file(reading, PROPERTIES_FILE)
    if document is None:
        return ()
    properties = canonical_keys(document, ("properties",)).get("properties") or []
    if not isinstance(properties, list) or not all(isinstance(item, dict) and item.get("type") for item in properties):
        reading.errors.append(f"{PROPERTIES_FILE}: `properties` must be a list of {{type, value}}")
        return ()
    return tuple(properties)
