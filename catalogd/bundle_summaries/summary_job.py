"""The job that makes the summary of a bundle: image -> manifests -> summary, compressed, in the directory of the job.

Runs in child processes of olmkit.jobs, with a SummaryRequest (catalogd.bundle_summaries.summary_task). `summarize` fetches the
image; `parse_summary` reads it in a process without a network. Never talks to the API server and never writes to the store.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import orjson
import zstandard

from catalogd.bundle_summaries.summary_task import (
    MAX_COMPRESSED_BYTES,
    MAX_SUMMARY_BYTES,
    SUMMARIZE,
    SUMMARY_FILE,
    SUMMARY_LIMITS,
    StatedObjects,
    SummaryRequest,
    SummaryResult,
)
from olmkit.fbc.bundle_reduction import of_objects
from olmkit.fbc.bundle_reduction import summarize as summary_of
from olmkit.fbc.bundle_summary import BadSummary, BundleSummary
from olmkit.fbc.schemas import BUNDLE_OBJECT
from olmkit.jobs.job import Job, JobContext
from olmkit.jobs.job_functions import implement
from olmkit.sources.errors import BadContent, SourceReason
from olmkit.sources.open import Fetched, open_source, unpack
from olmkit.sources.reachability import verify_reachable
from olmkit.sources.source import ImageSource
from olmkit.store.store import Store, fill_staging

UNREADABLE, TOO_LARGE = "BundleUnreadable", "SummaryTooLarge"
"""Reasons of BadContent."""
DIRECTORIES = ("manifests", "metadata")
ZSTD_LEVEL = 19
"""A summary is compressed once, and is small."""
STATED_DIGEST = f"sha256:{'0' * 64}"
"""Stands for the digest of content that is in no image."""


@dataclass(frozen=True)
class ParseRequest:
    """The facts of olmkit.sources.open.Fetched about the image, and its reference by digest; or the blob in the file."""

    ref: str
    facts: dict[str, Any] | None = None
    stated: StatedObjects | None = None


@dataclass(frozen=True)
class ParseResult:
    """The summary was written."""


PARSE_SUMMARY = Job(f"{__name__}:parse_summary", ParseRequest, ParseResult, errors=(BadContent,))


async def probe(request: SummaryRequest) -> SummaryResult | None:
    """Return None when the registry has answered. Raises Waiting if it does not answer, BadReference and Blocked."""
    await verify_reachable(ImageSource(request.image), request.access)
    return None


async def summarize(request: SummaryRequest, context: JobContext) -> SummaryResult:
    """Write the summary of the image, unless the store has it: then the registry has to prove that these credentials may read
    the image. Raises Blocked, BadContent, Waiting."""
    if request.stated is not None:
        with request.stated.path.open("rb") as blobs, fill_staging(context.directory, STATED_DIGEST) as directory:
            parse = ParseRequest(request.image, stated=request.stated)
            await context.parse(PARSE_SUMMARY, parse, [blobs], directory)
        return SummaryResult(STATED_DIGEST, staged=True)
    async with open_source(ImageSource(request.image), request.access, limits=SUMMARY_LIMITS) as opened:
        if Store(request.store, create=False).path(opened.digest) is not None:
            await opened.verify_access(SUMMARY_LIMITS, context.progress)
            return SummaryResult(opened.digest, staged=False)
        with fill_staging(context.directory, opened.digest) as directory:
            fetched = await opened.fetch(directory, DIRECTORIES, SUMMARY_LIMITS, context.progress)
            parse = ParseRequest(opened.ref, dict(fetched.facts))
            await context.parse(PARSE_SUMMARY, parse, fetched.files, directory)
        return SummaryResult(opened.digest, staged=True)


def parse_summary(request: ParseRequest, context: JobContext) -> ParseResult:
    """Write the summary into the directory. Runs in the process that parses. Raises BadContent, Waiting."""
    try:
        stated = request.stated
        found = _of_image(request, context) if stated is None else _stated(stated, context.files[0])
    except BadSummary as error:
        raise BadContent(UNREADABLE, f"the bundle {request.ref} cannot be read: {error}", request.ref) from error
    (context.directory / SUMMARY_FILE).write_bytes(_compressed(replace(found, image=request.ref)))
    return ParseResult()


def _stated(stated: StatedObjects, blobs: IO[bytes]) -> BundleSummary:
    """Raises BadSummary."""
    blobs.seek(stated.start)
    blob = orjson.loads(blobs.read(stated.length))
    return of_objects(str(blob.get("package", "")), list(_objects(blob)))


def _objects(blob: dict[str, Any]) -> Iterator[bytes]:
    for each in blob.get("properties") or ():
        if isinstance(each, dict) and each.get("type") == BUNDLE_OBJECT:
            value = each.get("value")
            data = value.get("data") if isinstance(value, dict) else None
            try:
                yield base64.b64decode(data if isinstance(data, str) else "")
            except ValueError as error:
                raise BadSummary(f"a property {BUNDLE_OBJECT} has no base64: {error}") from error


def _of_image(request: ParseRequest, context: JobContext) -> BundleSummary:
    """Raises BadSummary, BadContent, Waiting."""
    unpacked, facts = context.directory / "unpacked", dict(request.facts or {})
    try:
        try:
            _unpack(facts, unpacked, context)
        except BadContent as error:
            if error.reason != SourceReason.MISSING_CONTENT:
                raise
            shutil.rmtree(unpacked)  # a plain+v0 bundle has no metadata/
            _unpack({**facts, "image": {**facts["image"], "selection": list(DIRECTORIES[:1])}}, unpacked, context)
        context.progress("reading the manifests")
        return summary_of(dict(_contents(unpacked)))
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


def _unpack(facts: dict[str, Any], into: Path, context: JobContext) -> None:
    into.mkdir()
    unpack(Fetched(facts, tuple(context.files)), into, SUMMARY_LIMITS, context.progress)


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """The files of manifests/ and metadata/, by their paths. The limit of the image bounds them."""
    for directory in DIRECTORIES:
        for path in sorted((root / directory).rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix(), path.read_bytes()


def _compressed(summary: BundleSummary) -> bytes:
    """The summary as it is kept; without the schemas of its definitions if it is too large with them. Raises BadContent."""
    for found in (summary, summary.without_schemas()):
        data = found.to_json()
        if len(data) <= MAX_SUMMARY_BYTES:
            compressed = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(data)
            if len(compressed) <= MAX_COMPRESSED_BYTES:
                return compressed
    kibibytes = MAX_COMPRESSED_BYTES // 1024
    text = f"the summary of the bundle {summary.image} is larger than {kibibytes} KiB, without the schemas of its definitions too"
    raise BadContent(TOO_LARGE, text, summary.image)


implement(SUMMARIZE, summarize, probe=probe)
implement(PARSE_SUMMARY, parse_summary)
