"""Derives from all blobs of a package its Package object, resolution document, summary, manifest and icon, and checks it.

Processes one package at a time: memory does not grow with the catalog. Invalid blobs affect their own package only.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import orjson

from catalogd.ingest.catalog_summary import CatalogSummary
from catalogd.ingest.content import (
    ICONS_FILE,
    MANIFESTS_FILE,
    PACKAGES_FILE,
    RESOLUTION_FILE,
    SUMMARIES_END,
    SUMMARIES_FILE,
    SUMMARIES_SEPARATOR,
    SUMMARIES_START,
    BlobIndex,
)
from catalogd.ingest.package_manifests import manifest_status
from catalogd.ingest.package_objects import fingerprint, object_body, package_columns, package_spec
from catalogd.ingest.package_summaries import ChannelHead, channel_head, package_summary
from catalogd.ingest.yaml_expansion_limit import ExpansionLimit
from olmkit.fbc import catalog, resolution_document
from olmkit.fbc.catalog import Channel, Deprecations, Package
from olmkit.fbc.checks import package_check
from olmkit.fbc.errors import BadBlob, BadCatalog
from olmkit.fbc.icon_types import MAX_ICON_BYTES, icon_type
from olmkit.sources.errors import quoted

WRITE_BUFFER_BYTES = 1024 * 1024
MAX_PROBLEMS = 100
"""The most messages about problems that are kept."""
MAX_PROBLEM_LENGTH = 500
"""Messages are truncated to this length: one may contain all names of a catalog."""

MAX_PACKAGES = 10_000
"""The most packages of one catalog: each is an object of the cluster. The largest public catalogs have 400."""
MAX_BLOBS_PER_PACKAGE = 20_000
"""The most blobs of one package, which are in memory together; larger packages are not read. The largest public packages have
500."""

MAX_NAME_LENGTH = 253
"""The most characters of the name of a package, channel or bundle, and of a version. They are recorded in statuses, annotations
and labels of metrics, which all have limits; names of objects have this one."""

MAX_QUOTED_NAME_LENGTH = 100
"""Names in messages are truncated to this length."""

Value = TypeVar("Value")


class BlobReader(Protocol):
    """Reads the blobs of a catalog by their numbers, in its order."""

    index: BlobIndex

    def value(self, number: int) -> Any:
        """Read a blob."""
        ...

    def bundle_part(self, number: int) -> Any:
        """The part of a bundle that was kept: see SerializedBlob.part."""
        ...


@dataclass(slots=True)
class _BlobNumbers:
    """The numbers of the blobs of one package, by schema."""

    by_schema: dict[str, array[int]] = field(
        default_factory=lambda: {
            each: array("Q") for each in (catalog.PACKAGE, catalog.CHANNEL, catalog.BUNDLE, catalog.DEPRECATIONS)
        }
    )

    @property
    def count(self) -> int:
        return sum(map(len, self.by_schema.values()))


@dataclass(slots=True)
class _Package:
    """The valid blobs of one package with their numbers, and messages about the invalid ones."""

    name: str
    packages: list[tuple[int, Package]]
    channels: list[tuple[int, Channel]]
    deprecations: list[tuple[int, Deprecations]]
    bundles: list[tuple[int, Any]]
    errors: list[tuple[int, str]]

    def parts(self) -> package_check.PackageBlobs:
        """The input of the package check."""
        bundles = [
            (number, package_check.CheckedBundle.from_json(part)) for number, (_, part, _) in self.bundles if part
        ]
        return package_check.PackageBlobs(
            self.name, self.packages, self.channels, bundles, self.deprecations, sorted(self.errors)
        )

    def last_channels(self) -> list[Channel]:
        """The channels without duplicates: the last one of a name, in the position of the first."""
        return list({channel.name: channel for _, channel in self.channels}.values())

    def last_bundles(self) -> dict[str, tuple[int, Any]]:
        """The same for bundles: number and resolution part by name."""
        return {part["name"]: (number, part) for number, (part, _, _) in self.bundles}

    def long_name(self) -> str:
        """The first name of more than MAX_NAME_LENGTH characters, as a noun phrase; "" if there is none."""
        names = [("name", self.name), *(("channel", each.name) for _, each in self.channels)]
        for _, (part, *_) in self.bundles:
            names += [("bundle", part["name"]), ("version", str(part.get("version", "")))]
        for what, name in names:
            if len(name) > MAX_NAME_LENGTH:
                shown = quoted(name, MAX_QUOTED_NAME_LENGTH)
                return f"a {what} of {len(name):,} characters ({shown}), and {MAX_NAME_LENGTH} is the limit"
        return ""


class PackageIndexWriter:
    """Writes the derived files of one content into `directory`, and collects the summary of the catalog.

    Methods raise BadCatalog when the catalog exceeds a limit; `expansion` limits the bytes.
    """

    def __init__(self, directory: Path, catalog_digest: str, blobs: BlobReader, expansion: ExpansionLimit) -> None:
        self._directory = directory
        self._expansion = expansion
        self._digest = catalog_digest
        self._blobs = blobs
        self._problems: list[str] = []
        self._problem_count = 0
        self._notes: list[str] = []
        self._specs: list[tuple[str, str, int, int]] = []
        self._documents: list[tuple[str, int, int]] = []
        self._icons: dict[str, tuple[int, int, str]] = {}
        self._manifests: list[tuple[str, int, int]] = []
        self._providers: dict[str, list[str]] = {}
        self._bundle_count = 0
        self._too_large: set[str] = set()
        """The packages of more than MAX_BLOBS_PER_PACKAGE blobs, whose blobs are not read."""

    def write(self) -> dict[str, Any]:
        """Write all files. Returns the byte ranges in them for content.json."""
        packages = self._packages()
        with ExitStack() as stack:
            specs, documents, icons, summaries, manifests = (
                stack.enter_context(open(self._directory / name, "wb", buffering=WRITE_BUFFER_BYTES))
                for name in (PACKAGES_FILE, RESOLUTION_FILE, ICONS_FILE, SUMMARIES_FILE, MANIFESTS_FILE)
            )
            summaries.write(SUMMARIES_START)
            for name in sorted({*packages, *self._too_large}):
                if name in self._too_large:
                    limit = f"it has more than {MAX_BLOBS_PER_PACKAGE:,} blobs, which is the limit"
                    self._write_refusal(name, f"{limit}; ask its publisher to remove old entries", documents)
                    continue
                package = self._read(name, packages[name])
                self._check(package)
                if long_name := package.long_name():
                    self._keep_refusal(name, f"has {long_name}")
                    self._write_refusal(name, f"it has {long_name}; ask its publisher for a shorter one", documents)
                elif name:  # blobs without a package are reported by the check
                    self._write_document(package, documents)
                    self._write_package(package, specs, icons, summaries)
                    self._write_manifest(package, manifests)
            summaries.write(SUMMARIES_END)
        ranges = {"packages": self._specs, "resolution": self._documents, "icons": self._icons}
        return {**ranges, "manifests": self._manifests, "provides": self._providers}

    def summary(self, notes: Iterable[str] = ()) -> CatalogSummary:
        """The summary; call it after `write`."""
        return CatalogSummary(
            tuple(name for name, *_ in self._specs),
            self._bundle_count,
            len(self._blobs.index),
            self._problem_count,
            tuple(self._problems),
            (*self._notes, *notes),
        )

    def _packages(self) -> dict[str, _BlobNumbers]:
        found: dict[str, _BlobNumbers] = {}
        for number, (schema, package, name) in enumerate(self._blobs.index.envelopes()):
            if schema == catalog.PACKAGE:
                found.setdefault(name, _BlobNumbers()).by_schema[schema].append(number)
            elif schema in (catalog.CHANNEL, catalog.BUNDLE, catalog.DEPRECATIONS):
                found.setdefault(package, _BlobNumbers()).by_schema[schema].append(number)
                self._bundle_count += schema == catalog.BUNDLE
            if len(found) > MAX_PACKAGES:
                raise BadCatalog(f"the catalog holds more than {MAX_PACKAGES:,} packages")
        for name in [each for each, numbers in found.items() if numbers.count > MAX_BLOBS_PER_PACKAGE]:
            del found[name]
            self._too_large.update([name] if name else [])
            self._keep_refusal(name, f"has more than {MAX_BLOBS_PER_PACKAGE:,} blobs", "they")
        return found

    def _read(self, name: str, numbers: _BlobNumbers) -> _Package:
        """Parse the blobs of a package."""
        errors: list[tuple[int, str]] = []
        bundles = [(number, self._blobs.bundle_part(number)) for number in numbers.by_schema[catalog.BUNDLE]]
        errors.extend((number, error) for number, (_, _, error) in bundles if error)
        return _Package(
            name,
            self._values(numbers.by_schema[catalog.PACKAGE], catalog.package, errors),
            self._values(numbers.by_schema[catalog.CHANNEL], catalog.channel, errors),
            self._values(numbers.by_schema[catalog.DEPRECATIONS], catalog.deprecations, errors),
            bundles,
            errors,
        )

    def _values(
        self, numbers: Iterable[int], read: Callable[[Mapping[str, Any]], Value], errors: list[tuple[int, str]]
    ) -> list[tuple[int, Value]]:
        found = []
        for number in numbers:
            try:
                found.append((number, read(self._blobs.value(number))))
            except BadBlob as error:
                errors.append((number, str(error)))
        return found

    def _check(self, package: _Package) -> None:
        check = package_check.check_package(package.parts())
        self._problem_count += check.count
        if check.count and len(self._problems) < MAX_PROBLEMS:
            for message in check.sentences():
                self._keep_problem(message)
                if len(self._problems) == MAX_PROBLEMS:
                    break

    def _keep_refusal(self, name: str, what: str, blobs: str = "its blobs") -> None:
        """Count the problem of a package that is served and cannot be installed."""
        self._problem_count += 1
        shown = quoted(name, MAX_QUOTED_NAME_LENGTH)
        self._keep_problem(f"package {shown} {what}: {blobs} are served unchanged, and none of them can be installed")

    def _keep_problem(self, message: str) -> None:
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(message if len(message) <= MAX_PROBLEM_LENGTH else f"{message[:MAX_PROBLEM_LENGTH]}…")

    def _write_document(self, package: _Package, file: IO[bytes]) -> None:
        errors = [error for number, error in sorted(package.errors) if not self._is_bundle(package, number)]
        if not package.packages:
            errors.append(f'unknown package "{package.name}"')
        parts = resolution_document.ResolutionBlobs(
            package.name,
            package.packages[-1][1] if package.packages else None,
            package.last_channels(),
            [part for _, part in package.last_bundles().values()],
            [each for _, each in package.deprecations],
            errors,
        )
        document = resolution_document.build_document(parts, self._digest)
        for kind in sorted(resolution_document.provided_kinds(document)):
            self._providers.setdefault(kind, []).append(package.name)
        self._add_document(package.name, document, file)

    def _write_refusal(self, name: str, limit: str, file: IO[bytes]) -> None:
        self._add_document(name, resolution_document.build_refusal(name, limit, self._digest), file)

    def _add_document(self, name: str, document: bytes, file: IO[bytes]) -> None:
        self._documents.append((name, file.tell(), len(document)))
        self._expansion.count_written(len(document))
        file.write(document)

    @staticmethod
    def _is_bundle(package: _Package, number: int) -> bool:
        return any(number == each for each, _ in package.bundles)

    def _write_package(self, package: _Package, specs: IO[bytes], icons: IO[bytes], summaries: IO[bytes]) -> None:
        if not package.packages:
            return
        described, channels = package.packages[-1][1], package.last_channels()
        spec, left_out = package_spec(described, channels)
        if left_out:
            self._notes.append(
                f"the Package of {quoted(package.name, MAX_QUOTED_NAME_LENGTH)} is too large and does without {left_out}"
            )
        bundles = package.last_bundles()
        versions = {name: str(part.get("version", "")) for name, (_, part) in bundles.items()}
        heads = {channel.name: _head(channel, versions) for channel in channels}
        newest = heads.get(described.default_channel)
        body = object_body(spec, package_columns(channels, newest.version if newest else "", versions))
        line = orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)
        if self._specs:
            summaries.write(SUMMARIES_SEPARATOR)
        self._specs.append((package.name, fingerprint(body), specs.tell(), len(line)))
        self._expansion.count_written(len(line))
        specs.write(line)
        deprecations = [each for _, each in package.deprecations]
        bundle = self._bundle(bundles.get(newest.name) if newest else None)
        has_icon = self._write_icon(described, icons)
        summary = orjson.dumps(package_summary(described, heads, deprecations, bundle, has_icon=has_icon))
        self._expansion.count_written(len(summary))
        summaries.write(summary)

    def _write_icon(self, package: Package, file: IO[bytes]) -> bool:
        data, _ = package.icon or ("", "")
        try:
            icon = base64.b64decode(data)
        except ValueError:
            return False
        if not icon or len(icon) > MAX_ICON_BYTES:
            return False
        self._expansion.count_written(len(icon))
        self._icons[package.name] = (file.tell(), file.write(icon), icon_type(icon))
        return True

    def _write_manifest(self, package: _Package, file: IO[bytes]) -> None:
        if not package.packages:
            return
        channels, bundles, read = package.last_channels(), package.last_bundles(), dict[str, catalog.Bundle | None]()
        heads: dict[str, tuple[str, catalog.Bundle | None]] = {}
        versions = {name: str(part.get("version", "")) for name, (_, part) in bundles.items()}
        for channel in channels:
            name = channel_head(channel, versions)
            if name not in read:  # channels often have the same head
                read[name] = self._bundle(bundles.get(name))
            heads[channel.name] = name, read[name]
        deprecations = [each for _, each in package.deprecations]
        status = manifest_status(package.packages[-1][1], channels, heads, versions, deprecations)
        self._expansion.count_written(len(status) + 1)
        self._manifests.append((package.name, file.tell(), len(status)))
        file.write(status + b"\n")

    def _bundle(self, found: tuple[int, Any] | None) -> catalog.Bundle | None:
        if found is None:
            return None
        try:
            return catalog.bundle(self._blobs.value(found[0]))
        except BadBlob:
            return None


def _head(channel: Channel, versions: Mapping[str, str]) -> ChannelHead | None:
    name = channel_head(channel, versions)
    return ChannelHead(name, versions.get(name, "")) if name else None
