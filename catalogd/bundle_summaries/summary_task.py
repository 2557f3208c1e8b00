"""The task of a summary job as the controller sees it: the request, the result and its limits.

Separate from the function (catalogd.bundle_summaries.summary_job), because only child processes import the code that reads
bundles. The result of a job is not trusted: `checked` verifies the bytes before they are kept or sent. Starts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import orjson
import zstandard

from olmkit.fbc.bundle_summary import load
from olmkit.jobs.job import Job, Limits
from olmkit.sources.access import Access
from olmkit.sources.content_limits import ContentLimits
from olmkit.sources.errors import BadContent

BUNDLE_SUMMARIES_NEVER = "Never"
"""The value of --bundle-summaries with which there are none."""
MAX_IMAGE_BYTES = 64 * 1024**2
"""Bytes of an image that is summarized, compressed and not."""
MAX_COMPRESSED_BYTES = 64 * 1024
"""Bytes of one compressed summary."""
MAX_SUMMARY_BYTES = 4 * 1024**2
"""Bytes of one summary."""
SUMMARY_FILE = "summary.json.zst"
SUMMARY_LIMITS = ContentLimits(bytes=MAX_IMAGE_BYTES, files=10_000)
JOB_LIMITS = Limits(
    memory_bytes=512 * 1024**2, cpu_seconds=60, timeout=timedelta(seconds=60), file_bytes=2 * MAX_IMAGE_BYTES
)


@dataclass(frozen=True)
class StatedObjects:
    """The blob of a bundle in a file of blobs, whose properties olm.bundle.object have its manifests."""

    path: Path
    start: int
    length: int


@dataclass(frozen=True)
class SummaryRequest:
    """The image to summarize, and the way to reach its registry; or what the catalog states of it."""

    image: str
    access: Access
    store: Path
    """The directory of the store with the summaries that there are."""
    stated: StatedObjects | None = None


@dataclass(frozen=True)
class SummaryResult:
    """The digest of the image that was read. `staged`: the summary is in the directory of the job, else in the store already."""

    digest: str
    staged: bool


SUMMARIZE = Job(
    "catalogd.bundle_summaries.summary_job:summarize", SummaryRequest, SummaryResult, errors=(BadContent,), parses=True
)


def checked(compressed: bytes) -> bytes:
    """The summary in these bytes. Raises ValueError for what is none, or too large."""
    if len(compressed) > MAX_COMPRESSED_BYTES:
        raise ValueError("the summary is too large")
    try:
        decompressor = zstandard.ZstdDecompressor(max_window_size=2 * MAX_SUMMARY_BYTES)
        if zstandard.frame_content_size(compressed) not in range(MAX_SUMMARY_BYTES + 1):
            raise ValueError("the summary is too large")
        data = decompressor.decompress(compressed, max_output_size=MAX_SUMMARY_BYTES)
    except zstandard.ZstdError as error:
        raise ValueError(f"the summary cannot be decompressed: {error}") from error
    load(orjson.loads(data))
    return data
