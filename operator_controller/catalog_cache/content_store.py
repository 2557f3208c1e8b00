"""The contents of catalogs on disk, and which of them each Catalog had last.

    <folder>/sha256-<hex>/...   a content, shared by all Catalogs that have it (stored_documents.py)
    <folder>/catalogs.json      uid and digest by name of a Catalog, so that the last content counts after a restart too

Content is verified before it is first used in this process, and stored atomically: until the new content of a Catalog is stored,
the old one counts. What a Catalog had before its last content is kept until its content changes again, because the solver may
still read it. All else is removed. Without a folder that can be written, a temporary one is used.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from olmkit.api.names import is_digest
from olmkit.errors import OlmError
from olmkit.jobs.staging import run_in_thread
from olmkit.store.checksums import Integrity
from olmkit.store.disk_errors import disk_errors_as_waiting
from olmkit.store.folders import remove_tree, write_atomically
from olmkit.store.store import STAGING_FOLDER, Store, fill_staging
from operator_controller.catalog_cache.content_writer import write_content
from operator_controller.catalog_cache.session import CatalogRequestError
from operator_controller.catalog_cache.stored_documents import CatalogContent, ContentDocuments
from operator_controller.resolve.documents.catalog_documents import ContentMissing

STATE_FILE = "catalogs.json"

log = logging.getLogger(__name__)


class ContentNotStored(CatalogRequestError):
    """The content was read and cannot be stored; the message is for users."""


@dataclass(frozen=True)
class ContentRecord:
    """The last content that was read from the Catalog of this uid, and the one before it."""

    uid: str
    digest: str
    previous: str = ""


class ContentStore:
    """Contents in `folder`, or in a temporary folder if that is None or cannot be written. close() it.

    Only the event loop calls it; blocking work runs in threads. Raises OSError and OlmError when no folder can be created.
    """

    def __init__(self, folder: Path | None) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        try:
            self.folder = folder if folder is not None else self._temporary_folder()
            self._store = Store(self.folder)
        except OlmError as error:
            log.warning("the content of catalogs does not survive a restart", extra={"error": error.message})
            self.folder = self._temporary_folder()
            self._store = Store(self.folder)
        self.documents = ContentDocuments(self.folder)
        self._records: dict[str, ContentRecord] | None = None
        self._verified: set[str] = set()
        self._changes = asyncio.Lock()

    async def close(self) -> None:
        """Remove the temporary folder, if there is one."""
        if self._temporary is not None:
            await run_in_thread(self._temporary.cleanup)

    async def last(self, catalog: str, uid: str) -> CatalogContent | None:
        """The last content that was read from the Catalog of this uid, if it is intact."""
        if self._records is None:
            records = await run_in_thread(lambda: _read_state(self.folder / STATE_FILE))
            self._records = self._records if self._records is not None else records
        record = self._records.get(catalog)
        return await self.get(record.digest) if record is not None and record.uid == uid else None

    async def get(self, digest: str) -> CatalogContent | None:
        """The content of that digest, if it is stored and intact. Damaged content is removed."""
        if not is_digest(digest):
            return None
        try:
            if digest not in self._verified:
                if not await run_in_thread(lambda: self._is_intact(digest)):
                    return None
                self._verified.add(digest)
            return self.documents.open(digest)
        except ContentMissing:
            await self.report_damage(digest)
            return None

    async def report_damage(self, digest: str) -> None:
        """Verify a content that could not be read. If it is damaged, it is removed and requested again."""
        async with self._changes:
            self._forget(digest)
            await run_in_thread(lambda: self._is_intact(digest))

    @asynccontextmanager
    async def staging(self) -> AsyncIterator[Path]:
        """A folder for a response and its content, removed at the end. Raises ContentNotStored."""
        stack = ExitStack()
        try:
            with storage_errors():
                folder = await run_in_thread(lambda: stack.enter_context(self._store.stage()))
            yield folder
        finally:
            await run_in_thread(stack.close)

    async def publish(
        self, folder: Path, received: Path, encoding: str, digest: str, previous: CatalogContent | None
    ) -> CatalogContent:
        """Verify and store the response that is in `received`, in a folder of staging().

        Documents that are the same in `previous` are not parsed again.

        Raises InvalidContent, ContentTooLarge and ContentNotStored.
        """
        with storage_errors():
            await run_in_thread(lambda: _fill(folder, received, encoding, digest, previous))
            async with self._changes:
                if digest not in self._verified:  # another request may have stored it
                    await run_in_thread(lambda: self._store.publish_staged(folder, digest))
                    self._forget(digest)
                    self._verified.add(digest)
                try:
                    return await run_in_thread(lambda: self.documents.open(digest))
                except ContentMissing as error:
                    raise ContentNotStored(f"its content cannot be stored: {error}") from error

    async def record(self, catalog: str, uid: str, digest: str) -> None:
        """The content of that digest was read from the Catalog. Contents that no Catalog needs are removed."""
        async with self._changes:
            records = self._records if self._records is not None else {}
            known = records.get(catalog)
            if known is not None and (known.uid, known.digest) == (uid, digest):
                return
            previous = known.digest if known is not None else ""
            self._records = {**records, catalog: ContentRecord(uid, digest, previous)}
            await self._write_state()

    async def retain_only(self, catalogs: Mapping[str, str]) -> None:
        """Forget all Catalogs but these, uid by name, and remove the contents that none of them needs."""
        async with self._changes:
            records = self._records
            if records is None:
                records = await run_in_thread(lambda: _read_state(self.folder / STATE_FILE))
            self._records = {name: record for name, record in records.items() if catalogs.get(name) == record.uid}
            if self._records != records:
                await self._write_state()
            else:
                await self._collect_garbage()
            await run_in_thread(lambda: _remove_other_folders(self.folder))

    async def _write_state(self) -> None:
        data = orjson.dumps({name: record.__dict__ for name, record in sorted((self._records or {}).items())})
        try:
            await run_in_thread(lambda: write_atomically(self.folder / STATE_FILE, data))
        except OSError as error:
            log.warning("the content of catalogs may not survive a restart", extra={"error": str(error)})
        await self._collect_garbage()

    async def _collect_garbage(self) -> None:
        needed = {digest for record in (self._records or {}).values() for digest in (record.digest, record.previous)}
        self.documents.retain_only(needed)
        self._verified &= needed
        try:
            await run_in_thread(lambda: self._store.collect_garbage(needed))
        except OSError as error:
            log.warning("content that no catalog needs could not be removed", extra={"error": str(error)})

    def _forget(self, digest: str) -> None:
        self._verified.discard(digest)
        self.documents.forget(digest)

    def _is_intact(self, digest: str) -> bool:
        """Verify the content; remove it if it is damaged. Blocks."""
        found = self._store.check_integrity(digest)
        if found.state is Integrity.CORRUPT:
            with suppress(OlmError, OSError):
                self._store.remove(digest)
        return found.state is Integrity.INTACT

    def _temporary_folder(self) -> Path:
        self._temporary = tempfile.TemporaryDirectory(prefix="catalog-content-")
        return Path(self._temporary.name)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Convert errors of the disk to ContentNotStored."""
    try:
        with disk_errors_as_waiting():
            yield
    except OlmError as error:
        raise ContentNotStored(f"its content cannot be stored: {error.message}") from error
    except OSError as error:
        raise ContentNotStored(f"its content cannot be stored: {error.strerror or type(error).__name__}") from error


def _fill(folder: Path, received: Path, encoding: str, digest: str, previous: CatalogContent | None) -> None:
    with fill_staging(folder, digest) as content:
        write_content(received, encoding, digest, content, previous)
        received.unlink()


def _read_state(path: Path) -> dict[str, ContentRecord]:
    """The records; empty if the file is missing or damaged, then everything is requested again."""
    try:
        value = orjson.loads(path.read_bytes())
        return {name: ContentRecord(**record) for name, record in value.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _remove_other_folders(root: Path) -> None:
    """Remove folders that are no content."""
    try:
        for path in root.iterdir():
            is_content = path.name == STAGING_FOLDER or is_digest(path.name.replace("-", ":", 1))
            if not is_content and path.is_dir() and not path.is_symlink():
                remove_tree(path)
    except OSError as error:
        log.warning("content that no catalog needs could not be removed", extra={"error": str(error)})
