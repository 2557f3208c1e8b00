"""The content of one catalog on disk, and the indexes that locate its blobs, documents, summaries and icons in these files.

    all.jsonl          the blobs, one per line (formats 1.3)
    index.json         BlobIndex
    packages.jsonl     the spec of each Package object, without the name of the catalog
    resolution.jsonl   the document of olmkit.fbc.resolution_document for each package
    summaries.json     the entries of catalogd.ingest.package_summaries, as one response
    icons              the icons of the packages, concatenated
    manifests.jsonl    catalogd.ingest.package_manifests of each package
    content.json       the summary, the packages that provide each kind, and byte ranges in the files above

Contains no name of a Catalog: the same image may be served under several names. Never writes. The process that serves catalogs
imports this module, so it imports no parser of catalogs.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import sub
from pathlib import Path
from typing import Any

import orjson

from catalogd.ingest.catalog_summary import CatalogSummary
from catalogd.ingest.package_objects import ObjectFingerprint
from olmkit.fbc.schemas import PACKAGE

CONTENT_FORMAT = 6
"""The version of all these files. Content of another format is loaded again."""
BLOBS_FILE, INDEX_FILE, PACKAGES_FILE, RESOLUTION_FILE, METADATA_FILE = (
    "all.jsonl",
    "index.json",
    "packages.jsonl",
    "resolution.jsonl",
    "content.json",
)
SUMMARIES_FILE, ICONS_FILE, MANIFESTS_FILE = "summaries.json", "icons", "manifests.jsonl"
SUMMARIES_START, SUMMARIES_SEPARATOR, SUMMARIES_END = b'{"packages":[', b",", b"]}\n"
"""The bytes before, between and after the summaries in their document."""

_Numbers = dict[int, "array[int]"]
ByteRange = tuple[int, int]
"""Offset and length in bytes."""


class Content:
    """The opened content of a directory: indexes in memory, the rest on disk.

    Raises OSError, ValueError and LookupError when it is incomplete or invalid, and LookupError when it has another format.
    """

    def __init__(self, directory: Path) -> None:
        self._metadata_path = directory / METADATA_FILE
        self._opened_as = _identity(self._metadata_path)
        metadata = orjson.loads(self._metadata_path.read_bytes())
        if metadata.get("format") != CONTENT_FORMAT:
            raise LookupError("it has another format")
        self.index = BlobIndex.load((directory / INDEX_FILE).read_bytes())
        self.summary = CatalogSummary.from_json(metadata["summary"])
        self.blobs_path = directory / BLOBS_FILE
        self.resolution_path = directory / RESOLUTION_FILE
        self.summaries_path = directory / SUMMARIES_FILE
        self._summaries = summary_ranges(self.summaries_path.read_bytes())
        self.icons_path = directory / ICONS_FILE
        self.package_fingerprints = tuple(
            ObjectFingerprint(package, fingerprint) for package, fingerprint, _, _ in metadata["packages"]
        )
        self._packages = _Lines(directory / PACKAGES_FILE, metadata["packages"])
        self._documents: dict[str, ByteRange] = {
            package: (start, length) for package, start, length in metadata["resolution"]
        }
        self._providers: dict[str, list[str]] = metadata["provides"]
        self.manifests_path = directory / MANIFESTS_FILE
        self.manifest_ranges: Mapping[str, ByteRange] = {
            package: (start, length) for package, start, length in metadata["manifests"]
        }
        """The range of the manifest of each package in the file `manifests_path`, sorted by package."""
        self._icons: dict[str, tuple[ByteRange, str]] = {
            package: ((start, length), media_type) for package, (start, length, media_type) in metadata["icons"].items()
        }

    def is_current(self) -> bool:
        """Report whether the directory is still the one that was opened. The same digest may have been loaded again, with more
        data."""
        try:
            return _identity(self._metadata_path) == self._opened_as
        except OSError:
            return False

    def resolution_range(self, package: str) -> ByteRange | None:
        """The range of the package's document in the file `resolution_path`; None for an unknown package."""
        return self._documents.get(package)

    def resolution_ranges(self, packages: Collection[str]) -> Sequence[ByteRange]:
        """The ranges of the documents of these packages, as far as they exist, in the order of the file."""
        return [found for package, found in self._documents.items() if package in packages]

    def summary_ranges(self, packages: Collection[str]) -> Sequence[ByteRange]:
        """The ranges of `summaries_path` that together are the document with the summaries of these packages alone."""
        return self._summaries.of_packages(packages)

    def providers(self, kind: str) -> Sequence[str]:
        """The packages with a bundle that provides this `<group>/<kind>`, sorted."""
        return self._providers.get(kind, ())

    def icon_range(self, package: str) -> tuple[ByteRange, str] | None:
        """The range of the package's icon in `icons_path`, and its media type, "" if it is no image; None without an icon."""
        return self._icons.get(package)

    def package_object(self, package: str) -> dict[str, Any]:
        """The body of a Package object (see package_objects.object_body). Reads the disk. Raises KeyError for an unknown
        package."""
        return self._packages.read(package)


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


