"""What a replica gives the others: the records of what it serves, and the content on its shelf, file by file.

    GET /replication/v1/records                     the note of catalogd.storage.state_file; has an ETag
    GET /replication/v1/content/<digest>            the manifest of olmkit.store.checksums
    GET /replication/v1/content/<digest>/<file>     a file that the manifest lists; ranges are answered

Routes of catalogd.http.server's application; asked by catalogd.replication.follower. Only what is on the shelf is given,
and of that only files that were published: a path of a request is looked up in the manifest, it never becomes a path on disk
by itself. Content that is found to be shorter than it was published is reported to the shelf and not given. Nothing is given
without a token that may get ACCESS, whoever may read catalogs: what is copied here is what the others serve.
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
"""The annotation on the lease that says where the holder is asked, host:port."""
BASE_PATH = "/replication/v1"
"""The non-resource URL that a token must let get for all paths below it: one question to the API server, not one per file."""
RECORDS_PATH = f"{BASE_PATH}/records"
CONTENT_PATH = f"{BASE_PATH}/content"
RETRY_AFTER_SECONDS = "2"


class ReplicationRoutes:
    """The routes over one shelf. `check` takes the header Authorization, a path and the client's address, and raises
    web.HTTPException for those who may not get it: olmkit.tls.delegated_auth.DelegatedAuth.check."""

    def __init__(self, shelf: CatalogStore, check: AuthorizationCheck) -> None:
        self._shelf = shelf
        self._check = check
        self._records = b""
        self._reports: set[asyncio.Task[None]] = set()
        shelf.on_any_change(self._changed)

    def add_routes(self, application: web.Application) -> None:
        """For the application that serves catalogs."""
        get = application.router.add_get
        get(RECORDS_PATH, self._for_replicas(self._get_records))
        get(CONTENT_PATH + "/{digest}", self._for_replicas(self._get_manifest))
        get(CONTENT_PATH + "/{digest}/{file:.+}", self._for_replicas(self._get_file))

    def _for_replicas(self, handler: Handler) -> Handler:
        async def checked(request: web.Request) -> web.StreamResponse:
            await self._check(request.headers.get("Authorization", ""), BASE_PATH, request.remote or "")
            return await handler(request)

        return checked

    def _changed(self) -> None:
        self._records = b""

    async def _get_records(self, request: web.Request) -> web.StreamResponse:
        if not self._records:
            served = {name: shelved.record for name in self._shelf.names if (shelved := self._shelf.get(name))}
            self._records = dump(served)
        tag = hashlib.sha256(self._records).hexdigest()
        headers = {"ETag": f'"{tag}"'}
        if any(each.value == tag for each in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        return web.Response(body=self._records, content_type="application/json", headers=headers)

    async def _get_manifest(self, request: web.Request) -> web.StreamResponse:
        manifest = await self._manifest(request.match_info["digest"])
        return web.Response(body=manifest.to_bytes(), content_type="application/json")

    async def _get_file(self, request: web.Request) -> web.StreamResponse:
        digest, name = request.match_info["digest"], request.match_info["file"]
        file = (await self._manifest(digest)).files.get(name)
        if file is None:
            raise web.HTTPNotFound(reason="the content has no such file")
        folder = self._shelf.content_store.path(digest)
        if folder is None or await asyncio.to_thread(_size, folder / name) != file.size:
            self._report(digest)
            raise _unavailable("the content is damaged")
        return web.FileResponse(
            folder / name, chunk_size=1024 * 1024, headers={"Content-Type": "application/octet-stream"}
        )

    async def _manifest(self, digest: str) -> Checksums:
        """Of content on the shelf. Raises 404, and 503 when it cannot be read."""
        if digest not in self._shelf.digests:
            raise web.HTTPNotFound(reason="there is no such content here")
        manifest = await asyncio.to_thread(self._shelf.content_store.checksums, digest)
        if manifest is None:
            self._report(digest)
            raise _unavailable("the content is damaged")
        return manifest

    def _report(self, digest: str) -> None:
        report = asyncio.create_task(self._shelf.report_damage(digest))
        self._reports.add(report)
        report.add_done_callback(self._reports.discard)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return -1


def _unavailable(reason: str) -> web.HTTPException:
    return web.HTTPServiceUnavailable(reason=reason, headers={"Retry-After": RETRY_AFTER_SECONDS})
