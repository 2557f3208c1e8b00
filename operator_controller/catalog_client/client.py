"""What each Catalog offers of a package: reads catalogd's resolution documents over HTTP and caches them by content digest.

Called by operator/reconciler.py's observe. Never raises for a catalog that cannot be read: the returned CatalogOffer reports it,
with the catalog's last content if that is cached. Content that is cached is never requested again. Requests are sent by
session.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import aiohttp
import orjson

from olmkit.api.catalogs import Catalog, ConditionType
from olmkit.api.conditions import find_condition, is_condition_true
from olmkit.runtime.client import Client
from olmkit.tls.client_tls import ClientTls
from operator_controller.catalog_client.cache import CachedPackage, CacheKey, DiskCache, MemoryCache
from operator_controller.catalog_client.session import (
    MAX_RESPONSE_BYTES,
    REQUEST_TIMEOUT,
    CatalogRequestError,
    CatalogSession,
    ResponseTooLarge,
)
from operator_controller.resolve.package import (
    SHRINK_HINT,
    InvalidDocument,
    PackageContent,
    PackageTooLarge,
    read_package,
)
from operator_controller.resolve.snapshot import CatalogOffer, CatalogState

HINT_BY_STATUS = {
    401: ": it requires a token; start operator-controller with --catalogs-token",
    403: ": this account may not read catalogs; bind the ClusterRole olm-suite-catalog-reader to it",
}
"""The hint after the HTTP status in a message, if a person can fix the cause."""
_ALL_SUFFIX = "/all.json"


@dataclass(frozen=True)
class OfferResult:
    """An offer, and whether a change of it may come without an event."""

    offer: CatalogOffer
    needs_recheck: bool = False
    """The catalog cannot be read, or its content is not that of the Catalog's status."""


class CatalogClient:
    """Reads packages from catalogs. Created by connect(); close() it. Without a folder nothing survives a restart."""

    def __init__(self, session: CatalogSession, folder: Path | None, memory: MemoryCache | None = None) -> None:
        self._session = session
        self._disk = DiskCache(folder) if folder is not None else None
        self._memory = memory if memory is not None else MemoryCache()

    @classmethod
    async def connect(cls, folder: Path | None, trust: ClientTls | None = None, client: Client | None = None) -> Self:
        """Opens no connection yet. `trust` and `client` are those of CatalogSession."""
        return cls(CatalogSession(aiohttp.ClientSession(timeout=REQUEST_TIMEOUT), trust, client), folder)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def get_offer(self, raw: Mapping[str, Any], package: str) -> OfferResult:
        """What the Catalog, given as the API server's JSON, offers of the package. Never raises for a catalog."""
        catalog = Catalog.load(raw)
        digest = served_digest(catalog)
        if not digest:
            return OfferResult(_offer_not_served(catalog))
        key = (catalog.metadata.name, package)
        cached = await self._cached(key)
        if cached is not None and cached.uid != catalog.metadata.uid:
            cached = None
        if cached is not None and cached.digest == digest:
            return OfferResult(_offer_from_cache(catalog, cached))
        try:
            fetched = await self._fetch(catalog, package)
        except CatalogRequestError as error:
            return OfferResult(_offer_unreachable(catalog, package, cached, str(error)), needs_recheck=True)
        await self._cache(key, fetched)
        return OfferResult(_offer_from_cache(catalog, fetched.entry), needs_recheck=fetched.entry.digest != digest)

    async def retain_only(self, catalogs: set[str], packages: set[str]) -> None:
        """Remove cached content of all other Catalogs and of all other packages."""
        self._memory.retain_only(catalogs, packages)
        if self._disk is not None:
            await self._disk.retain_only(catalogs, packages)

    async def _fetch(self, catalog: Catalog, package: str) -> _FetchedPackage:
        """Request the package. Raises CatalogRequestError."""
        base = catalog_base_url(catalog.status.content_url or "")
        url = f"{base}/api/v1/resolution?package={quote(package, safe='')}"
        try:
            response = await self._session.get(base.split("/catalogs/", 1)[0], url, served_digest(catalog))
        except ResponseTooLarge as error:
            if not error.digest:
                raise
            reason = f"its document is larger than {MAX_RESPONSE_BYTES // 2**20} MiB; {SHRINK_HINT}"
            return _too_large(catalog, error.digest, reason)
        if response.status == 404 and response.digest:  # without a digest, catalogd does not know the catalog
            return _FetchedPackage(CachedPackage(catalog.metadata.uid, response.digest, None), b"null")
        if response.status != 200:
            raise CatalogRequestError(f"catalogd answered {response.status}{HINT_BY_STATUS.get(response.status, '')}")
        return await asyncio.to_thread(_parse_response, catalog, response.body, response.digest)

    async def _cached(self, key: CacheKey) -> CachedPackage | None:
        """Reads the entry from memory, else from disk."""
        entry = self._memory.get(key)
        if entry is None and self._disk is not None:
            entry = await self._disk.get(key)
            if entry is not None:
                self._memory.put(key, entry)
        return entry

    async def _cache(self, key: CacheKey, fetched: _FetchedPackage) -> None:
        self._memory.put(key, fetched.entry)
        if self._disk is not None:
            await self._disk.put(key, fetched.entry, fetched.document)


