"""The job that reads one catalog: source -> files -> content by digest in the store.

Runs in a child process of olmkit.jobs, started by catalogd.reconciler as catalogd.reading.loader says. Returns a few words;
the content goes over the disk. Never talks to the API server.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from catalogd.reading.content import Content
from catalogd.reading.readers import ReaderDied, Readers
from catalogd.reading.unpacking import CatalogFiles
from catalogd.reading.writing import Writer
from olmkit.errors import OlmError
from olmkit.fbc.errors import BadCatalog
from olmkit.fbc.reading import read_folder
from olmkit.sources.access import Access
from olmkit.sources.errors import BadContent
from olmkit.sources.image import CATALOG, FromLabel
from olmkit.sources.opening import Opened, open_source
from olmkit.sources.source import from_json
from olmkit.store import Store
from olmkit.store_manifest import File

LABEL = "operators.operatorframework.io.index.configs.v1"
"""The label of a catalog image that names the folder of its files."""

NO_CATALOG = "NotACatalog"
"""The reason of BadContent when the image's files cannot be read as a catalog."""

SWITCH_SECONDS = 0.0005
"""How long a thread that needs Python's lock waits at most until it is given."""

M_ARENA_MAX = -8
"""Of mallopt(3)."""

Progress = Callable[[str], None]


async def load(arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Put what a source means now into the store: {"ref", "digest", "resolved", "validator", "unchanged"}.

    Fetches nothing when the source still means what is served, what is stored already or what was refused before. `unchanged`:
    its server says so itself, then `digest` is "". Raises what olmkit.sources raises, and BadContent for what is no catalog.
    """
    source, access = from_json(arguments["source"]), Access.from_json(arguments["access"])
    store, known = Store(Path(arguments["store"])), arguments["known"]
    validator = arguments["validator"] if known and _is_here(store, known, arguments["bundleMetadata"]) else ""
    async with AsyncExitStack() as stack:
        with _named():
            opening = open_source(source, access, validator, scratch=Path(arguments["store"]))
            opened = await stack.enter_async_context(opening)
        if arguments["bad"] and opened.ref and arguments["bad"][2] == opened.ref:
            raise BadContent(*arguments["bad"])
        if not opened.unchanged and not _is_whole(store, opened.digest, arguments):
            try:
                await _fetch(opened, store, arguments["bundleMetadata"], progress)
            except ReaderDied as error:
                error.repeat()
                raise
        return _told(opened)


async def look(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What load() would return, if an image is still what is served; None otherwise. For Task.look: asks for a digest only."""
    store = Store(Path(arguments["store"]))
    source, access = from_json(arguments["source"]), Access.from_json(arguments["access"])
    async with AsyncExitStack() as stack:
        with _named():
            opened = await stack.enter_async_context(open_source(source, access))
        if arguments["bad"] and opened.ref and arguments["bad"][2] == opened.ref:
            raise BadContent(*arguments["bad"])
        if opened.digest != arguments["known"] or not _is_here(store, opened.digest, arguments["bundleMetadata"]):
            return None
        return _told(opened)


def _is_whole(store: Store, digest: str, arguments: Mapping[str, Any]) -> bool:
    """Whether the content need not be read; what is served was verified before it was."""
    if not _is_here(store, digest, arguments["bundleMetadata"]):
        return False
    return digest == arguments["known"] or store.verify(digest)


def _told(opened: Opened) -> dict[str, Any]:
    return {
        "ref": opened.ref,
        "digest": opened.digest,
        "resolved": opened.resolved,
        "validator": opened.validator,
        "unchanged": opened.unchanged,
    }


def _is_here(store: Store, digest: str, bundle_metadata: bool) -> bool:
    """Whether the content is in the store, in this version's format and with all that is asked for."""
    folder = store.path(digest)
    try:
        return folder is not None and (not bundle_metadata or Content(folder).has_bundles)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


async def _fetch(opened: Opened, store: Store, bundle_metadata: bool, progress: Progress) -> None:
    _share_one_heap()
    known: dict[str, File] = {}
    with store.publish(opened.digest, known=known) as folder:
        with (
            Readers(bundle_metadata=bundle_metadata) as readers,  # first: processes are forked before there are threads
            _short_turns(),
            Writer(folder, opened.digest, bundle_metadata=bundle_metadata) as writer,
        ):
            files = CatalogFiles(writer, folder, readers)
            try:
                with _named():
                    root = await opened.unpack(files, FromLabel(LABEL), CATALOG, progress)
                progress("reading the catalog")
                _finish(writer, files.ranges(_within(root, folder)))
            except BadCatalog as error:
                raise BadContent(NO_CATALOG, f"load FBC from filesystem: {error}", opened.ref) from error
            known.update(writer.hashed)
        # What is damaged, or lacks what is asked for now, is served until this moment.
        store.forget(opened.digest)


def _within(root: Path, folder: Path) -> str:
    path = root.relative_to(folder).as_posix()
    return "" if path == "." else path


def write(files: Path, folder: Path, digest: str) -> None:
    """Read a catalog's files from a disk and write its content into `folder`. Raises BadCatalog."""
    with Writer(folder, digest) as writer:
        for blob in read_folder(files):
            writer.add(blob)
        _finish(writer, None)


def _finish(writer: Writer, ranges: Sequence[range] | None) -> None:
    """Raises BadCatalog when there is no blob at all."""
    if writer.finish(ranges).blob_count == 0:
        raise BadCatalog(
            "the catalog holds no blobs: its folder (which the label of an image names) has no file with content"
            " that .indexignore does not exclude"
        )


def _share_one_heap() -> None:
    """One heap for all threads of this process: with one for each, what a thread frees is of no use to the others."""
    with suppress(AttributeError):  # a C library without it
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


@contextmanager
def _short_turns() -> Iterator[None]:
    """Threads that inflate, write and hash need Python's lock for a moment only: they shall not wait for it as long as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
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
