"""Serves the files of unpacked Bundles: `GET /bundles/NAME.tgz`, at the address of rukpak's webhooks.

The archive holds the manifests, and the metadata of a registry+v1 bundle, byte for byte. Every request needs a token whose user
may `get` the path, as content may be from servers that require a login. Only the leader has content: other replicas pass requests
on to it. Fetches and writes nothing.
"""

from __future__ import annotations

import asyncio
import gzip
import tarfile
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import IO

from aiohttp import web

from olmkit.api.content import Phase
from olmkit.api.meta import Object
from olmkit.errors import Waiting
from olmkit.runtime.informer import Informer
from olmkit.runtime.listener.http_errors import RETRY_AFTER_HEADER, HTTPError
from olmkit.store.disk_errors import disk_errors_as_waiting
from olmkit.store.store import Store
from olmkit.tls.service import RUKPAK_SERVICE
from olmkit.tls.setup import AuthorizationCheck
from rukpak.bundle.recorded_sources import resolved_digest
from rukpak.bundle.storage import FILES, intact_type

PATH = "/bundles/{name}.tgz"
MAX_CONCURRENT_ARCHIVES = 2
"""Archives that are made at the same time: each reads and compresses at most MAX_FILES_BYTES of unpack_job.py."""
CHUNK_BYTES = 256 * 1024


def content_url(namespace: str, name: str) -> str:
    """The address of the content of a Bundle, by the Service of rukpak in the suite's namespace."""
    return f"https://{RUKPAK_SERVICE.host(namespace)}{PATH.format(name=name)}"


@dataclass(frozen=True)
class ContentRoutes:
    """The route. `check` raises web.HTTPException if a token may not get a path; see olmkit.tls.delegated_auth.DelegatedAuth.

    `forward` has the leader answer a request. `on_missing_content` is called with a Bundle whose content is missing or damaged,
    so that it is fetched again.
    """

    store: Store
    bundles: Informer
    check: AuthorizationCheck
    is_leading: Callable[[], bool]
    forward: Callable[[web.Request], Awaitable[web.StreamResponse]]
    on_missing_content: Callable[[str], None]
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_ARCHIVES))

    def add_routes(self, application: web.Application) -> None:
        """Add the route, for GET and HEAD."""
        application.router.add_get(PATH, self._get)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        await self.check(request.headers.get("Authorization", ""), request.path, request.remote or "")
        if not self.is_leading():
            return await self.forward(request)
        name = request.match_info["name"]
        digest = unpacked_digest(self.bundles.get(name), name)
        tag = digest.partition(":")[2]
        headers = {"ETag": f'"{tag}"', "Content-Type": "application/gzip"}
        if any(each.value in (tag, "*") for each in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        archive = await self._archive(name, digest)
        try:
            return await _sent(request, archive, headers)
        finally:
            archive.close()

    async def _archive(self, name: str, digest: str) -> IO[bytes]:
        """Raises HTTPError."""
        try:
            async with self._places:
                archive = await asyncio.to_thread(pack, self.store, digest)
        except Waiting as error:
            raise HTTPError(503, error.message, RETRY_AFTER_HEADER) from error
        if archive is None:
            self.on_missing_content(name)
            raise HTTPError(503, f"the content of Bundle {name} is missing, and is fetched again", RETRY_AFTER_HEADER)
        return archive


def unpacked_digest(raw: Object | None, name: str) -> str:
    """The digest of the content of a Bundle as read. Raises HTTPError if there is no such Bundle, or it is not unpacked."""
    if raw is None or "deletionTimestamp" in raw["metadata"]:
        raise HTTPError(404, f"there is no Bundle {name}")
    if (raw.get("status") or {}).get("phase") != Phase.UNPACKED or not (digest := resolved_digest(raw)):
        raise HTTPError(404, f"Bundle {name} is not unpacked: its status says why")
    return digest


def pack(store: Store, digest: str) -> IO[bytes] | None:
    """The archive of the files of this digest, in a file without a name: the same bytes for the same files. None if the content
    is missing or damaged. Blocks. Raises Waiting if the store cannot be read, or the disk is full."""
    directory = store.path(digest) if intact_type(store, digest) else None
    if directory is None:
        return None
    archive = tempfile.TemporaryFile()  # noqa: SIM115 the caller closes it
    try:
        with (
            disk_errors_as_waiting(),
            gzip.GzipFile("", "wb", fileobj=archive, mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as packed,
        ):
            for path in sorted((directory / FILES).rglob("*")):
                if path.is_file():
                    info = tarfile.TarInfo(path.relative_to(directory / FILES).as_posix())
                    info.size = path.stat().st_size
                    with path.open("rb") as file:
                        packed.addfile(info, file)
    except FileNotFoundError:  # its last Bundle was deleted meanwhile
        archive.close()
        return None
    except BaseException:
        archive.close()
        raise
    return archive


async def _sent(request: web.Request, archive: IO[bytes], headers: dict[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(headers=headers)
    response.content_length = archive.tell()
    await response.prepare(request)
    if request.method != "HEAD":
        archive.seek(0)
        while chunk := await asyncio.to_thread(archive.read, CHUNK_BYTES):
            await response.write(chunk)
    await response.write_eof()
    return response
