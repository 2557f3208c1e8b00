"""The content of one catalog on disk, as catalogd.ingest.content_writer leaves it and the server and the reconciler read it.

    all.jsonl          the blobs, one per line (formats 1.3)
    index.json         catalogd.ingest.blob_index: where they lie
    packages.jsonl     per package the spec of its Package object, without the catalog's name
    resolution.jsonl   per package the document of catalogd.ingest.resolution_document
    summaries.json     the lines of catalogd.ingest.package_summaries, as one answer
    icons              the pictures of the packages, one after the other
    bundles.jsonl      per bundle the spec of its BundleMetadata object, without the catalog's name; only if that was asked for
    content.json       what there is in all, which packages provide a kind, and where the parts of the files above lie

Names no Catalog: the same image may be served under several names. Never writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from catalogd.ingest.blob_index import BlobIndex, ByteRange
from catalogd.ingest.catalog_summary import CatalogSummary
from catalogd.ingest.package_objects import ObjectFingerprint

CONTENT_FORMAT = 3
"""Of the files above, all together. Content of another format is read again."""
BLOBS_FILE, INDEX_FILE, PACKAGES_FILE, RESOLUTION_FILE, METADATA_FILE = (
    "all.jsonl",
    "index.json",
    "packages.jsonl",
    "resolution.jsonl",
    "content.json",
)
SUMMARIES_FILE, ICONS_FILE, BUNDLES_FILE = "summaries.json", "icons", "bundles.jsonl"


class Content:
    """A folder of content, opened: indexes in memory, the rest on disk.

    Raises OSError, ValueError and LookupError when it is not whole, and LookupError for content of another format.
    """

    def __init__(self, folder: Path) -> None:
        self._facts = folder / METADATA_FILE
        self._opened_as = _identity(self._facts)
        facts = orjson.loads(self._facts.read_bytes())
        if facts.get("format") != CONTENT_FORMAT:
            raise LookupError("it was written by another version")
        self.index = BlobIndex.load((folder / INDEX_FILE).read_bytes())
        self.summary = CatalogSummary.from_json(facts["summary"])
        self.blobs_path = folder / BLOBS_FILE
        self.resolution_path = folder / RESOLUTION_FILE
        self.summaries_path = folder / SUMMARIES_FILE
        self.icons_path = folder / ICONS_FILE
        self.package_fingerprints = tuple(
            ObjectFingerprint(package, fingerprint) for package, fingerprint, _, _ in facts["packages"]
        )
        self._packages = _Lines(folder / PACKAGES_FILE, facts["packages"])
        self.has_bundle_metadata = facts["bundles"] is not None
        self.bundle_fingerprints = tuple(
            ObjectFingerprint(subject, fingerprint) for subject, fingerprint, _, _ in facts["bundles"] or ()
        )
        self._bundles = _Lines(folder / BUNDLES_FILE, facts["bundles"] or ())
        self._documents: dict[str, ByteRange] = {
            package: (start, length) for package, start, length in facts["resolution"]
        }
        self._providers: dict[str, list[str]] = facts["provides"]
        self._icons: dict[str, tuple[ByteRange, str]] = {
            package: ((start, length), media_type) for package, (start, length, media_type) in facts["icons"].items()
        }

    def is_current(self) -> bool:
        """Whether the folder is still the one that was opened: the same digest may have been written again, with more in it."""
        try:
            return _identity(self._facts) == self._opened_as
        except OSError:
            return False

    def resolution_range(self, package: str) -> ByteRange | None:
        """Where in `resolutions` the document of a package lies; None for a package that no blob names."""
        return self._documents.get(package)

    @property
    def resolution_packages(self) -> Iterable[str]:
        """The packages that have a resolution document, sorted."""
        return self._documents.keys()

    def providers(self, kind: str) -> Sequence[str]:
        """The packages of which a bundle provides a `<group>/<kind>`, sorted."""
        return self._providers.get(kind, ())

    def icon_range(self, package: str) -> tuple[ByteRange, str] | None:
        """Where in `icons` the picture of a package lies, and its media type as the catalog has it; None without one."""
        return self._icons.get(package)

    def package_object(self, package: str) -> dict[str, Any]:
        """What a package's object says (see specs.said). Reads the disk. Raises KeyError for one that is not offered."""
        return self._packages.read(package)

    def bundle_object(self, subject: str) -> dict[str, Any]:
        """The same of a bundle's object; `subject` is `<package>/<bundle>`, as bundle_offers has it."""
        return self._bundles.read(subject)


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


class _Lines:
    """JSON lines of a file, by name."""

    def __init__(self, path: Path, places: Any) -> None:
        self._path = path
        self._places: dict[str, ByteRange] = {name: (start, length) for name, _, start, length in places}

    def read(self, name: str) -> dict[str, Any]:
        start, length = self._places[name]
        with open(self._path, "rb", buffering=0) as file:
            file.seek(start)
            value: dict[str, Any] = orjson.loads(file.read(length))
            return value
