"""The content of one catalog on disk.

    all.jsonl          the blobs, one per line (formats 1.3)
    index.json         the index of catalogd.ingest.blob_index
    packages.jsonl     the spec of each Package object, without the name of the catalog
    resolution.jsonl   the document of olmkit.fbc.resolution_document for each package
    summaries.json     the entries of catalogd.ingest.package_summaries, as one response
    icons              the icons of the packages, concatenated
    content.json       the summary, the packages that provide each kind, and byte ranges in the files above

Contains no name of a Catalog: the same image may be served under several names. Never writes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import orjson

from catalogd.ingest.blob_index import BlobIndex, ByteRange
from catalogd.ingest.catalog_summary import CatalogSummary
from catalogd.ingest.package_objects import ObjectFingerprint
from catalogd.ingest.summary_ranges import summary_ranges

CONTENT_FORMAT = 4
"""The version of all these files. Content of another format is loaded again."""
BLOBS_FILE, INDEX_FILE, PACKAGES_FILE, RESOLUTION_FILE, METADATA_FILE = (
    "all.jsonl",
    "index.json",
    "packages.jsonl",
    "resolution.jsonl",
    "content.json",
)
SUMMARIES_FILE, ICONS_FILE = "summaries.json", "icons"


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
        """The range of the package's icon in `icons_path`, and its media type as in the catalog; None without an icon."""
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