class _Lines:
    """Reads single lines of a JSON lines file, by name."""

    def __init__(self, path: Path, ranges: Any) -> None:
        self._path = path
        self._ranges: dict[str, ByteRange] = {name: (start, length) for name, _, start, length in ranges}

    def read(self, name: str) -> dict[str, Any]:
        start, length = self._ranges[name]
        with open(self._path, "rb", buffering=0) as file:
            file.seek(start)
            value: dict[str, Any] = orjson.loads(file.read(length))
            return value


class BlobIndex:
    """The index of the blobs: the byte range of each in its file, by schema, package and name.

    Blobs are contiguous from the start of the file. Holds no blob and opens no file: it is given lengths and returns ranges.
    Results are in the order of the file.
    """

    def __init__(self) -> None:
        self._texts: dict[str, int] = {"": 0}
        self._schema, self._package, self._name = array("L"), array("L"), array("L")
        self._start = array("Q", [0])
        self._by: tuple[_Numbers, _Numbers, _Numbers] | None = None

    def __len__(self) -> int:
        return len(self._schema)

    @property
    def size(self) -> int:
        """The number of bytes of all blobs."""
        return self._start[-1]

    def add(self, schema: str, package: str, name: str, length: int) -> int:
        """Add the next blob of the file. Returns its number, starting at 0."""
        number = len(self)
        self._schema.append(self._number(schema))
        self._package.append(self._number(package))
        self._name.append(self._number(name))
        self._start.append(self._start[-1] + length)
        self._by = None
        return number

    def find(self, schema: str = "", package: str = "", name: str = "") -> Sequence[int]:
        """The numbers of the blobs that match all arguments, in order; "" matches everything.

        The olm.package blob of a package belongs to it, although its envelope names no package (trap 14).
        """
        query = _Query(*(self._texts.get(text, -1) for text in (schema, package, name)))
        if -1 in (query.schema, query.package, query.name):
            return ()
        candidates = self._candidates(query)
        return candidates if candidates is not None else range(len(self))

    def envelopes(self) -> Iterator[tuple[str, str, str]]:
        """Schema, package and name of every blob, in order."""
        texts = list(self._texts)
        for schema, package, name in zip(self._schema, self._package, self._name, strict=True):
            yield texts[schema], texts[package], texts[name]

    def reordered(self, numbers: Iterable[int]) -> BlobIndex:
        """The index of a file that contains the blobs with these numbers, in this order; numbers may be repeated."""
        texts, other = list(self._texts), BlobIndex()
        for number in numbers:
            schema, package, name = (texts[column[number]] for column in (self._schema, self._package, self._name))
            other.add(schema, package, name, self.byte_range(number)[1])
        return other

    def byte_range(self, number: int) -> ByteRange:
        """The byte range of one blob."""
        return self._start[number], self._start[number + 1] - self._start[number]

    def byte_ranges(self, numbers: Iterable[int]) -> list[ByteRange]:
        """The byte ranges of blobs; adjacent ones are merged."""
        found: list[ByteRange] = []
        for number in numbers:
            start, length = self.byte_range(number)
            if found and sum(found[-1]) == start:
                found[-1] = (found[-1][0], found[-1][1] + length)
            else:
                found.append((start, length))
        return found

    def dump(self) -> bytes:
        """Encode as JSON: each string once, and per blob the numbers of its three strings and its length."""
        lengths = array("Q", map(sub, islice(self._start, 1, None), self._start))
        columns = {"schema": self._schema, "package": self._package, "name": self._name, "length": lengths}
        parts = [b'{"texts":', orjson.dumps(list(self._texts))]
        for key, column in columns.items():  # one at a time: a list of numbers takes five times the memory of the array
            parts += [f',"{key}":'.encode(), orjson.dumps(column.tolist())]
        return b"".join((*parts, b"}"))

    @classmethod
    def load(cls, data: bytes) -> BlobIndex:
        """Decode the output of dump()."""
        stored: dict[str, Any] = orjson.loads(data)
        index, texts = cls(), stored["texts"]
        for text in texts:
            index._number(text)
        for schema, package, name, length in zip(
            stored["schema"], stored["package"], stored["name"], stored["length"], strict=True
        ):
            index.add(texts[schema], texts[package], texts[name], length)
        return index

    def _lists(self) -> tuple[_Numbers, _Numbers, _Numbers]:
        """The numbers of blobs by schema, package and name. Built on first use, since writers do not query."""
        if self._by is None:
            self._by = _by_text(self._schema), _by_text(self._package), _by_text(self._name)
        return self._by

    def _number(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _candidates(self, query: _Query) -> list[int] | None:
        """The matches among the smallest list that contains all of them; None when the query is empty."""
        lists: list[Sequence[int]] = []
        by_schema, _, by_name = self._lists()
        if query.schema:
            lists.append(by_schema.get(query.schema, ()))
        if query.name:
            lists.append(by_name.get(query.name, ()))
        if query.package:
            lists.append(self._of_package(query.package))
        if not lists:
            return None
        return [number for number in min(lists, key=len) if self._matches(number, query)]

    def _of_package(self, package: int) -> array[int]:
        _, by_package, by_name = self._lists()
        own = [n for n in by_name.get(package, ()) if self._is_package_blob(n) and self._package[n] != package]
        return array("L", sorted([*own, *by_package.get(package, ())]))

    def _matches(self, number: int, query: _Query) -> bool:
        return (
            (not query.schema or self._schema[number] == query.schema)
            and (not query.name or self._name[number] == query.name)
            and (
                not query.package
                or self._package[number] == query.package
                or (self._name[number] == query.package and self._is_package_blob(number))
            )
        )

    def _is_package_blob(self, number: int) -> bool:
        return self._schema[number] == self._texts.get(PACKAGE, -1)


def _by_text(texts: Iterable[int]) -> _Numbers:
    found: dict[int, array[int]] = {}
    for number, text in enumerate(texts):
        numbers = found.get(text)
        if numbers is None:
            numbers = found[text] = array("L")
        numbers.append(number)
    return found


@dataclass(frozen=True, slots=True)
class _Query:
    """The numbers of the queried strings; 0 (the empty string) matches everything, -1 nothing."""

    schema: int
    package: int
    name: int


@dataclass(frozen=True)
class SummaryRanges:
    """The range of each package in the document of all summaries, in its order; `size` is that of the document."""

    by_package: Mapping[str, ByteRange]
    size: int

    def of_packages(self, packages: Collection[str]) -> Sequence[ByteRange]:
        """The ranges that together are the document with these packages alone."""
        selected = [found for package, found in self.by_package.items() if package in packages]
        ranges = [(0, len(SUMMARIES_START)), *selected[:1]]
        separator = len(SUMMARIES_SEPARATOR)  # each but the first of the document is preceded by one
        ranges += [(start - separator, length + separator) for start, length in selected[1:]]
        return [*ranges, (self.size - len(SUMMARIES_END), len(SUMMARIES_END))]


def summary_ranges(document: bytes) -> SummaryRanges:
    """Find the summaries in the document that catalogd.ingest.package_index writes. Raises ValueError for any other one."""
    ranges: dict[str, ByteRange] = {}
    position = len(SUMMARIES_START)
    for summary in orjson.loads(document)["packages"]:
        length = len(orjson.dumps(summary))  # the bytes that were written
        ranges[summary["name"]] = position, length
        position += length + len(SUMMARIES_SEPARATOR)
    end = position - len(SUMMARIES_SEPARATOR) if ranges else position
    if document[: len(SUMMARIES_START)] != SUMMARIES_START or document[end:] != SUMMARIES_END:
        raise ValueError("the summaries of its packages have another format")
    return SummaryRanges(ranges, len(document))
