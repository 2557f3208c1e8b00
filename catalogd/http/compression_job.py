"""The job that compresses the files of a content with gzip and zstd. Started by catalogd.http.compression in a child process.

    <root>/sha256-<hex>/content/all.jsonl.gz, all.jsonl.zst, resolution.jsonl.gz, summaries.json.gz, ...
    <root>/sha256-<hex>/content/made-of.json       the size and checksums of the files that were compressed

Reads files in chunks: memory does not grow with the catalog. Runs at the lowest priority.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import orjson
import zstandard

from olmkit.errors import Waiting
from olmkit.jobs.job import Job, JobContext
from olmkit.jobs.job_functions import implement
from olmkit.store.store import Store

COMPRESSIBLE_FILES = ("all.jsonl", "resolution.jsonl", "summaries.json")
"""Files that clients often request as a whole. All other responses are sent uncompressed."""
SUFFIX_BY_ENCODING = {"zstd": ".zst", "gzip": ".gz"}
"""Content encodings, best first, with the suffixes of their files."""
SOURCES_FILE = "made-of.json"
SOURCES_FORMAT = 1
MIN_FILE_BYTES = 1400
"""Smaller files fit into one packet uncompressed."""
CONTENT_GONE_RETRY_DELAY = timedelta(seconds=10)
READ_CHUNK_BYTES = 1024 * 1024
GZIP_LEVEL = 6
"""Measured on a catalog of 41 MB: level 9 is 1 % smaller and takes 1.4 times as long, level 3 is 27 % larger."""
ZSTD_LEVEL = 9
"""Measured likewise: level 3 is 6 % larger, level 19 is 3 % smaller and takes thirty times as long. Its window is 4 MiB;
browsers accept up to 8 (RFC 9659)."""


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


@dataclass(frozen=True)
class CompressRequest:
    """The content to compress: `content` and `compressed` are directories of Stores."""

    content: Path
    compressed: Path
    digest: str


@dataclass(frozen=True)
class CompressResult:
    """Size in bytes by name of a file."""

    sizes: dict[str, int]


COMPRESS = Job(f"{__name__}:compress", CompressRequest, CompressResult)


def compress(request: CompressRequest, context: JobContext) -> CompressResult:
    """Publish the compressed files of a content. Raises Waiting."""
    _lower_priority()
    content, digest = Store(request.content), request.digest
    sources = compression_sources(content, digest)
    directory = content.path(digest)
    if sources is None or directory is None:
        raise Waiting("ContentGone", "the content is not on the disk", CONTENT_GONE_RETRY_DELAY)
    with Store(request.compressed).publish(digest) as target:
        for name, (size, *_) in sources["files"].items():
            if size >= MIN_FILE_BYTES:
                context.progress(f"compressing {name}")
                _compress_file(directory / name, target)
        if compression_sources(content, digest) != sources:
            raise Waiting("ContentGone", "the content was replaced in the meantime", CONTENT_GONE_RETRY_DELAY)
        (target / SOURCES_FILE).write_bytes(orjson.dumps(sources))
        return CompressResult({path.name: path.stat().st_size for path in target.iterdir()})


def compression_sources(content: Store, digest: str) -> dict[str, Any] | None:
    """The content of SOURCES_FILE for the current content; None when it is not stored."""
    manifest = content.checksums(digest)
    if manifest is None:
        return None
    found = {name: manifest.files[name] for name in COMPRESSIBLE_FILES if name in manifest.files}
    return {"format": SOURCES_FORMAT, "files": {name: [file.size, *file.chunk_digests] for name, file in found.items()}}


def _compress_file(source: Path, target: Path) -> None:
    compressors: dict[str, _Compressor] = {
        "gzip": zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS),
        "zstd": zstandard.ZstdCompressor(level=ZSTD_LEVEL).compressobj(size=source.stat().st_size),
    }
    for encoding, ending in SUFFIX_BY_ENCODING.items():
        compressor = compressors[encoding]
        with open(source, "rb") as read, open(target / (source.name + ending), "wb") as written:
            while data := read.read(READ_CHUNK_BYTES):
                written.write(compressor.compress(data))
            written.write(compressor.flush())


def _lower_priority() -> None:
    with suppress(OSError):
        os.nice(19)
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


implement(COMPRESS, compress)
