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

from catalogd.ingest.blob_index import Index
from catalogd.ingest.catalog_summary import Summary
from catalogd.ingest.content import BLOBS, BUNDLES, FACTS, FORMAT, INDEX
from catalogd.ingest.expansion_limit import Growth
from catalogd.ingest.hashing_writer import Appended
from catalogd.ingest.package_index import Blobs, Derived
from catalogd.ingest.serialized_blobs import Entry, entry
from olmkit.fbc.blobs import Blob
from olmkit.fbc.errors import BadCatalog
from olmkit.store.checksums import File

BUFFER = 1024 * 1024
COPY_SIZE = 1024 * 1024
BLOB_LIMIT = 300_000
"""Blobs of one catalog: whoever serves it keeps the place of each in memory. The largest public catalogs have 20,000."""
NAMES_LIMIT = 32 * 1024 * 1024
"""Characters of the schemas, packages and names of all blobs, which are kept with the places."""
_UNORDERED = "all.unordered"


class Writer:
    """Writes one catalog's files into `folder`; `catalog_digest` is what the resolution documents name it by.

    `bundle_metadata`: also what BundleMetadata objects say. `growth` counts what is written, all files together; without it
    nothing is too much. `hashed` is filled by `finish` with the files that need not be read again to know what they hold.
    """

    def __init__(
        self, folder: Path, catalog_digest: str, *, bundle_metadata: bool = False, growth: Growth | None = None
    ) -> None:
        self.hashed: dict[str, File] = {}
        self.growth = growth or Growth(limited=False)
        self.bundle_metadata = bundle_metadata
        self._folder = folder
        self._digest = catalog_digest
        self._blobs = Appended(folder / BLOBS)
        self._parts = tempfile.TemporaryFile(dir=folder, buffering=BUFFER)  # noqa: SIM115 closed by __exit__
        self._bundles = open(folder / BUNDLES, "wb", buffering=BUFFER) if bundle_metadata else None  # noqa: SIM115
        self._bundle_places: dict[int, tuple[str, str, int, int]] = {}
        self._notes: list[str] = []
        self._names = 0
        self._index = Index()
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
        self.put(entry(blob, bundle_metadata=self.bundle_metadata))

    def put(self, made: Entry) -> None:
        """The same of what was made of a blob elsewhere, with this writer's `bundle_metadata`. Raises BadCatalog."""
        self._names += len(made.schema) + len(made.package) + len(made.name)
        _check_count(len(self._index) + 1)
        if self._names > NAMES_LIMIT:
            raise BadCatalog(f"the names of the catalog's blobs take more than {NAMES_LIMIT // 1024**2} MiB")
        self.growth.write(len(made.line) + len(made.part) + len(made.spec))
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

    def finish(self, ranges: Sequence[range] | None = None) -> Summary:
        """Write what could not be written before all blobs were known. Nothing may be added afterwards.

        `ranges` are numbers of the blobs that count, in the catalog's order: without it all do, as they were added. Raises
        BadCatalog.
        """
        _check_count(sum(map(len, ranges or ())))  # links may name a blob many times
        self.hashed[BLOBS] = self._blobs.finish()
        self._parts.flush()
        numbers: Sequence[int] = range(len(self._index))
        if ranges is not None and not _follow_each_other(ranges, len(self._index)):
            numbers = array("Q", chain.from_iterable(ranges))
            self._reorder(ranges, numbers)
        blobs = _Written(self._blobs, self._index, numbers, self._part)
        derived = Derived(self._folder, self._digest, blobs, self.growth)
        facts = derived.write()
        summary = derived.summary(self._notes)
        self._write(INDEX, self._index.dump())
        facts = {"format": FORMAT, **facts, "summary": summary.to_json(), "bundles": self._bundle_facts(numbers)}
        self._write(FACTS, orjson.dumps(facts))
        return summary

    def _write(self, name: str, data: bytes) -> None:
        self.growth.write(len(data))
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
        self.growth.write(max(index.size - before.size, 0))
        (self._folder / BLOBS).rename(self._folder / _UNORDERED)
        with before:
            self._blobs = Appended(self._folder / BLOBS)
            for each in ranges:
                if each:
                    start, end = self._index.range(each[0])[0], sum(self._index.range(each[-1]))
                    for at in range(start, end, COPY_SIZE):
                        self._blobs.write(before.read(at, min(COPY_SIZE, end - at)))
            self.hashed[BLOBS] = self._blobs.finish()
        (self._folder / _UNORDERED).unlink()
        self._index = index

    def _part(self, number: int) -> Any:
        at = bisect_left(self._with_parts, number)
        start = self._part_ends[at]
        part = orjson.loads(os.pread(self._parts.fileno(), self._part_ends[at + 1] - start, start))
        part[0]["properties"] = orjson.Fragment(part[0]["properties"])
        return part


class _Written(Blobs):
    """The blobs in the catalog's order, for what is derived from them. `numbers` are those they were added under."""

    def __init__(self, file: Appended, index: Index, numbers: Sequence[int], part: Any) -> None:
        self.index = index
        self._file = file
        self._numbers = numbers
        self._part = part

    def value(self, number: int) -> Any:
        """See Blobs, as below."""
        return orjson.loads(self._file.read(*self.index.range(number)))

    def bundle_part(self, number: int) -> Any:
        return self._part(self._numbers[number])


def _check_count(count: int) -> None:
    if count > BLOB_LIMIT:
        raise BadCatalog(f"the catalog holds more than {BLOB_LIMIT:,} blobs")


def _follow_each_other(ranges: Iterable[range], count: int) -> bool:
    end = 0
    for each in ranges:
        if each:
            if each.start != end:
                return False
            end = each.stop
    return end == count