@dataclass(frozen=True)
class _FetchedPackage:
    """A response, as value and as JSON."""

    entry: CachedPackage
    document: bytes


def served_digest(catalog: Catalog) -> str:
    """The digest of the content that is served; "" if none is, or if none is to be used."""
    is_serving = is_condition_true(catalog.status.conditions, ConditionType.SERVING)
    is_wanted = not catalog.is_unavailable and not catalog.metadata.deleting
    return catalog.status.content_digest or "" if is_serving and is_wanted and catalog.status.content_url else ""


def catalog_base_url(content_url: str) -> str:
    """The common prefix of a catalog's URLs: its contentURL without /all.json."""
    return content_url.removesuffix(_ALL_SUFFIX).rstrip("/")


def package_names(catalog: Catalog) -> tuple[str, ...]:
    """The packages that the status lists: all of them, unless there are too many for it."""
    return tuple(filter(None, (name.strip() for name in (catalog.status.packages or "").split(","))))


# --- offers


def _make_offer(
    catalog: Catalog, content: PackageContent | None, state: CatalogState = CatalogState.SERVING, message: str = ""
) -> CatalogOffer:
    return CatalogOffer(
        catalog=catalog.metadata.name,
        priority=catalog.spec.priority,
        state=state,
        package=content,
        message=message,
        package_names=package_names(catalog),
    )


def _offer_not_served(catalog: Catalog) -> CatalogOffer:
    return CatalogOffer(
        catalog=catalog.metadata.name,
        priority=catalog.spec.priority,
        state=CatalogState.UNAVAILABLE if catalog.is_unavailable else CatalogState.PENDING,
        message="" if catalog.is_unavailable else _not_served_message(catalog),
    )


def _not_served_message(catalog: Catalog) -> str:
    """Why the Catalog is not served: the message of its own condition, if it has one."""
    if catalog.metadata.deleting:
        return "it is being deleted"
    for name in (ConditionType.UNPACKED, ConditionType.READY):
        condition = find_condition(catalog.status.conditions, name)
        if condition is not None and condition.status != "True" and condition.message:
            return condition.message
    return "it has not been read yet"


def _offer_from_cache(
    catalog: Catalog, cached: CachedPackage, state: CatalogState = CatalogState.SERVING, message: str = ""
) -> CatalogOffer:
    if cached.too_large:
        return _make_offer(catalog, None, CatalogState.TOO_LARGE, cached.too_large)
    return _make_offer(catalog, cached.content, state, message)


def _offer_unreachable(catalog: Catalog, package: str, cached: CachedPackage | None, message: str) -> CatalogOffer:
    """The last content if that is cached; else a state without content, unless the catalog certainly lacks the package."""
    if cached is not None:
        return _offer_from_cache(catalog, cached, CatalogState.CACHED, message)
    names = package_names(catalog)
    is_complete = catalog.status.package_count is not None and len(names) == catalog.status.package_count
    if is_complete and package not in names:
        return _make_offer(catalog, None, CatalogState.CACHED, message)
    return _make_offer(catalog, None, CatalogState.UNREACHABLE, message)


# --- responses


def _parse_response(catalog: Catalog, body: bytearray, digest: str) -> _FetchedPackage:
    """The cost grows with the document: called in a thread. Raises CatalogRequestError."""
    try:
        document = orjson.loads(body)
        named = document.get("catalogDigest") if isinstance(document, dict) else None
        digest = named if isinstance(named, str) else digest
        content = read_package(document)
    except PackageTooLarge as error:
        return _too_large(catalog, digest, str(error))
    except (orjson.JSONDecodeError, InvalidDocument) as error:
        raise CatalogRequestError(f"catalogd's answer cannot be read: {error}") from error
    return _FetchedPackage(CachedPackage(catalog.metadata.uid, digest, content, size=len(body)), bytes(body))


def _too_large(catalog: Catalog, digest: str, reason: str) -> _FetchedPackage:
    return _FetchedPackage(CachedPackage(catalog.metadata.uid, digest, None, reason), b"null")
