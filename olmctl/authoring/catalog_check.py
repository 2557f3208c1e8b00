"""The check of a whole catalog, with opm's one message for it.

Holds all packages at once, but only a small part of each bundle. A caller that does not need opm's order uses
olmkit.fbc.checks.package_check package by package. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, TypeVar

from olmkit.fbc import catalog
from olmkit.fbc.catalog import BUNDLE_OBJECT, Bundle
from olmkit.fbc.checks.package_check import CheckedBundle, PackageBlobs, Problem, check_bundle, check_package
from olmkit.fbc.checks.report_tree import Branch
from olmkit.fbc.documents import CATALOG_YAML
from olmkit.fbc.errors import BadBlob
from olmkit.gocompat import yaml_reader
from olmkit.gocompat.base64_text import decode_bytes, decode_plain_base64
from olmkit.gocompat.fields import field as field_of
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.text import sprintf

Value = TypeVar("Value")


class CatalogCheck:
    """Collects the blobs of a catalog, typed and by package, then checks them."""

    def __init__(self) -> None:
        self._packages = _Numbered[catalog.Package]()
        self._channels = _Numbered[catalog.Channel]()
        self._bundles = _Numbered[CheckedBundle]()
        self._deprecations = _Numbered[catalog.Deprecations]()
        self._readers: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            catalog.PACKAGE: self._add_package,
            catalog.CHANNEL: self._add_channel,
            catalog.BUNDLE: self._add_bundle,
            catalog.DEPRECATIONS: self._add_deprecations,
        }

    def add(self, schema: str, value: Mapping[str, Any]) -> None:
        """Add the next blob; schemas other than the four are ignored. Raises BadBlob, at which opm stops."""
        if schema in self._readers:
            self._readers[schema](value)

    def error(self) -> str:
        """opm's message for the catalog; "" when it is valid."""
        first: Problem | None = None
        index = Branch("invalid index")
        for parts in self._parts():
            result = check_package(parts)
            if result.problems and (first is None or result.problems[0].position < first.position):
                first = result.problems[0]
            if result.tree:
                index.below.append(result.tree)
        if first:
            return first.text
        return index.text() if index.below else ""

    def _parts(self) -> Iterator[PackageBlobs]:
        """All packages, including those that only other blobs mention."""
        kinds = (self._packages, self._channels, self._bundles, self._deprecations)
        for name in dict.fromkeys(name for kind in kinds for name in kind.by_package):
            yield PackageBlobs(
                name,
                self._packages.of(name),
                self._channels.of(name),
                self._bundles.of(name),
                self._deprecations.of(name),
            )

    def _add_package(self, value: Mapping[str, Any]) -> None:
        package = catalog.package(value)
        self._packages.add(package.name, package)

    def _add_channel(self, value: Mapping[str, Any]) -> None:
        channel = catalog.channel(value)
        self._channels.add(channel.package, channel)

    def _add_bundle(self, value: Mapping[str, Any]) -> None:
        bundle = catalog.bundle(value)
        check_objects(bundle)
        self._bundles.add(bundle.package, check_bundle(bundle))

    def _add_deprecations(self, value: Mapping[str, Any]) -> None:
        deprecations = catalog.deprecations(value)
        self._deprecations.add(deprecations.package, deprecations)


@dataclass(frozen=True)
class _Numbered(Generic[Value]):
    """The blobs of one schema by package, numbered in the order of the catalog."""

    by_package: dict[str, list[tuple[int, Value]]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def add(self, package: str, value: Value) -> None:
        self.by_package.setdefault(package, []).append((next(self.numbers), value))

    def of(self, package: str) -> list[tuple[int, Value]]:
        return self.by_package.get(package, [])


def check_objects(bundle: Bundle) -> None:
    """Decode and parse the bundle's objects. Raises BadBlob `read bundle objects: …` for one that is not YAML as base64.

    Not part of catalog.bundle, because objects are most of the bytes of a catalog that has them. The part of the message about
    the YAML is not opm's.
    """
    for index, each in enumerate(bundle.properties):
        if each.type != BUNDLE_OBJECT:
            continue
        place = sprintf("read bundle objects: package %q, bundle %q: ", bundle.package, bundle.name)
        data = each.value.get("data") if isinstance(each.value, Mapping) else None
        text = decode_plain_base64(data) if isinstance(data, str) else None
        if text is None:
            if error := each.error():
                raise BadBlob(place + sprintf("parse property at index %d as bundle object: %s", index, error))
            text = decode_bytes(field_of(each.value or {}, "data"))
        if error := _object_error(text):
            raise BadBlob(place + sprintf("convert bundle object property at index %d to JSON: %s", index, error))


def _object_error(text: bytes) -> str:
    if text.lstrip().startswith(b"{"):
        return ""  # opm does not parse an object that begins like JSON, as nearly all do
    try:
        yaml_reader.load(text, CATALOG_YAML)
    except ParseError as error:
        return f"yaml: line {error.line}: {error.text}" if error.line else f"yaml: {error.text}"
    return ""
