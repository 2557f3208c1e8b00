"""The contents of catalogs on disk, and which of them each Catalog had last.

    <directory>/sha256-<hex>/...   a content, shared by all Catalogs that have it (stored_documents.py)
    <directory>/catalogs.json      uid and digest by name of a Catalog, so that the last content counts after a restart too

Content is verified before it is first used in this process, and stored atomically: until the new content of a Catalog is stored,
the old one counts. Whatever is wrong with a line refuses the whole content, so that a truncated or mixed response never replaces
what is known of a catalog; one line is in memory at a time. What a Catalog had before its last content is kept until its content
changes again, because the solver may still read it. All else is removed. Without a directory that can be written, a temporary
one is used.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import logging
import re
import tempfile
import zlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import orjson

from olmkit.api.names import is_digest
from olmkit.errors import OlmError
from olmkit.gocompat.numbers import read_json
from olmkit.gocompat.text import quoted
from olmkit.jobs.staging import run_in_thread
from olmkit.store.checksums import Integrity
from olmkit.store.directories import remove_tree, write_atomically
from olmkit.store.disk_errors import disk_errors_as_waiting
from olmkit.store.store import STAGING_DIRECTORY, Store, fill_staging
from operator_controller.catalog_cache.stored_documents import (
    DOCUMENTS_FILE,
    INDEX_FILE,
    MAX_DOCUMENT_BYTES,
    CatalogContent,
    ContentDocuments,
    ContentIndex,
    DocumentEntry,
    GroupKind,
)
from operator_controller.resolve.documents.catalog_documents import ContentMissing
from operator_controller.resolve.documents.document_reader import DocumentEnvelope, group_kind_of, read_envelope

SPLIT_HINT = "ask its publisher to split it or to remove old entries"
MAX_CONTENT_BYTES = 128 * 1024 * 1024
"""Bytes of all documents of a catalog, as received and as decompressed. The largest real catalogs have 6 million."""
MAX_PACKAGES = 10_000
"""Packages of one catalog. catalogd reads no more of them."""
MAX_PROVIDED_KINDS = 100_000
"""Pairs of a kind and a package that provides it, in one catalog. The largest real catalogs have some thousands."""
MAX_INDEX_BYTES = 8 * 1024 * 1024
"""Bytes of INDEX_FILE, which every process that reads the catalog keeps in memory. The largest real catalogs need 300,000."""
MAX_PACKAGE_NAME_LENGTH = 253
"""Characters of a package name that is listed. spec.packageName of an Operator has no more."""
MAX_INDEXED_BYTES = 2 * 1024 * 1024
"""Bytes of a document that is parsed for the index. Larger ones are only searched: parsed JSON may take twenty times its size,
and documents of packages that nobody requests must not exhaust the memory of the process."""
IDENTITY, GZIP = "identity", "gzip"
_COPY_BYTES = 1024 * 1024
_TAIL_BYTES = 1024 * 1024
_TAIL = re.compile(rb'"digest":"(sha256:[0-9a-f]{64})"|"package":("(?:[^"\\]|\\.)*")')
_GVK_PROPERTY = re.compile(rb'\{"type":"olm\.gvk","value":(\{[^{}]*\})\}')
_LineKey = tuple[int, bytes]


STATE_FILE = "catalogs.json"

log = logging.getLogger(__name__)


class ContentNotStored(Exception):
    """The content was read and cannot be stored; the message is for users."""


@dataclass(frozen=True)
class ContentRecord:
    """The last content that was read from the Catalog of this uid, and the one before it."""

    uid: str
    digest: str
    previous: str = ""


class ContentStore:
    """Contents in `directory`, or in a temporary directory if that is None or cannot be written. close() it.

    Only the event loop calls it; blocking work runs in threads. Raises OSError and OlmError when no directory can be created.
    """

    def __init__(self, directory: Path | None) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        try:
            self.directory = directory if directory is not None else self._temporary_directory()
            self._store = Store(self.directory)
        except OlmError as error:
            log.warning("the content of catalogs does not survive a restart", extra={"error": error.message})
            self.directory = self._temporary_directory()
            self._store = Store(self.directory)
        self.documents = ContentDocuments(self.directory)
        self._records: dict[str, ContentRecord] | None = None
        self._verified: set[str] = set()
        self._changes = asyncio.Lock()

    async def close(self) -> None:
        """Remove the temporary directory, if there is one."""
        if self._temporary is not None:
            await run_in_thread(self._temporary.cleanup)

    async def last(self, catalog: str, uid: str) -> CatalogContent | None:
        """The last content that was read from the Catalog of this uid, if it is intact."""
        if self._records is None:
            records = await run_in_thread(lambda: _read_state(self.directory / STATE_FILE))
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
        """A directory for a response and its content, removed at the end. Raises ContentNotStored."""
        stack = ExitStack()
        try:
            with storage_errors():
                directory = await run_in_thread(lambda: stack.enter_context(self._store.stage()))
            yield directory
        finally:
            await run_in_thread(stack.close)

    async def publish(
        self, directory: Path, received: Path, encoding: str, digest: str, previous: CatalogContent | None
    ) -> CatalogContent:
        """Verify and store the response that is in `received`, in a directory of staging().

        Documents that are the same in `previous` are not parsed again.

        Raises InvalidContent, ContentTooLarge and ContentNotStored.
        """
        with storage_errors():
            await run_in_thread(lambda: _fill(directory, received, encoding, digest, previous))
            async with self._changes:
                if digest not in self._verified:  # another request may have stored it
                    await run_in_thread(lambda: self._store.publish_staged(directory, digest))
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
                records = await run_in_thread(lambda: _read_state(self.directory / STATE_FILE))
            self._records = {name: record for name, record in records.items() if catalogs.get(name) == record.uid}
            if self._records != records:
                await self._write_state()
            else:
                await self._collect_garbage()
            await run_in_thread(lambda: _remove_other_directories(self.directory))

    async def _write_state(self) -> None:
        data = orjson.dumps({name: record.__dict__ for name, record in sorted((self._records or {}).items())})
        try:
            await run_in_thread(lambda: write_atomically(self.directory / STATE_FILE, data))
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

    def _temporary_directory(self) -> Path:
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


def _fill(directory: Path, received: Path, encoding: str, digest: str, previous: CatalogContent | None) -> None:
    with fill_staging(directory, digest) as content:
        write_content(received, encoding, digest, content, previous)
        received.unlink()


def _read_state(path: Path) -> dict[str, ContentRecord]:
    """The records; empty if the file is missing or damaged, then everything is requested again."""
    try:
        value = orjson.loads(path.read_bytes())
        return {name: ContentRecord(**record) for name, record in value.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _remove_other_directories(root: Path) -> None:
    """Remove directories that are no content."""
    try:
        for path in root.iterdir():
            is_content = path.name == STAGING_DIRECTORY or is_digest(path.name.replace("-", ":", 1))
            if not is_content and path.is_dir() and not path.is_symlink():
                remove_tree(path)
    except OSError as error:
        log.warning("content that no catalog needs could not be removed", extra={"error": str(error)})


class InvalidContent(ValueError):
    """The response is not the resolution documents of one content. The message says which part."""


class ContentTooLarge(ValueError):
    """The content exceeds a limit. The message says which, and what to do."""


def write_content(
    received: Path, encoding: str, digest: str, directory: Path, previous: CatalogContent | None = None
) -> None:
    """Write DOCUMENTS_FILE and INDEX_FILE into `directory` from a response with the content `digest` in IDENTITY or GZIP.

    Documents that are the same in `previous` are not parsed again. Raises InvalidContent, ContentTooLarge and OSError.
    """
    index = _IndexBuilder(digest, _known_documents(previous) if previous is not None else {})
    with open(received, "rb") as raw, open(directory / DOCUMENTS_FILE, "wb", buffering=_COPY_BYTES) as target:
        source: IO[bytes] = raw if encoding == IDENTITY else gzip.GzipFile(fileobj=raw)  # type: ignore[assignment]
        for start, line, length in _copied_lines(source, target):
            index.add(line, start, length)
    text = index.build().to_json()
    if len(text) > MAX_INDEX_BYTES:
        raise ContentTooLarge(
            f"the names of the packages and kinds of its catalog take more than {MAX_INDEX_BYTES // 2**20} MiB; {SPLIT_HINT}"
        )
    (directory / INDEX_FILE).write_bytes(text)


def _copied_lines(source: IO[bytes], target: IO[bytes]) -> Iterator[tuple[int, bytes, int]]:
    """Copy, and yield each line with its start and length. Of a line above MAX_DOCUMENT_BYTES the end alone is yielded."""
    start = 0
    try:
        while line := source.readline(MAX_DOCUMENT_BYTES + 1):
            length = len(line)
            target.write(line)
            while not line.endswith(b"\n") and (rest := source.readline(_COPY_BYTES)):
                target.write(rest)
                line, length = line[-_TAIL_BYTES:] + rest, length + len(rest)
                _refuse_too_large(start + length)
            _refuse_too_large(start + length)
            if not line.endswith(b"\n"):
                raise InvalidContent("its last line is not complete")
            yield start, line, length
            start += length
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidContent("its compressed form is not complete or damaged") from error


def _refuse_too_large(size: int) -> None:
    if size > MAX_CONTENT_BYTES:
        raise ContentTooLarge(too_large_message())


def too_large_message() -> str:
    """Explain why a content above MAX_CONTENT_BYTES is refused."""
    return f"the resolution documents of its catalog are larger than {MAX_CONTENT_BYTES // 2**20} MiB; {SPLIT_HINT}"


class _KnownDocument(NamedTuple):
    """The entry of a document in the index of another content."""

    package: str
    digest: str
    kinds: Collection[GroupKind]


def _known_documents(previous: CatalogContent) -> dict[_LineKey, _KnownDocument]:
    """The documents of a content by what identifies them in another one; empty if it cannot be read."""
    kinds: dict[str, list[GroupKind]] = {}
    for kind, packages in previous.index.providers.items():
        for package in packages:
            kinds.setdefault(package, []).append(kind)
    known: dict[_LineKey, _KnownDocument] = {}
    try:
        with open(previous.directory / DOCUMENTS_FILE, "rb", buffering=0) as file:
            for package, (digest, start, length) in previous.index.packages.items():
                if length <= MAX_DOCUMENT_BYTES:
                    file.seek(start)
                    key = _line_key(file.read(length), previous.digest)
                    if key is not None:
                        known[key] = _KnownDocument(package, digest, kinds.get(package, ()))
    except OSError:
        return {}
    return known


def _line_key(line: bytes, catalog_digest: str) -> _LineKey | None:
    """Locate the catalogDigest in the line, and hash the rest of it. None if that is not certain."""
    field = _catalog_digest_field(catalog_digest)
    position = line.find(field)
    if position < 0 or line.find(field, position + 1) >= 0:
        return None
    rest = hashlib.sha256(memoryview(line)[:position])
    rest.update(memoryview(line)[position + len(field) :])
    return position, rest.digest()


class _IndexBuilder:
    """Collects the entries of one content; documents that are `known` are not parsed."""

    def __init__(self, digest: str, known: Mapping[_LineKey, _KnownDocument]) -> None:
        self._digest = digest
        self._known = known
        self._packages: dict[str, DocumentEntry] = {}
        self._providers: dict[GroupKind, list[str]] = {}
        self._lines = 0
        self._provided = 0

    def add(self, line: bytes, start: int, length: int) -> None:
        """Add a line. Raises InvalidContent and ContentTooLarge."""
        self._lines += 1
        if self._lines > MAX_PACKAGES:
            raise ContentTooLarge(f"its catalog has more than {MAX_PACKAGES:,} packages; {SPLIT_HINT}")
        key = _line_key(line, self._digest) if self._known else None
        known = self._known.get(key) if key is not None else None
        try:
            package, document_digest, kinds = known or self._read(line, length)
        except ValueError as error:
            raise InvalidContent(f"{error} (line {self._lines:,})") from error
        if len(package) > MAX_PACKAGE_NAME_LENGTH:
            return
        if package in self._packages:
            raise InvalidContent(f"package {quoted(package)} is listed more than once")
        self._packages[package] = DocumentEntry(document_digest, start, length)
        self._provided += len(kinds)
        if self._provided > MAX_PROVIDED_KINDS:
            raise ContentTooLarge(
                f"the packages of its catalog provide more than {MAX_PROVIDED_KINDS:,} kinds; {SPLIT_HINT}"
            )
        for kind in kinds:
            self._providers.setdefault(kind, []).append(package)

    def build(self) -> ContentIndex:
        """The index, sorted."""
        return ContentIndex(
            dict(sorted(self._packages.items())),
            {kind: tuple(sorted(packages)) for kind, packages in sorted(self._providers.items())},
        )

    def _read(self, line: bytes, length: int) -> _KnownDocument:
        """Raises ValueError."""
        envelope = read_envelope(line) if length <= MAX_INDEXED_BYTES else self._scanned(line, length)
        if not envelope.package:
            raise ValueError("the document names no package")
        if envelope.catalog_digest != self._digest:
            raise ValueError("the document belongs to another content of the catalog")
        if not is_digest(envelope.digest):
            raise ValueError("the document has no digest")
        return _KnownDocument(envelope.package, envelope.digest, envelope.owned)

    def _scanned(self, line: bytes, length: int) -> DocumentEnvelope:
        """The envelope of a large document, which is not decoded."""
        package, digest = _tail_names(line)
        is_of_content = length > MAX_DOCUMENT_BYTES or _catalog_digest_field(self._digest) in line
        owned: set[GroupKind] = set()
        for kind in _scanned_kinds(line):
            owned.add(kind)
            if len(owned) > MAX_PROVIDED_KINDS:
                break  # add() refuses the content
        return DocumentEnvelope(package, digest, self._digest if is_of_content else "", owned)


def _tail_names(line: bytes) -> tuple[str, str]:
    """Package and digest of a large document, from its end: its keys are sorted."""
    found_package, found_digest = "", ""
    for match in _TAIL.finditer(line[-_TAIL_BYTES:]):
        digest, package = match.groups()
        found_digest = found_digest if digest is None else digest.decode()
        found_package = found_package if package is None else orjson.loads(package)
    return found_package, found_digest


def _scanned_kinds(line: bytes) -> Iterator[GroupKind]:
    """The kinds that a large document provides, and possibly others that occur in it, one at a time."""
    for match in _GVK_PROPERTY.finditer(line):
        with suppress(orjson.JSONDecodeError):
            yield from group_kind_of(read_json(match[1]))


def _catalog_digest_field(catalog_digest: str) -> bytes:
    return b'"catalogDigest":"%s"' % catalog_digest.encode()
