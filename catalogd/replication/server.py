"""The HTTP routes of replication: the records of what this replica serves, and the content in its store, file by file.

    GET /replication/v1/records                     the state of catalogd.storage.state_file; has an ETag
    GET /replication/v1/content/<digest>            the checksums of olmkit.store.checksums
    GET /replication/v1/content/<digest>/<file>     a file that the checksums list; range requests are supported

Mounted in the application of catalogd.http.server; requested by catalogd.replication.client. Sends only content that is served or
retained, and only its published files: the path of a request is looked up in the checksums and never becomes a path on disk by
itself. Content that is found to be truncated is reported to the store and not sent. Every request needs a token that may get
BASE_PATH, even when catalogs may be read without a token (docs/decisions/0013).
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from catalogd.storage.catalog_store import CatalogStore
from catalogd.storage.state_file import dump
from olmkit.store.checksums import Checksums
from olmkit.tls.setup import AuthorizationCheck

ADDRESS_ANNOTATION = "catalogd.operatorframework.io/address"
"""The annotation on the lease with the address of its holder, host:port."""
BASE_PATH = "/replication/v1"
"""The non-resource URL that a token must be allowed to get. It covers all paths below: one access review, not one per file."""
RECORDS_PATH = f"{BASE_PATH}/records"
CONTENT_PATH = f"{BASE_PATH}/content"
RETRY_AFTER_SECONDS = "2"


class ReplicationRoutes:
    """The routes of one store.

    `check` takes the Authorization header, a path and the client's address, and raises web.HTTPException when access is denied;
    see olmkit.tls.delegated_auth.DelegatedAuth.check.
    """

    def __init__(self, catalog_store: CatalogStore, check: AuthorizationCheck) -> None:
        self._catalog_store = catalog_store
        self._check = check
        self._records = b""
        self._reports: set[asyncio.Task[None]] = set()
        catalog_store.on_any_change(self._invalidate)

    def add_routes(self, application: web.Application) -> None:
        """Add the routes to the application that serves catalogs."""
        get = application.router.add_get
        get(RECORDS_PATH, self.authorized(self._get_records))
        get(CONTENT_PATH + "/{digest}", self.authorized(self._get_checksums))
        get(CONTENT_PATH + "/{digest}/{file:.+}", self.authorized(self._get_file))

    def authorized(self, handler: Handler) -> Handler:
        """The handler for requests whose token may get BASE_PATH."""

        async def checked(request: web.Request) -> web.StreamResponse:
            await self._check(request.headers.get("Authorization", ""), BASE_PATH, request.remote or "")
            return await handler(request)

        return checked

    def _invalidate(self) -> None:
        self._records = b""

    async def _get_records(self, request: web.Request) -> web.StreamResponse:
        if not self._records:
            found = ((name, self._catalog_store.get(name)) for name in self._catalog_store.names)
            self._records = dump({name: served.record for name, served in found if served is not None})
        etag = hashlib.sha256(self._records).hexdigest()
        headers = {"ETag": f'"{etag}"'}
        if any(each.value == etag for each in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        return web.Response(body=self._records, content_type="application/json", headers=headers)

    async def _get_checksums(self, request: web.Request) -> web.StreamResponse:
        checksums = await self._checksums(request.match_info["digest"])
        return web.Response(body=checksums.to_bytes(), content_type="application/json")

    async def _get_file(self, request: web.Request) -> web.StreamResponse:
        digest, name = request.match_info["digest"], request.match_info["file"]
        file = (await self._checksums(digest)).files.get(name)
        if file is None:
            raise web.HTTPNotFound(reason="the content has no such file")
        directory = self._catalog_store.content_store.path(digest)
        if directory is None or await asyncio.to_thread(_size, directory / name) != file.size:
            self._report_damage(digest)
            raise _unavailable("the content is damaged")
        return web.FileResponse(
            directory / name, chunk_size=1024 * 1024, headers={"Content-Type": "application/octet-stream"}
        )

    async def _checksums(self, digest: str) -> Checksums:
        """The checksums of stored content. Raises web.HTTPException: 404, and 503 when they cannot be read."""
        if digest not in self._catalog_store.digests:
            raise web.HTTPNotFound(reason="this replica does not have this content")
        checksums = await asyncio.to_thread(self._catalog_store.content_store.checksums, digest)
        if checksums is None:
            self._report_damage(digest)
            raise _unavailable("the content is damaged")
        return checksums

    def _report_damage(self, digest: str) -> None:
        report = asyncio.create_task(self._catalog_store.report_damage(digest))
        self._reports.add(report)
        report.add_done_callback(self._reports.discard)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return -1


def _unavailable(reason: str) -> web.HTTPException:
    return web.HTTPServiceUnavailable(reason=reason, headers={"Retry-After": RETRY_AFTER_SECONDS})
