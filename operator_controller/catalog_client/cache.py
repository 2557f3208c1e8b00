"""What catalogs said of packages, kept in memory within a budget of documents and of bytes.

Filled and asked by catalog_client.py, which reads again from disk, or asks catalogd again, what had to go. Does no I/O.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from operator_controller.resolve.package import PackageContent

MAX_CACHED_DOCUMENTS = 2048
MAX_CACHED_BYTES = 64 * 1024 * 1024
"""Bytes of the documents as they were read, together. What they are as values takes several times that."""

CacheKey = tuple[str, str]
"""Names of a Catalog and of a package."""


@dataclass(frozen=True)
class CachedPackage:
    """What a catalog said of a package: `content` is None when it does not have it. `uid` is the Catalog's.

    `refusal` says why the content, which is None then, is more than can be resolved: it is not asked for again either.
    """

    uid: str
    digest: str
    content: PackageContent | None
    too_large: str = ""
    size: int = 0
    """Bytes of the document."""


class PackageCache:
    """Documents by Catalog and package; what was used longest ago goes first. The one that was kept last always stays."""

    def __init__(self, max_documents: int = MAX_CACHED_DOCUMENTS, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max_documents, self._max_bytes = max_documents, max_bytes
        self._known: OrderedDict[CacheKey, CachedPackage] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes of all documents that are kept."""
        return self._size

    def get(self, key: CacheKey) -> CachedPackage | None:
        """What is kept, which counts as used; None when nothing is."""
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
        return known

    def put(self, key: CacheKey, remembered: CachedPackage) -> None:
        """In place of what was kept under the key; others go where both do not fit."""
        self._drop(key)
        self._known[key] = remembered
        self._size += remembered.size
        while len(self._known) > 1 and (len(self._known) > self._max_documents or self._size > self._max_bytes):
            self._drop(next(iter(self._known)))

    def retain_only(self, catalogs: set[str], packages: set[str]) -> None:
        """Drop what other Catalogs said, and what these said of other packages."""
        for catalog, package in [*self._known]:
            if catalog not in catalogs or package not in packages:
                self._drop((catalog, package))

    def _drop(self, key: CacheKey) -> None:
        known = self._known.pop(key, None)
        self._size -= known.size if known is not None else 0
