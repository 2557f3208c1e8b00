"""Locates the summary of each package in the document of all summaries, so that some of them can be served. Pure.

The process that serves catalogs imports this module, so it imports no parser of catalogs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import orjson

from catalogd.ingest.blob_index import ByteRange

SUMMARIES_START, SUMMARIES_SEPARATOR, SUMMARIES_END = b'{"packages":[', b",", b"]}\n"
"""The bytes before, between and after the summaries in their document."""


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
