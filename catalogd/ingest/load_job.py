"""The job that loads one catalog: source -> files -> content by digest in the store.

Runs in child processes of olmkit.jobs. catalogd.catalog.reconciler starts it with the task that catalogd.ingest.load_request
makes. `load` fetches the source into the staging folder of the job; `parse_catalog` writes the content, in a process without
network access; catalogd.ingest.staged_content publishes the folder in the store when both have ended. The job returns a small
result: the content itself is passed on disk. Never talks to the API server and never writes to the store.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from catalogd.ingest.catalog_files import CatalogFiles
from catalogd.ingest.content_writer import ContentWriter
from catalogd.ingest.expansion_limit import ExpansionLimit
from catalogd.ingest.staged_content import is_stored
from catalogd.ingest.yaml_worker_pool import WorkerDied, YamlWorkerPool
from olmkit.errors import OlmError
from olmkit.fbc.errors import NO_BLOBS_MESSAGE, BadCatalog
from olmkit.fbc.folder import read_folder
from olmkit.jobs import Parse
from olmkit.sources.access import Access
from olmkit.sources.errors import BadContent
from olmkit.sources.oci.image import FromLabel
from olmkit.sources.open import OpenedSource, open_source
from olmkit.sources.source import from_json
from olmkit.sources.tree import CATALOG_LIMITS
from olmkit.sources.unpack import Fetched, unpack
from olmkit.store.checksums import FileChecksums
from olmkit.store.store import Store, fill_staging

CONFIGS_LABEL = "operators.operatorframework.io.index.configs.v1"
"""The label of a catalog image that names the folder of its files."""

NOT_A_CATALOG = "NotACatalog"
"""The reason of BadContent when the image's files cannot be read as a catalog."""

SWITCH_INTERVAL_SECONDS = 0.0005
"""The longest time that a thread waits before it requests the GIL from the one that holds it."""

M_ARENA_MAX = -8
"""The parameter of mallopt(3) that limits the number of heaps."""

Progress = Callable[[str], None]


async def load(arguments: Mapping[str, Any], progress: Progress, parse: Parse) -> dict[str, Any]:
    """Load the content that the source resolves to: {"ref", "digest", "resolved", "validator", "unchanged", "staged"}.

    `staged`: the content is in the folder `arguments["staging"]`; otherwise it is in the store already. `unchanged`: the server
    of the source reports that nothing changed; `digest` is "" then.

    Fetches nothing when the source still resolves to what is served, to content that is stored already or to content that was
    rejected before. Content that is stored already, possibly for another Catalog, is used only when the source proves that it
    has this content, unless it did so for this Catalog before. Raises the errors of olmkit.sources, and BadContent for content
    that is not a catalog.
    """
    source, access = from_json(arguments["source"]), Access.from_json(arguments["access"])
    store, known = Store(Path(arguments["store"]), create=False), arguments["known"]
    staging, staged = Path(arguments["staging"]), False
    validator = arguments["validator"] if known and is_stored(store, known, arguments["bundleMetadata"]) else ""
    async with AsyncExitStack() as stack:
        with _step_in_errors():
            opening = open_source(source, access, validator, scratch=staging)
            opened = await stack.enter_async_context(opening)
        if arguments["bad"] and opened.ref and arguments["bad"][2] == opened.ref:
            raise BadContent(*arguments["bad"])
        if not opened.unchanged and not _is_intact(store, opened.digest, arguments):
            await _stage(opened, staging, arguments["bundleMetadata"], progress, parse)
            staged = True
        elif not opened.unchanged and opened.digest != arguments["answered"]:
            with _step_in_errors():
                await opened.verify_access(CATALOG_LIMITS, progress)
        return {**_result(opened), "staged": staged}


