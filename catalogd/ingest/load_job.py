"""The job that loads one catalog: source -> files -> content by digest in the store.

Runs in child processes of olmkit.jobs. catalogd.catalog.reconciler starts it with a LoadRequest (catalogd.ingest.load_task).
`load` fetches the source into the staging directory of the job; `parse_catalog` writes the content, in a process without network
access; catalogd.ingest.load_task publishes the directory in the store when both have ended. The job returns a small result:
the content itself is passed on disk. Never talks to the API server and never writes to the store.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catalogd.ingest.catalog_files import CatalogFiles
from catalogd.ingest.content_writer import ContentWriter
from catalogd.ingest.load_task import LOAD, LoadRequest, LoadResult, is_stored
from catalogd.ingest.moved_tag import check_not_rejected, check_tag, load_result, step_in_errors
from catalogd.ingest.yaml_expansion_limit import ExpansionLimit
from catalogd.ingest.yaml_worker_pool import WorkerDied, YamlWorkerPool
from olmkit.fbc.bundle_files import PACKAGE_KEY
from olmkit.fbc.errors import NO_BLOBS_MESSAGE, BadCatalog
from olmkit.jobs.job import Job, JobContext
from olmkit.jobs.job_functions import implement
from olmkit.sources.content_limits import CATALOG_LIMITS
from olmkit.sources.errors import BadContent
from olmkit.sources.oci.image import FromLabel
from olmkit.sources.open import Fetched, OpenedSource, open_source, unpack
from olmkit.store.checksums import FileChecksums
from olmkit.store.store import Store, fill_staging

CONFIGS_LABEL = "operators.operatorframework.io.index.configs.v1"
"""The label of a catalog image that names the directory of its files."""

SELECTION = FromLabel(
    CONFIGS_LABEL,
    {
        PACKAGE_KEY: "it is the image of a bundle: add it to a catalog (olm catalog add), or install it alone (olm bundle run)",
        "operators.operatorframework.io.index.database.v1": "it has a SQLite database: migrate it to a file-based catalog",
        "": "build the image of the catalog with `olm catalog build`, or set the label to the directory of its files",
    },
)
"""The files of a catalog image, and what to do about an image of something else."""

NOT_A_CATALOG = "NotACatalog"
"""The reason of BadContent when the image's files cannot be read as a catalog."""

SWITCH_INTERVAL_SECONDS = 0.0005
"""The longest time that a thread waits before it requests the GIL from the one that holds it."""

M_ARENA_MAX = -8
"""The parameter of mallopt(3) that limits the number of heaps."""


@dataclass(frozen=True)
class ParseRequest:
    """The fetched files: `facts` of olmkit.sources.open.Fetched, and the digest and the reference of the content."""

    facts: dict[str, Any]
    digest: str
    ref: str


@dataclass(frozen=True)
class ParseResult:
    """The checksums of the files that were hashed while they were written, by name."""

    hashed: dict[str, FileChecksums]


PARSE = Job(f"{__name__}:parse_catalog", ParseRequest, ParseResult, errors=(BadContent,))
"""Writes the content of the fetched files, in the process that parses."""


async def load(request: LoadRequest, context: JobContext) -> LoadResult:
    """Load the content that the source resolves to.

    Fetches nothing when the source still resolves to what is served, to content that is stored already or to content that was
    rejected before. Content that is stored already, possibly for another Catalog, is used only when the source proves that it
    has this content, unless it did so for this Catalog before. Raises the errors of olmkit.sources, and BadContent for content
    that is not a catalog.
    """
    store, served, staged = Store(request.store, create=False), request.served_digest, False
    validator = request.validator if served and is_stored(store, served) else ""
    async with AsyncExitStack() as stack:
        with step_in_errors():
            opening = open_source(request.source, request.access, validator, scratch=context.directory)
            opened = await stack.enter_async_context(opening)
        check_not_rejected(opened, request)
        if not opened.unchanged and not _is_intact(store, opened.digest, request):
            await _stage(opened, request, context)
            staged = True
        elif not opened.unchanged and opened.digest != request.confirmed_digest:
            with step_in_errors():
                await opened.verify_access(CATALOG_LIMITS, context.progress)
        return load_result(opened, staged=staged)


def _is_intact(store: Store, digest: str, request: LoadRequest) -> bool:
    """Report whether the content is intact, so that it need not be loaded. Served content was verified already. Raises
    Waiting(CacheUnreadable)."""
    if not is_stored(store, digest):
        return False
    return digest == request.served_digest or store.verify(digest)


async def _stage(opened: OpenedSource, request: LoadRequest, context: JobContext) -> None:
    hashed: dict[str, FileChecksums] = {}
    with fill_staging(context.directory, opened.digest, hashed=hashed) as directory:
        with step_in_errors():
            fetched = await opened.fetch(directory, SELECTION, CATALOG_LIMITS, context.progress)
        parse_request = ParseRequest(dict(fetched.facts), opened.digest, opened.ref)
        hashed.update((await context.parse(PARSE, parse_request, fetched.files, directory)).hashed)


def parse_catalog(request: ParseRequest, context: JobContext) -> ParseResult:
    """Write the content of the fetched files into the directory. Runs in the process that parses. Raises BadContent and
    Waiting."""
    try:
        return ParseResult(_write_catalog(request, context))
    except WorkerDied as error:
        error.raise_signal()
        raise


def _write_catalog(request: ParseRequest, context: JobContext) -> dict[str, FileChecksums]:
    _use_one_heap()
    directory = context.directory
    with (
        YamlWorkerPool() as workers,  # first: fork before there are threads
        _short_switch_interval(),
        ContentWriter(directory, request.digest, expansion=ExpansionLimit()) as writer,
    ):
        storage = CatalogFiles(writer, directory, workers)
        try:
            with step_in_errors():
                fetched = Fetched(request.facts, tuple(context.files))
                root = unpack(fetched, storage, CATALOG_LIMITS, context.progress)
            context.progress("reading the catalog")
            if writer.finish(storage.ranges(_within(root, directory))).blob_count == 0:
                raise BadCatalog(NO_BLOBS_MESSAGE)
        except BadCatalog as error:
            raise BadContent(NOT_A_CATALOG, f"load FBC from filesystem: {error}", request.ref) from error
        return dict(writer.checksums)


def _within(root: Path, directory: Path) -> str:
    path = root.relative_to(directory).as_posix()
    return "" if path == "." else path


def _use_one_heap() -> None:
    """Make all threads share one heap: with a heap per thread, memory that one thread frees is not reused by the others."""
    with suppress(AttributeError):  # a C library without it
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Switch threads more often: threads that inflate, write and hash hold the GIL only briefly and should get it soon."""
    default = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(default)


implement(LOAD, load, probe=check_tag)
implement(PARSE, parse_catalog)
