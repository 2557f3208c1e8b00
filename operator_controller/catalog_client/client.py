"""What catalogs say of one package: catalogd's resolution documents over HTTP, remembered by the digest of their content.

Called by reconciler.py's observe. Nothing here raises: a catalog that cannot be read is an Offer that says so, with its last
content where that is known (in memory, else in the cache folder). Never asks twice for content that it has. How a server is asked
is catalog_requests.py's.
"""

from __future__ import annotations

import asyncio
import logging
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
from olmkit.store.folders import remove_tree, write_atomically
from olmkit.tls.client_tls import ClientTls
from operator_controller.catalog_client.cache import CachedPackage, PackageCache
from operator_controller.catalog_client.http import (
    MAX_RESPONSE_BYTES,
    REQUEST_TIMEOUT,
    CatalogRequestError,
    CatalogServers,
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
    401: ": it asks for a token; start operator-controller with --catalogs-token",
    403: ": this account may not read catalogs; bind the ClusterRole olm-suite-catalog-reader to it",
}
"""What follows the code, where a person can do something about it."""
_ALL_SUFFIX = "/all.json"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OfferResult:
    """An Offer, and whether it is of older or newer content than the Catalog's status names."""

    offer: CatalogOffer
    needs_recheck: bool = False


class CatalogClient:
    """Asks catalogd. Made once per process by connect(); close() it. `folder` may be None: then nothing survives a restart."""

    def __init__(self, servers: CatalogServers, folder: Path | None, memory: PackageCache | None = None) -> None:
        self._servers = servers
        self._folder = folder
        self._memory = memory if memory is not None else PackageCache()

    @classmethod
    async def connect(cls, folder: Path | None, trust: ClientTls | None = None, client: Client | None = None) -> Self:
        """Opens no connection. `trust` and `client` are those of CatalogServers."""
        return cls(CatalogServers(aiohttp.ClientSession(timeout=REQUEST_TIMEOUT), trust, client), folder)

    async def close(self) -> None:
        """Close all connections."""
        await self._servers.close()

    async def get_offer(self, raw: Mapping[str, Any], package: str) -> OfferResult:
        """What the Catalog `raw` offers of `package` now."""
        catalog = Catalog.load(raw)
        digest = served_digest(catalog)
        if not digest:
            return OfferResult(_offer_not_served(catalog))
        known = await self._recall(catalog.metadata.name, package)
        if known is not None and known.uid != catalog.metadata.uid:
            known = None
        if known is not None and known.digest == digest:
            return OfferResult(_offer_from_cache(catalog, known))
        try:
            fresh = await self._fetch(catalog, package)
        except CatalogRequestError as error:
            return OfferResult(_offer_unreachable(catalog, package, known, str(error)), needs_recheck=True)
        await self._remember(catalog.metadata.name, package, fresh)
        needs_recheck = fresh.remembered.digest != digest
        return OfferResult(_offer_from_cache(catalog, fresh.remembered), needs_recheck)

    async def retain_only(self, catalogs: set[str], packages: set[str]) -> None:
        """Drop what is remembered of all other Catalogs, which are gone, and of packages that nobody asks for any more."""
        self._memory.retain_only(catalogs, packages)
        if self._folder is not None:
            await asyncio.to_thread(_remove_others, self._folder, catalogs, packages)

    async def _fetch(self, catalog: Catalog, package: str) -> _FetchedPackage:
        base = catalog_base_url(catalog.status.content_url or "")
        url = f"{base}/api/v1/resolution?package={quote(package, safe='')}"
        try:
            answered = await self._servers.get(base.split("/catalogs/", 1)[0], url, served_digest(catalog))
        except ResponseTooLarge as error:
            if not error.digest:
                raise
            return _too_large(
                catalog, error.digest, f"its document is larger than {MAX_RESPONSE_BYTES // 2**20} MiB; {SHRINK_HINT}"
            )
        if answered.status == 404 and answered.digest:  # without the digest it is the catalog that is not known there
            return _FetchedPackage(CachedPackage(catalog.metadata.uid, answered.digest, None), b"null")
        if answered.status != 200:
            raise CatalogRequestError(f"catalogd answered {answered.status}{HINT_BY_STATUS.get(answered.status, '')}")
        return await asyncio.to_thread(_parse_response, catalog, answered.body, answered.digest)

    async def _recall(self, catalog: str, package: str) -> CachedPackage | None:
        key = (catalog, package)
        known = self._memory.get(key)
        if known is None and self._folder is not None:
            known = await asyncio.to_thread(_read_file, self._folder / catalog / _file_name(package))
            if known is not None:
                self._memory.put(key, known)
        return known

    async def _remember(self, catalog: str, package: str, fresh: _FetchedPackage) -> None:
        self._memory.put((catalog, package), fresh.remembered)
        if self._folder is not None:
            await asyncio.to_thread(_write_file, self._folder / catalog / _file_name(package), fresh)