async def probe(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What load() would return if the image still has the digest that is served; None otherwise.

    Requests the digest only, and the manifest when the source has not proved yet that it has the content.
    """
    store = Store(Path(arguments["store"]), create=False)
    source, access = from_json(arguments["source"]), Access.from_json(arguments["access"])
    async with AsyncExitStack() as stack:
        with _step_in_errors():
            opened = await stack.enter_async_context(open_source(source, access))
        if arguments["bad"] and opened.ref and arguments["bad"][2] == opened.ref:
            raise BadContent(*arguments["bad"])
        if opened.digest != arguments["known"] or not is_stored(store, opened.digest, arguments["bundleMetadata"]):
            return None
        if opened.digest != arguments["answered"]:
            with _step_in_errors():
                await opened.verify_access()
        return _result(opened)


def _is_intact(store: Store, digest: str, arguments: Mapping[str, Any]) -> bool:
    """Whether the content need not be loaded. Served content was verified already. Raises Waiting(CacheUnreadable)."""
    if not is_stored(store, digest, arguments["bundleMetadata"]):
        return False
    return digest == arguments["known"] or store.verify(digest)


def _result(opened: OpenedSource) -> dict[str, Any]:
    return {
        "ref": opened.ref,
        "digest": opened.digest,
        "resolved": opened.resolved,
        "validator": opened.validator,
        "unchanged": opened.unchanged,
    }


async def _stage(opened: OpenedSource, staging: Path, bundle_metadata: bool, progress: Progress, parse: Parse) -> None:
    hashed: dict[str, FileChecksums] = {}
    with fill_staging(staging, opened.digest, hashed=hashed) as folder:
        with _step_in_errors():
            fetched = await opened.fetch(folder, FromLabel(CONFIGS_LABEL), CATALOG_LIMITS, progress)
        parse_arguments = {
            "facts": fetched.facts,
            "folder": str(folder),
            "digest": opened.digest,
            "ref": opened.ref,
            "bundleMetadata": bundle_metadata,
        }
        parsed = await parse(f"{__name__}:parse_catalog", parse_arguments, fetched.files, folder, progress)
        hashed.update({name: FileChecksums(size, tuple(digests)) for name, (size, digests) in parsed["hashed"].items()})


def parse_catalog(arguments: Mapping[str, Any], files: Sequence[IO[bytes]], progress: Progress) -> dict[str, Any]:
    """Write the content of the fetched files into `folder`: {"hashed": name -> [size, chunk digests]} of the files hashed.

    Runs in the process that parses. Raises BadContent and Waiting.
    """
    try:
        return {"hashed": _write_catalog(arguments, files, progress)}
    except WorkerDied as error:
        error.raise_signal()
        raise


def _write_catalog(arguments: Mapping[str, Any], files: Sequence[IO[bytes]], progress: Progress) -> dict[str, Any]:
    _use_one_heap()
    folder, bundle_metadata = Path(arguments["folder"]), arguments["bundleMetadata"]
    with (
        YamlWorkerPool(bundle_metadata=bundle_metadata) as workers,  # first: fork before there are threads
        _short_switch_interval(),
        ContentWriter(
            folder, arguments["digest"], bundle_metadata=bundle_metadata, expansion=ExpansionLimit()
        ) as writer,
    ):
        storage = CatalogFiles(writer, folder, workers)
        try:
            with _step_in_errors():
                root = unpack(Fetched(arguments["facts"], tuple(files)), storage, CATALOG_LIMITS, progress)
            progress("reading the catalog")
            _finish(writer, storage.ranges(_within(root, folder)))
        except BadCatalog as error:
            raise BadContent(NOT_A_CATALOG, f"load FBC from filesystem: {error}", arguments["ref"]) from error
        return {name: [file.size, list(file.chunk_digests)] for name, file in writer.checksums.items()}


def _within(root: Path, folder: Path) -> str:
    path = root.relative_to(folder).as_posix()
    return "" if path == "." else path


def write_content(files: Path, folder: Path, digest: str) -> None:
    """Read the files of a catalog from disk and write its content into `folder`. Raises BadCatalog."""
    with ContentWriter(folder, digest) as writer:
        for blob in read_folder(files):
            writer.add(blob)
        _finish(writer, None)


def _finish(writer: ContentWriter, ranges: Sequence[range] | None) -> None:
    """Raises BadCatalog when there is no blob at all."""
    if writer.finish(ranges).blob_count == 0:
        raise BadCatalog(NO_BLOBS_MESSAGE)


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


@contextmanager
def _step_in_errors() -> Iterator[None]:
    """Prefix the message of an error with the step that failed."""
    try:
        yield
    except OlmError as error:
        error.message = f"source catalog content: {error.message}"
        raise
