"""The job that reads one catalog: source -> files -> content by digest in the store.

Runs in child processes of olmkit.jobs, started by catalogd.catalog.reconciler as catalogd.ingest.load_request says: `load`
fetches into a folder of its own, `read` makes the content, in a process without a network; catalogd.ingest.staged_content puts
it into the store when both have ended. Returns a few words; the content goes over the disk. Never talks to the API server,
never writes to the store.
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
"""How long a thread that needs Python's lock waits at most until it is given."""

M_ARENA_MAX = -8
"""Of mallopt(3)."""

Progress = Callable[[str], None]


async def load(arguments: Mapping[str, Any], progress: Progress, parse: Parse) -> dict[str, Any]:
    """Make the content that a source means now, for the store: {"ref", "digest", "resolved", "validator", "unchanged", "staged"}.

    `staged`: it is in the folder `arguments["staging"]`; else it is in the store already.

    Fetches nothing when the source still means what is served, what is stored already or what was refused before. `unchanged`:
    its server says so itself, then `digest` is "". Content that is stored already, for another Catalog perhaps, is taken only
    when the source shows that it has it, unless it has shown so for this Catalog before. Raises what olmkit.sources raises, and
    BadContent for what is no catalog.
    """
    source, access = from_json(arguments["source"]), Access.from_json(arguments["access"])
    store, known = Store(Path(arguments["store"]), create=False), arguments["known"]
    staging, staged = Path(arguments["staging"]), False
    validator = arguments["validator"] if known and is_stored(store, known, arguments["bundleMetadata"]) else ""
    async with AsyncExitStack() as stack:
        with _named():
            opening = open_source(source, access, validator, scratch=staging)
            opened = await stack.enter_async_context(opening)
        if arguments["bad"] and opened.ref and arguments["bad"][2] == opened.ref:
            raise BadContent(*arguments["bad"])
        if not opened.unchanged and not _is_whole(store, opened.digest, arguments):
            await _stage(opened, staging, arguments["bundleMetadata"], progress, parse)
            staged = True
        elif not opened.unchanged and opened.digest != arguments["answered"]:
            with _named():
                await opened.verify_access(CATALOG_LIMITS, progress)
        return {**_told(opened), "staged": staged}


async def probe(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What load() would return, if an image is still what is served; None otherwise. For Task.look: asks for a digest, and for
    the manifest when the source has not shown it yet."""
    store = Store(Path(arguments["store"]), create=False)
    source, access = from_json(arguments["source"]), Access.from_json(arguments["access"])
    async with AsyncExitStack() as stack:
        with _named():
            opened = await stack.enter_async_context(open_source(source, access))
        if arguments["bad"] and opened.ref and arguments["bad"][2] == opened.ref:
            raise BadContent(*arguments["bad"])
        if opened.digest != arguments["known"] or not is_stored(store, opened.digest, arguments["bundleMetadata"]):
            return None
        if opened.digest != arguments["answered"]:
            with _named():
                await opened.verify_access()
        return _told(opened)


def _is_whole(store: Store, digest: str, arguments: Mapping[str, Any]) -> bool:
    """Whether the content need not be read; what is served was verified before it was. Raises Waiting(CacheUnreadable)."""
    if not is_stored(store, digest, arguments["bundleMetadata"]):
        return False
    return digest == arguments["known"] or store.verify(digest)


def _told(opened: OpenedSource) -> dict[str, Any]:
    return {
        "ref": opened.ref,
        "digest": opened.digest,
        "resolved": opened.resolved,
        "validator": opened.validator,
        "unchanged": opened.unchanged,
    }


async def _stage(opened: OpenedSource, staging: Path, bundle_metadata: bool, progress: Progress, parse: Parse) -> None:
    known: dict[str, FileChecksums] = {}
    with fill_staging(staging, opened.digest, known=known) as folder:
        with _named():
            fetched = await opened.fetch(folder, FromLabel(CONFIGS_LABEL), CATALOG_LIMITS, progress)
        wanted = {
            "facts": fetched.facts,
            "folder": str(folder),
            "digest": opened.digest,
            "ref": opened.ref,
            "bundleMetadata": bundle_metadata,
        }
        made = await parse(f"{__name__}:parse_catalog", wanted, fetched.files, folder, progress)
        known.update({name: FileChecksums(size, tuple(portions)) for name, (size, portions) in made["hashed"].items()})


def parse_catalog(arguments: Mapping[str, Any], files: Sequence[IO[bytes]], progress: Progress) -> dict[str, Any]:
    """Make the content of what was fetched in `folder`: {"hashed": name -> [size, portions]} of files that were hashed.

    For the process that parses. Raises BadContent and Waiting.
    """
    try:
        return {"hashed": _read(arguments, files, progress)}
    except WorkerDied as error:
        error.raise_signal()
        raise


def _read(arguments: Mapping[str, Any], files: Sequence[IO[bytes]], progress: Progress) -> dict[str, Any]:
    _share_one_heap()
    folder, bundle_metadata = Path(arguments["folder"]), arguments["bundleMetadata"]
    with (
        YamlWorkerPool(
            bundle_metadata=bundle_metadata
        ) as readers,  # first: processes are forked before there are threads
        _short_turns(),
        ContentWriter(folder, arguments["digest"], bundle_metadata=bundle_metadata, growth=ExpansionLimit()) as writer,
    ):
        storage = CatalogFiles(writer, folder, readers)
        try:
            with _named():
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
    """Read a catalog's files from a disk and write its content into `folder`. Raises BadCatalog."""
    with ContentWriter(folder, digest) as writer:
        for blob in read_folder(files):
            writer.add(blob)
        _finish(writer, None)


def _finish(writer: ContentWriter, ranges: Sequence[range] | None) -> None:
    """Raises BadCatalog when there is no blob at all."""
    if writer.finish(ranges).blob_count == 0:
        raise BadCatalog(NO_BLOBS_MESSAGE)


def _share_one_heap() -> None:
    """One heap for all threads of this process: with one for each, what a thread frees is of no use to the others."""
    with suppress(AttributeError):  # a C library without it
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


@contextmanager
def _short_turns() -> Iterator[None]:
    """Threads that inflate, write and hash need Python's lock for a moment only: they shall not wait for it as long as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


@contextmanager
def _named() -> Iterator[None]:
    """Errors say in which step they happened."""
    try:
        yield
    except OlmError as error:
        error.message = f"source catalog content: {error.message}"
        raise
