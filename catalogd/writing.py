"""The blobs of a catalog, as they are read, to the files of catalogd.content.

Used by catalogd.loading in a job. Blobs pass through once and are not kept: what the resolver needs of bundles goes to a file
without a name, packages and channels are read again from what was written. Blobs that are not what their schema says cost their
own package only.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

import orjson

from catalogd import resolution
from catalogd.content import BLOBS, FACTS, INDEX, PACKAGES, RESOLUTION, Summary
from catalogd.index import Index, Range
from catalogd.specs import fingerprint, package_spec
from olmkit.fbc import catalog
from olmkit.fbc.blobs import Blob
from olmkit.fbc.errors import BadBlob

BUFFER = 1024 * 1024
PROBLEMS_KEPT = 100

Value = TypeVar("Value")


@dataclass(slots=True)
class _Package:
    """Which blobs speak of one package: numbers in the index, and ranges of bundle parts. A later one of a name counts."""

    blob: int | None = None
    channels: dict[str, int] = field(default_factory=dict)
    bundles: dict[str, Range] = field(default_factory=dict)
    deprecations: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class Writer:
    """Writes one catalog's files into `folder`; `catalog_digest` is what the resolution documents name it by."""

    def __init__(self, folder: Path, catalog_digest: str) -> None:
        self._folder = folder
        self._digest = catalog_digest
        self._blobs = open(folder / BLOBS, "w+b", buffering=BUFFER)  # noqa: SIM115 closed by __exit__
        self._parts = tempfile.TemporaryFile(dir=folder, buffering=BUFFER)  # noqa: SIM115 closed by __exit__
        self._index = Index()
        self._packages: dict[str, _Package] = {}
        self._problems: list[str] = []
        self._problem_count = 0
        self._notes: list[str] = []
        self._bundle_count = 0
        self._parts_size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts.close()
        self._blobs.close()

    def add(self, blob: Blob) -> None:
        """The next blob of the catalog."""
        self._blobs.write(blob.line)
        number = self._index.add(blob.schema, blob.package, blob.name, len(blob.line))
        match blob.schema:
            case catalog.PACKAGE if not blob.name:
                self._problem("config contains package with no name")
            case catalog.PACKAGE:
                package = self._package(blob.name)
                self._once(package.blob is not None, f'duplicate package "{blob.name}"')
                package.blob = number
            case catalog.CHANNEL:
                package = self._package(blob.package)
                self._once(
                    blob.name in package.channels, f'package "{blob.package}" has duplicate channel "{blob.name}"'
                )
                package.channels[blob.name] = number
            case catalog.BUNDLE:
                self._bundle_count += 1
                self._add_bundle(blob, self._package(blob.package))
            case catalog.DEPRECATIONS:
                self._package(blob.package).deprecations.append(number)

    def _package(self, name: str) -> _Package:
        return self._packages.setdefault(name, _Package())

    def _once(self, is_duplicate: bool, sentence: str) -> None:
        if is_duplicate:
            self._problem(sentence)

    def _problem(self, sentence: str) -> None:
        self._problem_count += 1
        if len(self._problems) < PROBLEMS_KEPT:
            self._problems.append(sentence)

    def _add_bundle(self, blob: Blob, package: _Package) -> None:
        self._once(blob.name in package.bundles, f'package "{blob.package}" has duplicate bundle "{blob.name}"')
        try:
            part = resolution.bundle_part(catalog.bundle(blob.value))
        except BadBlob as error:
            part = resolution.bad_bundle_part(blob.name, str(error))
        if "problem" in part:
            self._problem(part["problem"])
        data = orjson.dumps(part)
        self._parts.write(data)
        package.bundles[blob.name] = (self._parts_size, len(data))
        self._parts_size += len(data)

    def finish(self) -> Summary:
        """Write what could not be written before all blobs were known. Nothing may be added afterwards."""
        specs, documents = [], []
        specs_size = documents_size = 0
        with (
            open(self._folder / PACKAGES, "wb", buffering=BUFFER) as specs_file,
            open(self._folder / RESOLUTION, "wb", buffering=BUFFER) as documents_file,
        ):
            for name in sorted(self._packages):
                parts = self._read(name, self._packages[name])
                if not name:
                    continue  # nobody can ask for it; that it has blobs has been said
                document = resolution.document(parts, self._digest)
                documents.append((name, documents_size, len(document)))
                documents_size += documents_file.write(document)
                if parts.package is not None:
                    spec, left_out = package_spec(parts.package, parts.channels)
                    if left_out:
                        self._notes.append(f'the Package of "{name}" is too large and does without {left_out}')
                    line = orjson.dumps(spec, option=orjson.OPT_APPEND_NEWLINE)
                    specs.append((name, fingerprint(spec), specs_size, len(line)))
                    specs_size += specs_file.write(line)
        summary = Summary(
            tuple(name for name, *_ in specs),
            self._bundle_count,
            len(self._index),
            self._problem_count,
            tuple(self._problems),
            tuple(self._notes),
        )
        self._blobs.flush()
        (self._folder / INDEX).write_bytes(self._index.dump())
        facts = {"summary": summary.to_json(), "packages": specs, "resolution": documents}
        (self._folder / FACTS).write_bytes(orjson.dumps(facts))
        return summary

    def _read(self, name: str, package: _Package) -> resolution.Parts:
        """A package's blobs as values; those that cannot be read become faults."""
        self._blobs.flush()
        self._parts.flush()
        faults: list[str] = []
        channels = [self._value(number, catalog.channel, faults) for number in package.channels.values()]
        deprecations = [self._value(number, catalog.deprecations, faults) for number in package.deprecations]
        described = None if package.blob is None else self._value(package.blob, catalog.package, faults)
        for fault in faults:
            self._problem(fault)
        if package.blob is None:
            faults.append(f'unknown package "{name}"')
            self._unknown(name, package)
        return resolution.Parts(
            name,
            described,
            [each for each in channels if each is not None],
            [orjson.loads(_at(self._parts, place)) for place in package.bundles.values()],
            [each for each in deprecations if each is not None],
            faults,
        )

    def _unknown(self, name: str, package: _Package) -> None:
        for channel in package.channels:
            self._problem(f'unknown package "{name}" for channel "{channel}"')
        for bundle in package.bundles:
            if name:
                self._problem(f'unknown package "{name}" for bundle "{bundle}"')
            else:
                self._problem(f'package name must be set for bundle "{bundle}"')

    def _value(self, number: int, read: Callable[[Mapping[str, Any]], Value], faults: list[str]) -> Value | None:
        try:
            return read(orjson.loads(_at(self._blobs, self._index.range(number))))
        except BadBlob as error:
            faults.append(str(error))
            return None


def _at(file: IO[bytes], place: Range) -> bytes:
    start, length = place
    return os.pread(file.fileno(), length, start)
