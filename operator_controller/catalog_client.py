"""What catalogs say of one package: catalogd's resolution documents over HTTP, remembered by the digest of their content.

Called by reconciler.py's observe. Nothing here raises: a catalog that cannot be read is an Offer that says so, with its last
content where that is known (in memory, else in the cache folder). Never asks twice for content that it has. How a server is asked
is catalog_requests.py's.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import aiohttp
import orjson

from olmkit.api.catalogs import Availability, Catalog, ConditionType
from olmkit.client import Client
from olmkit.serving.trust import Trust
from operator_controller.catalog_requests import TIMEOUT, CatalogServers, Unreadable
from operator_controller.resolve.candidates import Offer, Standing
from operator_controller.resolve.package import BadDocument, PackageContent, read_package

REMEMBERED = 2048
"""Documents kept in memory."""
WHAT_TO_DO = {
    401: ": it asks for a token; start operator-controller with --catalogs-token",
    403: ": this account may not read catalogs; bind the ClusterRole olm-suite-catalog-reader to it",
}
"""What follows the code, where a person can do something about it."""
_ALL_SUFFIX = "/all.json"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Remembered:
    """What a catalog said of a package: `content` is None when it does not have it. `uid` is the Catalog's."""

    uid: str
    digest: str
    content: PackageContent | None


@dataclass(frozen=True)
class Answer:
    """An Offer, and whether it is of older or newer content than the Catalog's status names."""

    offer: Offer
    is_lagging: bool = False


class CatalogClient:
    """Asks catalogd. Made once per process by connect(); close() it. `folder` may be None: then nothing survives a restart."""

    def __init__(self, servers: CatalogServers, folder: Path | None) -> None:
        self._servers = servers
        self._folder = folder
        self._memory: OrderedDict[tuple[str, str], Remembered] = OrderedDict()

    @classmethod
    async def connect(cls, folder: Path | None, trust: Trust | None = None, client: Client | None = None) -> Self:
        """Opens no connection. `trust` and `client` are those of CatalogServers."""
        if folder is not None:
            await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        return cls(CatalogServers(aiohttp.ClientSession(timeout=TIMEOUT), trust, client), folder)

    async def close(self) -> None:
        """Close all connections."""
        await self._servers.close()

    async def offer(self, raw: Mapping[str, Any], package: str) -> Answer:
        """What the Catalog `raw` offers of `package` now."""
        catalog = Catalog.load(raw)
        digest = served_digest(catalog)
        if not digest:
            return Answer(self._unserved(catalog))
        known = await self._recall(catalog.metadata.name, package)
        if known is not None and known.uid != catalog.metadata.uid:
            known = None
        if known is not None and known.digest == digest:
            return Answer(_offer(catalog, known.content))
        try:
            fresh = await self._fetch(catalog, package)
        except Unreadable as error:
            return Answer(_away(catalog, package, known, str(error)), is_lagging=True)
        await self._remember(catalog.metadata.name, package, fresh)
        is_lagging = fresh.remembered.digest != digest
        return Answer(_offer(catalog, fresh.remembered.content), is_lagging)

    async def keep_only(self, catalogs: set[str]) -> None:
        """Drop what is remembered of all other Catalogs: they are gone, and so is their content."""
        for key in [key for key in self._memory if key[0] not in catalogs]:
            del self._memory[key]
        if self._folder is not None:
            await asyncio.to_thread(_remove_others, self._folder, catalogs)

    def _unserved(self, catalog: Catalog) -> Offer:
        return Offer(
            catalog=catalog.metadata.name,
            priority=catalog.spec.priority,
            standing=Standing.PENDING,
            message=_state(catalog),
        )

    async def _fetch(self, catalog: Catalog, package: str) -> _Fresh:
        base = catalog_base(catalog.status.content_url or "")
        url = f"{base}/api/v1/resolution?package={quote(package, safe='')}"
        answered = await self._servers.get(base.split("/catalogs/", 1)[0], url)
        if answered.status == 404 and answered.digest:  # without the digest it is the catalog that is not known there
            return _Fresh(Remembered(catalog.metadata.uid, answered.digest, None), b"null")
        if answered.status != 200:
            raise Unreadable(f"catalogd answered {answered.status}{WHAT_TO_DO.get(answered.status, '')}")
        return _read(catalog, answered.body, answered.digest)

    async def _recall(self, catalog: str, package: str) -> Remembered | None:
        key = (catalog, package)
        known = self._memory.get(key)
        if known is None and self._folder is not None:
            known = await asyncio.to_thread(_load, self._folder / catalog / f"{package}.json")
            if known is not None:
                self._keep(key, known)
        return known

    async def _remember(self, catalog: str, package: str, fresh: _Fresh) -> None:
        self._keep((catalog, package), fresh.remembered)
        if self._folder is not None:
            await asyncio.to_thread(_save, self._folder / catalog / f"{package}.json", fresh)

    def _keep(self, key: tuple[str, str], remembered: Remembered) -> None:
        self._memory[key] = remembered
        self._memory.move_to_end(key)
        while len(self._memory) > REMEMBERED:
            self._memory.popitem(last=False)