@dataclass(frozen=True)
class _FetchedPackage:
    """An answer, as value and as bytes."""

    remembered: CachedPackage
    body: bytes


def served_digest(catalog: Catalog) -> str:
    """The digest of the content that is served; "" when none is, or when none shall be."""
    is_serving = is_condition_true(catalog.status.conditions, ConditionType.SERVING)
    is_wanted = not catalog.is_unavailable and not catalog.metadata.deleting
    return catalog.status.content_digest or "" if is_serving and is_wanted and catalog.status.content_url else ""


def catalog_base_url(content_url: str) -> str:
    """Where a catalog's HTTP paths begin: its contentURL without /all.json."""
    return content_url.removesuffix(_ALL_SUFFIX).rstrip("/")


def _not_served_message(catalog: Catalog) -> str:
    """Why a Catalog is not served, in its own words."""
    if catalog.metadata.deleting:
        return "it is being deleted"
    for name in (ConditionType.UNPACKED, ConditionType.READY):
        condition = find_condition(catalog.status.conditions, name)
        if condition is not None and condition.status != "True" and condition.message:
            return condition.message
    return "it has not been read yet"


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


def package_names(catalog: Catalog) -> tuple[str, ...]:
    """The packages that the status names; all of them unless they were too many for it."""
    return tuple(filter(None, (name.strip() for name in (catalog.status.packages or "").split(","))))


def _offer_not_served(catalog: Catalog) -> CatalogOffer:
    return CatalogOffer(
        catalog=catalog.metadata.name,
        priority=catalog.spec.priority,
        state=CatalogState.UNAVAILABLE if catalog.is_unavailable else CatalogState.PENDING,
        message="" if catalog.is_unavailable else _not_served_message(catalog),
    )


def _offer_from_cache(
    catalog: Catalog, known: CachedPackage, state: CatalogState = CatalogState.SERVING, message: str = ""
) -> CatalogOffer:
    if known.too_large:
        return _make_offer(catalog, None, CatalogState.TOO_LARGE, known.too_large)
    return _make_offer(catalog, known.content, state, message)


def _offer_unreachable(catalog: Catalog, package: str, known: CachedPackage | None, message: str) -> CatalogOffer:
    """Its last content counts; if there is none here, it matters only if the package was there."""
    if known is not None:
        return _offer_from_cache(catalog, known, CatalogState.CACHED, message)
    names = package_names(catalog)
    is_complete = catalog.status.package_count is not None and len(names) == catalog.status.package_count
    if is_complete and package not in names:
        return _make_offer(catalog, None, CatalogState.CACHED, message)
    return _make_offer(catalog, None, CatalogState.UNREACHABLE, message)


def _parse_response(catalog: Catalog, body: bytearray, digest: str) -> _FetchedPackage:
    """Costs as much as the document is large: called in a thread."""
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


def _too_large(catalog: Catalog, digest: str, why: str) -> _FetchedPackage:
    return _FetchedPackage(CachedPackage(catalog.metadata.uid, digest, None, why), b"null")


# --- the folder: one file per catalog and package, `{"uid", "digest", "refusal", "document"}`


def _file_name(package: str) -> str:
    return f"{package}.json"


def _read_file(path: Path) -> CachedPackage | None:
    try:
        body = path.read_bytes()
        kept = orjson.loads(body)
        if kept.get("refusal"):
            return None  # what was too much may be little to a later version of this program: it is asked for again
        content = None if kept["document"] is None else read_package(kept["document"])
        return CachedPackage(str(kept["uid"]), str(kept["digest"]), content, size=len(body))
    except (OSError, orjson.JSONDecodeError, InvalidDocument, PackageTooLarge, KeyError, TypeError, AttributeError):
        return None  # absent or damaged: it is asked for again


def _write_file(path: Path, fresh: _FetchedPackage) -> None:
    known = fresh.remembered
    facts = {
        "uid": known.uid,
        "digest": known.digest,
        "refusal": known.too_large,
        "document": orjson.Fragment(fresh.body),
    }
    try:
        write_atomically(path, orjson.dumps(facts))
    except OSError as error:
        log.warning("catalog content is not kept on disk", extra={"error": str(error)})


def _remove_others(folder: Path, catalogs: set[str], packages: set[str]) -> None:
    kept = {_file_name(package) for package in packages}
    try:
        for path in folder.iterdir():
            if path.name not in catalogs:
                remove_tree(path)
                continue
            for file in path.glob("*.json"):
                if file.name not in kept:
                    file.unlink(missing_ok=True)
    except FileNotFoundError:
        return  # nothing has been kept yet
    except OSError as error:
        log.warning("catalog content that nobody asks for is not removed", extra={"error": str(error)})
