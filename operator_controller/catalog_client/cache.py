"""The package contents that were read from catalogs: in memory within a budget, and on disk across restarts.

Used by client.py, which compares the uid and digest of an entry. What is not in memory is read from disk; what is not
there is requested from catalogd.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import orjson

from olmkit.store.folders import remove_tree, write_atomically
from operator_controller.resolve.package import InvalidDocument, PackageContent, PackageTooLarge, read_package

MAX_CACHED_DOCUMENTS = 2048
MAX_CACHED_BYTES = 64 * 1024 * 1024
"""Bytes of all cached documents together, as they were read. Their parsed values take several times that."""

CacheKey = tuple[str, str]
"""Names of a Catalog and of a package."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CachedPackage:
    """A package as a catalog served it. `content` is None if the catalog does not have the package. `uid` is the Catalog's."""

    uid: str
    digest: str
    content: PackageContent | None
    too_large: str = ""
    """Why the content exceeds a limit of resolution; `content` is None then. It is not requested again either."""
    size: int = 0
    """Bytes of the document."""


class MemoryCache:
    """Documents by Catalog and package. The least recently used is evicted first; the one added last always stays."""

    def __init__(self, max_documents: int = MAX_CACHED_DOCUMENTS, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max_documents, self._max_bytes = max_documents, max_bytes
        self._entries: OrderedDict[CacheKey, CachedPackage] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes of all cached documents."""
        return self._size

    def get(self, key: CacheKey) -> CachedPackage | None:
        """The entry, which counts as used; None if there is none."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: CacheKey, entry: CachedPackage) -> None:
        """Add or replace the entry; evict others while the budget is exceeded."""
        self._remove(key)
        self._entries[key] = entry
        self._size += entry.size
        while len(self._entries) > 1 and (len(self._entries) > self._max_documents or self._size > self._max_bytes):
            self._remove(next(iter(self._entries)))

    def retain_only(self, catalogs: set[str], packages: set[str]) -> None:
        """Remove the entries of all other Catalogs and of all other packages."""
        for catalog, package in [*self._entries]:
            if catalog not in catalogs or package not in packages:
                self._remove((catalog, package))

    def _remove(self, key: CacheKey) -> None:
        entry = self._entries.pop(key, None)
        self._size -= entry.size if entry is not None else 0


@dataclass(frozen=True)
class DiskCache:
    """One file per Catalog and package in `folder`: `{"uid", "digest", "refusal", "document"}`. Errors of the disk are logged."""

    folder: Path

    async def get(self, key: CacheKey) -> CachedPackage | None:
        """The entry; None if there is none, or if its file is damaged."""
        return await asyncio.to_thread(_read_file, self._path(key))

    async def put(self, key: CacheKey, entry: CachedPackage, document: bytes) -> None:
        """Add or replace the entry; `document` is its JSON as read."""
        await asyncio.to_thread(_write_file, self._path(key), entry, document)

    async def retain_only(self, catalogs: set[str], packages: set[str]) -> None:
        """Remove the files of all other Catalogs and of all other packages."""
        await asyncio.to_thread(_remove_others, self.folder, catalogs, packages)

    def _path(self, key: CacheKey) -> Path:
        catalog, package = key
        return self.folder / catalog / _file_name(package)


def _file_name(package: str) -> str:
    return f"{package}.json"


def _read_file(path: Path) -> CachedPackage | None:
    try:
        body = path.read_bytes()
        facts = orjson.loads(body)
        if facts.get("refusal"):
            return None  # a later version of this program may have higher limits: it is requested again
        content = None if facts["document"] is None else read_package(facts["document"])
        return CachedPackage(str(facts["uid"]), str(facts["digest"]), content, size=len(body))
    except (OSError, orjson.JSONDecodeError, InvalidDocument, PackageTooLarge, KeyError, TypeError, AttributeError):
        return None  # missing or damaged: it is requested again


def _write_file(path: Path, entry: CachedPackage, document: bytes) -> None:
    facts = {
        "uid": entry.uid,
        "digest": entry.digest,
        "refusal": entry.too_large,
        "document": orjson.Fragment(document),
    }
    try:
        write_atomically(path, orjson.dumps(facts))
    except OSError as error:
        log.warning("the content of a catalog could not be cached on disk", extra={"error": str(error)})


def _remove_others(folder: Path, catalogs: set[str], packages: set[str]) -> None:
    retained = {_file_name(package) for package in packages}
    try:
        for path in folder.iterdir():
            if path.name not in catalogs:
                remove_tree(path)
                continue
            for file in path.glob("*.json"):
                if file.name not in retained:
                    file.unlink(missing_ok=True)
    except FileNotFoundError:
        return  # nothing has been cached yet
    except OSError as error:
        log.warning("cached content that is not needed could not be removed", extra={"error": str(error)})