@dataclass(frozen=True)
class _Fresh:
    """An answer, as value and as bytes."""

    remembered: Remembered
    body: bytes


def served_digest(catalog: Catalog) -> str:
    """The digest of the content that is served; "" when none is, or when none shall be."""
    is_serving = any(one.type == ConditionType.SERVING and one.status == "True" for one in catalog.status.conditions)
    is_wanted = catalog.spec.availability == Availability.AVAILABLE and not catalog.metadata.deleting
    return catalog.status.content_digest or "" if is_serving and is_wanted and catalog.status.content_url else ""


def catalog_base(content_url: str) -> str:
    """Where a catalog's HTTP paths begin: its contentURL without /all.json."""
    return content_url.removesuffix(_ALL_SUFFIX).rstrip("/")


def _state(catalog: Catalog) -> str:
    """Why a Catalog is not served, in its own words."""
    if catalog.metadata.deleting:
        return "it is being deleted"
    for name in (ConditionType.UNPACKED, ConditionType.READY):
        condition = next((one for one in catalog.status.conditions if one.type == name), None)
        if condition is not None and condition.status != "True" and condition.message:
            return condition.message
    return "it has not been read yet"


def _offer(
    catalog: Catalog, content: PackageContent | None, standing: Standing = Standing.SERVING, message: str = ""
) -> Offer:
    return Offer(
        catalog=catalog.metadata.name,
        priority=catalog.spec.priority,
        standing=standing,
        package=content,
        message=message,
        names=package_names(catalog),
    )


def package_names(catalog: Catalog) -> tuple[str, ...]:
    """The packages that the status names; all of them unless they were too many for it."""
    return tuple(filter(None, (name.strip() for name in (catalog.status.packages or "").split(","))))


def _away(catalog: Catalog, package: str, known: Remembered | None, message: str) -> Offer:
    """Its last content counts; if there is none here, it matters only if the package was there."""
    if known is not None:
        return _offer(catalog, known.content, Standing.AWAY, message)
    names = package_names(catalog)
    is_complete = catalog.status.package_count is not None and len(names) == catalog.status.package_count
    if is_complete and package not in names:
        return _offer(catalog, None, Standing.AWAY, message)
    return _offer(catalog, None, Standing.LOST, message)


def _read(catalog: Catalog, body: bytearray, digest: str) -> _Fresh:
    try:
        document = orjson.loads(body)
        content = read_package(document)
    except (orjson.JSONDecodeError, BadDocument) as error:
        raise Unreadable(f"catalogd's answer cannot be read: {error}") from error
    named = document.get("catalogDigest")
    return _Fresh(Remembered(catalog.metadata.uid, named if isinstance(named, str) else digest, content), bytes(body))


# --- the folder: one file per catalog and package, `{"uid", "digest", "document"}`


def _load(path: Path) -> Remembered | None:
    try:
        kept = orjson.loads(path.read_bytes())
        content = None if kept["document"] is None else read_package(kept["document"])
        return Remembered(str(kept["uid"]), str(kept["digest"]), content)
    except (OSError, orjson.JSONDecodeError, BadDocument, KeyError, TypeError):
        return None  # absent or damaged: it is asked for again


def _save(path: Path, fresh: _Fresh) -> None:
    facts = {"uid": fresh.remembered.uid, "digest": fresh.remembered.digest, "document": orjson.Fragment(fresh.body)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(orjson.dumps(facts))
        Path(name).replace(path)
    except OSError as error:
        log.warning("catalog content is not kept on disk", extra={"error": str(error)})


def _remove_others(folder: Path, kept: set[str]) -> None:
    try:
        for path in folder.iterdir():
            if path.name not in kept:
                shutil.rmtree(path)
    except OSError as error:
        log.warning("content of a catalog that is gone is not removed", extra={"error": str(error)})
