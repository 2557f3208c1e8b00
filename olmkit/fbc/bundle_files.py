"""The files of a bundle as values, from which `olm catalog render` makes olm.bundle blobs (formats 2.1).

Reads and checks only what a blob needs; rukpak.format checks whether a bundle can be installed. Paths are relative to the
bundle's root: "manifests/csv.yaml". Pure.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.fbc import documents
from olmkit.fbc.catalog import Property
from olmkit.fbc.errors import BadDocument
from olmkit.gocompat.fields import canonical_object
from olmkit.gocompat.text import quoted

MANIFESTS, METADATA = "manifests", "metadata"
CSV = "ClusterServiceVersion"
PACKAGE_KEY = "operators.operatorframework.io.bundle.package.v1"
"""The annotation and label with the name of a registry+v1 bundle's package."""
_SUFFIXES = (".yaml", ".yml", ".json")

Body = Mapping[str, Any]
"""A Kubernetes object as JSON values; numbers as olmkit.gocompat.numbers holds them."""


class BadBundleFiles(ValueError):
    """A bundle that cannot be rendered; the text begins with the file's path if it is about one file."""


@dataclass(frozen=True)
class RegistryFiles:
    """A registry+v1 bundle. `objects` are in file order and include the one ClusterServiceVersion."""

    package: str
    csv: Body
    objects: tuple[Body, ...]
    properties: tuple[Property, ...]
    """metadata/properties.yaml."""
    dependencies: tuple[Property, ...]
    """metadata/dependencies.yaml."""
    warnings: tuple[str, ...] = ()
    """Messages about files of metadata/ that cannot be read. opm ignores such files silently."""


def read_registry(files: Mapping[str, bytes]) -> RegistryFiles:
    """A bundle with manifests/ and metadata/. Raises BadBundleFiles."""
    objects = read_objects(files)
    services = [each for each in objects if each["kind"] == CSV]
    if not services:
        raise BadBundleFiles(f'no ClusterServiceVersion found in "{MANIFESTS}"')
    if len(services) > 1:
        raise BadBundleFiles(f'{len(services)} ClusterServiceVersions found in "{MANIFESTS}": a bundle has one')
    metadata, warnings = _metadata(files)
    annotations = next((each["annotations"] for _, each in metadata if isinstance(each.get("annotations"), dict)), None)
    if annotations is None:
        raise BadBundleFiles(f"Could not find annotations file: {METADATA}/annotations.yaml names the bundle's package")
    package = annotations.get(PACKAGE_KEY)
    if not isinstance(package, str) or not package:
        raise BadBundleFiles(f"Missing annotation {quoted(PACKAGE_KEY)} in {METADATA}/annotations.yaml")
    properties, dependencies = (_listed(metadata, key) for key in ("properties", "dependencies"))
    return RegistryFiles(package, services[0], objects, properties, dependencies, tuple(warnings))


def read_objects(files: Mapping[str, bytes]) -> tuple[Body, ...]:
    """The objects of manifests/, in lexical order of the files. Raises BadBundleFiles, also when there is none."""
    objects: list[Body] = []
    for path in _below(files, MANIFESTS):
        if path.count("/") > 1:
            where = quoted(path.rpartition("/")[0])
            text = f'subdirectories are not allowed within the "{MANIFESTS}" directory of the bundle image filesystem'
            raise BadBundleFiles(f"{text}: found {where}")
        for number, value in enumerate(_documents(path, files[path]), start=1):
            body = canonical_object(value) if isinstance(value, dict) else {}
            if not all(isinstance(body.get(key), str) and body[key] for key in ("apiVersion", "kind")):
                raise BadBundleFiles(f"{path}: document {number} is no Kubernetes object: it needs apiVersion and kind")
            objects.append(body)
    if not objects:
        raise BadBundleFiles("no bundle objects found: there is no manifest in manifests/")
    return tuple(objects)


def properties_of(values: Any, place: str) -> tuple[Property, ...]:
    """The properties of a list of {type, value}. Raises BadBundleFiles, whose text begins with `place`."""
    if not isinstance(values, list):
        raise BadBundleFiles(f"{place}: must be a list of type and value")
    found = []
    for index, each in enumerate(values):
        if not isinstance(each, dict) or not isinstance(each.get("type"), str) or not each["type"]:
            raise BadBundleFiles(f"{place}[{index}]: needs a type, which is a string")
        if "value" not in each:
            raise BadBundleFiles(f"{place}[{index}]: needs a value in addition to its type {quoted(each['type'])}")
        found.append(Property(each["type"], each["value"]))
    return tuple(found)


def _below(files: Mapping[str, bytes], directory: str) -> Iterator[str]:
    """The paths of the files below a directory, without those whose own names begin with a dot."""
    for path in sorted(files):
        if path.startswith(f"{directory}/") and not path.rpartition("/")[2].startswith("."):
            yield path


def _documents(path: str, data: bytes) -> Iterator[Any]:
    """The documents of a file that are not empty."""
    try:
        for document in documents.read_documents(io.BytesIO(data)):
            if document.value is not None:
                yield document.value
    except BadDocument as error:
        raise BadBundleFiles(f"{path}: {error}") from error


def _metadata(files: Mapping[str, bytes]) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    """The mappings in metadata/ with their files, and messages about files that cannot be read.

    The content of a file shows what it is, not its name.
    """
    found, warnings = [], []
    for path in _below(files, METADATA):
        try:
            value = next(_documents(path, files[path]), None) if path.endswith(_SUFFIXES) else None
        except BadBundleFiles as error:
            warnings.append(f"{error}: the file is left out")
            continue
        if isinstance(value, dict):
            found.append((path, value))
    return found, warnings


def _listed(metadata: Sequence[tuple[str, dict[str, Any]]], key: str) -> tuple[Property, ...]:
    """The properties that are listed under this key in the first file that has it."""
    for path, value in metadata:
        if value.get(key):
            return properties_of(value[key], f"{path}: {key}")
    return ()
