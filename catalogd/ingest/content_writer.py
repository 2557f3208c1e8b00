"""The blobs of a catalog, as they are read, to the files of catalogd.ingest.content.

Used by catalogd.ingest.load_job in a job. Blobs pass through once and are not kept: what is needed of a bundle later goes to
a file without a name, packages and channels are read again from what was written. What is made of each blob is
catalogd.ingest.serialized_blobs', what is derived from all blobs of a package catalogd.ingest.package_index's.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from catalogd.ingest.blob_index import BlobIndex
from catalogd.ingest.catalog_summary import CatalogSummary
from catalogd.ingest.content import BLOBS_FILE, BUNDLES_FILE, CONTENT_FORMAT, INDEX_FILE, METADATA_FILE
from catalogd.ingest.expansion_limit import ExpansionLimit
from catalogd.ingest.hashing_writer import HashingWriter
from catalogd.ingest.package_index import BlobReader, PackageIndexWriter
from catalogd.ingest.serialized_blobs import SerializedBlob, serialize_blob
from olmkit.fbc.blobs import Blob
from olmkit.fbc.errors import BadCatalog
from olmkit.store.checksums import FileChecksums

WRITE_BUFFER_BYTES = 1024 * 1024
COPY_CHUNK_BYTES = 1024 * 1024
MAX_BLOBS = 300_000
"""Blobs of one catalog: whoever serves it keeps the place of each in memory. The largest public catalogs have 20,000."""
MAX_NAMES_LENGTH = 32 * 1024 * 1024
"""Characters of the schemas, packages and names of all blobs, which are kept with the places."""
_UNORDERED = "all.unordered"


class ContentWriter:
    """Writes one catalog's files into `folder`; `catalog_digest` is what the resolution documents name it by.

    `bundle_metadata`: also what BundleMetadata objects say. `expansion` counts what is written, all files together; without it
    nothing is too much. `hashed` is filled by `finish` with the files that need not be read again to know what they hold.
    """

    def __init__(
        self,
        folder: Path,
        catalog_digest: str,
        *,
        bundle_metadata: bool = False,
        expansion: ExpansionLimit | None = None,
    ) -> None:
        self.checksums: dict[str, FileChecksums] = {}
        self.expansion = expansion or ExpansionLimit(limited=False)
        self.bundle_metadata = bundle_metadata
        self._folder = folder
        self._digest = catalog_digest
        self._blobs = HashingWriter(folder / BLOBS_FILE)
        self._parts = tempfile.TemporaryFile(dir=folder, buffering=WRITE_BUFFER_BYTES)  # noqa: SIM115 closed by __exit__
        self._bundles = open(folder / BUNDLES_FILE, "wb", buffering=WRITE_BUFFER_BYTES) if bundle_metadata else None  # noqa: SIM115
        self._bundle_places: dict[int, tuple[str, str, int, int]] = {}
        self._notes: list[str] = []
        self._names = 0
        self._index = BlobIndex()
        self._with_parts, self._part_ends = array("Q"), array("Q", [0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts.close()
        if self._bundles is not None:
            self._bundles.close()
        self._blobs.__exit__(kind, error, trace)

    @property
    def blob_count(self) -> int:
        """How many were added."""
        return len(self._index)

    def add(self, blob: Blob) -> None:
        """The next blob of the catalog. Raises BadCatalog when it is one too many, or too much."""
        self.add_serialized(serialize_blob(blob, bundle_metadata=self.bundle_metadata))

    def add_serialized(self, made: SerializedBlob) -> None:
        """The same of what was made of a blob elsewhere, with this writer's `bundle_metadata`. Raises BadCatalog."""
        self._names += len(made.schema) + len(made.package) + len(made.name)
        _check_count(len(self._index) + 1)
        if self._names > MAX_NAMES_LENGTH:
            raise BadCatalog(f"the names of the catalog's blobs take more than {MAX_NAMES_LENGTH // 1024**2} MiB")
        self.expansion.count_written(len(made.line) + len(made.part) + len(made.spec))
        self._blobs.write(made.line)
        number = self._index.add(made.schema, made.package, made.name, len(made.line))
        if made.part:
            self._parts.write(made.part)
            self._with_parts.append(number)
            self._part_ends.append(self._part_ends[-1] + len(made.part))
        if made.spec and self._bundles is not None:
            place = self._bundles.tell(), len(made.spec)
            self._bundles.write(made.spec)
            self._bundle_places[number] = made.subject, made.fingerprint, *place
        if made.note:
            self._notes.append(made.note)

    def finish(self, ranges: Sequence[range] | None = None) -> CatalogSummary:
        """Write what could not be written before all blobs were known. Nothing may be added afterwards.

        `ranges` are numbers of the blobs that count, in the catalog's order: without it all do, as they were added. Raises
        BadCatalog.
        """
        _check_count(sum(map(len, ranges or ())))  # links may name a blob many times
        self.checksums[BLOBS_FILE] = self._blobs.finish()
        self._parts.flush()
        numbers: Sequence[int] = range(len(self._index))
        if ranges is not None and not _follow_each_other(ranges, len(self._index)):
            numbers = array("Q", chain.from_iterable(ranges))
            self._reorder(ranges, numbers)
        blobs = _Written(self._blobs, self._index, numbers, self._part)
        derived = PackageIndexWriter(self._folder, self._digest, blobs, self.expansion)
        facts = derived.write()
        summary = derived.summary(self._notes)
        self._write(INDEX_FILE, self._index.dump())
        facts = {
            "format": CONTENT_FORMAT,
            **facts,
            "summary": summary.to_json(),
            "bundles": self._bundle_facts(numbers),
        }
        self._write(METADATA_FILE, orjson.dumps(facts))
        return summary

    def _write(self, name: str, data: bytes) -> None:
        self.expansion.count_written(len(data))
        (self._folder / name).write_bytes(data)

    def _bundle_facts(self, numbers: Iterable[int]) -> list[tuple[str, str, int, int]] | None:
        """Of several bundles of one name the last counts."""
        if self._bundles is None:
            return None
        self._bundles.flush()
        last = {self._bundle_places[number][0]: number for number in numbers if number in self._bundle_places}
        return [self._bundle_places[number] for _, number in sorted(last.items())]

    def _reorder(self, ranges: Iterable[range], numbers: Iterable[int]) -> None:
        """Write the blobs again, in another order. Links may name one many times."""
        before, index = self._blobs, self._index.reordered(numbers)
        self.expansion.count_written(max(index.size - before.size, 0))
        (self._folder / BLOBS_FILE).rename(self._folder / _UNORDERED)
        with before:
            self._blobs = HashingWriter(self._folder / BLOBS_FILE)
            for each in ranges:
                if each:
                    start, end = self._index.byte_range(each[0])[0], sum(self._index.byte_range(each[-1]))
                    for at in range(start, end, COPY_CHUNK_BYTES):
                        self._blobs.write(before.read(at, min(COPY_CHUNK_BYTES, end - at)))
            self.checksums[BLOBS_FILE] = self._blobs.finish()
        (self._folder / _UNORDERED).unlink()
        self._index = index

    def _part(self, number: int) -> Any:
        at = bisect_left(self._with_parts, number)
        start = self._part_ends[at]
        part = orjson.loads(os.pread(self._parts.fileno(), self._part_ends[at + 1] - start, start))
        part[0]["properties"] = orjson.Fragment(part[0]["properties"])
        return part


class _Written(BlobReader):
    """The blobs in the catalog's order, for what is derived from them. `numbers` are those they were added under."""

    def __init__(self, file: HashingWriter, index: BlobIndex, numbers: Sequence[int], part: Any) -> None:
        self.index = index
        self._file = file
        self._numbers = numbers
        self._part = part

    def value(self, number: int) -> Any:
        """See Blobs, as below."""
        return orjson.loads(self._file.read(*self.index.byte_range(number)))

    def bundle_part(self, number: int) -> Any:
        return self._part(self._numbers[number])


def _check_count(count: int) -> None:
    if count > MAX_BLOBS:
        raise BadCatalog(f"the catalog holds more than {MAX_BLOBS:,} blobs")


def _follow_each_other(ranges: Iterable[range], count: int) -> bool:
    end = 0
    for each in ranges:
        if each:
            if each.start != end:
                return False
            end = each.stop
    return end == count
