"""The client of one user: the API server by the user's own token, and the contents of catalogs from a cache that users share.

What `olm` reads of catalogd goes through the API server's proxy of a Service. The same requests are answered here from the
cache by the digest of the content, if the user may list packages, and may get the path where catalogd asks for tokens; the cache
asks catalogd once per digest and path.
"""

from __future__ import annotations

import asyncio
import builtins
import copy
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias
from urllib.parse import unquote

from pydantic import ValidationError

from console.access import Access, Ask, PathAsk
from console.catalog_cache import CatalogCache
from console.catalog_service import CatalogService
from olmctl.questions.catalogd import proxy_path
from olmkit.api import catalogs, packages
from olmkit.api.catalogs import Catalog, served_digest
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound, Unavailable
from olmkit.runtime.client import PAGE_SIZE, Client
from olmkit.runtime.lease_holder import LEASE

REVISIONS_KEPT_SECONDS = 5.0
LEASES_KEPT_SECONDS = 10.0
"""The time for which a page that follows the cluster does not read a Lease again: its holder renews it for longer than that."""
_OF_CATALOG = re.compile(r"/catalogs/(?P<catalog>[^/?]+)/(?P<rest>api/v1/[^?]*)")
SUMMARY = "/summary"
"""The end of a path of which the answer may be that it is not known yet."""
Reading: TypeAlias = Callable[[Kind, str | None, str | None, str | None], "list[Object] | None"]
"""The objects of a kind, a namespace, a name and a label selector that are known without a request; None if they are not."""
Revision: TypeAlias = tuple[str, int, str]
"""All that the answers for a Catalog depend on: its uid, the generation of its spec, and the digest of its content."""


@dataclass
class _Revisions:
    """Those of all Catalogs, by name, until a time of the event loop. All views of one user have the same."""

    until: float = 0.0
    found: Mapping[str, Revision] = field(default_factory=dict)


class UserClient(Client):
    """A view of the process's client for one user; see Client.with_token and Client.acting_as."""

    _cache: CatalogCache
    _access: Access
    _service: CatalogService | None
    _proxy: str = ""
    """The path of catalogd by the API server; "" in the client of the process, which reads no catalog."""
    _revisions: _Revisions
    _leases: dict[tuple[str, str | None], tuple[float, asyncio.Task[Object]]]
    """Those that live pages have read, until a time of the event loop. All views of one user have the same."""
    _reading: Reading | None = None

    def for_user(
        self, token: str | None, cache: CatalogCache, system_namespace: str, service: CatalogService | None = None
    ) -> Self:
        """The view for a user with a token, or with the credentials of the process if there is none. Catalogs are read from
        `service` if there is one."""
        view = self.acting_as({}) if token is None else self.with_token(token)
        view._cache = cache
        view._access = Access(view)
        view._service = service
        view._proxy = proxy_path(system_namespace)
        view._revisions = _Revisions()
        view._leases = {}
        return view

    def reading_from(self, reading: Reading) -> Self:
        """A view that takes from `reading` what that knows, and asks the API server for the rest."""
        view = copy.copy(self)
        view._reading = reading
        return view

    @property
    def access(self) -> Access:
        """The permissions of the user."""
        return self._access

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """As Client.get."""
        known = self._reading(kind, namespace, name, None) if self._reading is not None else None
        if known is None and self._reading is not None and kind == LEASE:
            return await self._lease(name, namespace)
        if known is None:
            return await super().get(kind, name, namespace)
        if not known:
            raise NotFound(404, "NotFound", f'{kind.plural}.{kind.group} "{name}" not found')
        return known[0]

    async def _lease(self, name: str, namespace: str | None) -> Object:
        """A Lease as it was a moment ago. Raises ApiError, also as it was then."""
        now = asyncio.get_running_loop().time()
        until, task = self._leases.get((name, namespace), (0.0, None))
        if task is None or until <= now:
            task = asyncio.ensure_future(super().get(LEASE, name, namespace))
            self._leases[name, namespace] = now + LEASES_KEPT_SECONDS, task
        return await asyncio.shield(task)

    async def pages(
        self,
        kind: Kind,
        namespace: str | None = None,
        label_selector: str | None = None,
        *,
        field_selector: str | None = None,
        metadata_only: bool = False,
        limit: int = PAGE_SIZE,
    ) -> AsyncIterator[tuple[builtins.list[Object], str]]:
        """As Client.pages; what is known already is one page."""
        known = None
        if self._reading is not None and field_selector is None:
            known = self._reading(kind, namespace, None, label_selector)
        if known is not None:
            yield known, ""
            return
        pages = super().pages(
            kind,
            namespace,
            label_selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
            limit=limit,
        )
        async for page in pages:
            yield page

    async def request(self, method: str, path: str, **options: Any) -> Object:
        """As Client.request; reads of the content of a catalog come from the cache."""
        target = path.removeprefix(self._proxy)
        found = _OF_CATALOG.match(target) if target != path and method == "GET" else None
        if found is None or (await self._access.may(Ask("list", packages.KIND))).allowed is not True:
            return await super().request(method, path, **options)
        revision = None if found["rest"].endswith(SUMMARY) else await self._revision(unquote(found["catalog"]))
        if revision is None:
            return await self._read(path, target, options)
        key, service = (revision, target), self._service
        if service is not None and service.asks_for_token is None:
            try:
                found_first = await self._read(path, target, options)
            except Unavailable:
                if service.asks_for_token is None:
                    raise
            else:
                return (
                    found_first if service.asks_for_token else await self._cache.read(key, lambda: _made(found_first))
                )
        if service is not None and service.asks_for_token:
            may = await self._access.may(PathAsk(unquote(target.partition("?")[0])))
            if may.allowed is not True:
                return await self._read(path, target, options)
        return await self._cache.read(key, lambda: self._read(path, target, options))

    async def _read(self, path: str, target: str, options: dict[str, Any]) -> Object:
        """The content of catalogd at a path, from its Service or through the API server."""
        if self._service is not None:
            return await self._service.get(target, await self.bearer_token())
        return await super().request("GET", path, **options)

    async def _revision(self, catalog: str) -> Revision | None:
        """All that the answers for a Catalog depend on; None if it serves nothing, or cannot be read."""
        now = asyncio.get_running_loop().time()
        if now >= self._revisions.until:
            try:
                found, _ = await self.list(catalogs.KIND)
            except ApiError:
                return None
            self._revisions.until = now + REVISIONS_KEPT_SECONDS
            self._revisions.found = dict(filter(None, map(_revision_of, found)))
        return self._revisions.found.get(catalog)


async def _made(obj: Object) -> Object:
    return obj


def _revision_of(obj: Object) -> tuple[str, Revision] | None:
    try:
        catalog = Catalog.load(obj)
    except ValidationError:
        return None
    digest = served_digest(catalog)
    metadata = catalog.metadata
    return (metadata.name, (metadata.uid, metadata.generation, digest)) if digest else None
