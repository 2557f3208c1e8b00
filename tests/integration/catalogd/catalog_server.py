"""A server of catalogs over real HTTP on loopback, and its clients, for the tests of catalogd.http."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import aiohttp
from yarl import URL

from catalogd.catalog.world import Record
from catalogd.http.compression import CompressedFiles
from catalogd.http.responses import MAX_WRITE_BYTES
from catalogd.http.server import CatalogServer
from catalogd.ingest.content import CONTENT_FORMAT
from catalogd.ingest.content_writer import ContentWriter
from catalogd.storage.catalog_store import CatalogStore
from olmkit.fbc.blobs import parse_blob
from olmkit.fbc.documents import Document
from olmkit.store.store import Store

DIGEST = "sha256:" + "1" * 64
TAG = f'"{DIGEST}.{CONTENT_FORMAT}"'
"""The entity tag of the uncompressed content DIGEST."""
UNPACKED = "2026-01-02T03:04:05Z"
MODIFIED = "Fri, 02 Jan 2026 03:04:05 GMT"
VERSION = {"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}}
BLOBS: list[dict[str, Any]] = [
    {"schema": "olm.package", "name": "p", "defaultChannel": "stable"},
    {"schema": "olm.channel", "package": "p", "name": "stable", "entries": [{"name": "p.v1"}]},
    {"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "i", "properties": [VERSION]},
    {"schema": "olm.package", "name": "q", "description": "x" * (8 * MAX_WRITE_BYTES + 17)},
    {"schema": "my.own", "text": "é"},
]
LINES = [parse_blob(Document(each, b"", 1)).line for each in BLOBS]
WHOLE = b"".join(LINES)
UIDS = {"c": "uid-of-c", "fresh": "uid-of-fresh"}
"""The uids of the Catalogs that exist."""
UNSERVED = "the catalog is not served: it was not loaded yet, cannot be loaded, or its availability is Unavailable"


class Site:
    """A server, its store and a client."""

    def __init__(
        self, server: CatalogServer, catalog_store: CatalogStore, session: aiohttp.ClientSession, port: int
    ) -> None:
        self.server, self.catalog_store, self.session, self.port = server, catalog_store, session, port
        self.base = f"http://127.0.0.1:{port}"

    async def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, Mapping[str, str]]:
        """Status, body and headers; `If_Match` is If-Match."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        url = URL(self.base + path, encoded=True)
        async with self.session.request(method, url, headers=sent) as answer:
            return answer.status, await answer.read(), answer.headers

    async def speak(self, sent: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A raw connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        await writer.drain()
        return reader, writer


async def put(
    catalog_store: CatalogStore, name: str, digest: str, blobs: Sequence[Mapping[str, Any]] = BLOBS, uid: str = ""
) -> None:
    """Write content and serve it under the name, for the Catalog with this uid."""
    with (
        Store(catalog_store.content_directory).publish(digest) as directory,
        ContentWriter(directory, digest) as writer,
    ):
        for each in blobs:
            writer.add(parse_blob(Document(dict(each), b"", 1)))
        writer.finish()
    await catalog_store.put(name, Record(f"r/{name}:v1", f"r/{name}@{digest}", digest, UNPACKED, uid=uid))


@contextlib.asynccontextmanager
async def serving(
    catalog_store: CatalogStore,
    encodings: CompressedFiles | None = None,
    tls: ssl.SSLContext | None = None,
    **more: Any,
) -> AsyncIterator[Site]:
    """The running server; the Catalogs `c` and `fresh` exist, whatever is in the store."""
    authorize = more.pop("authorize", None)
    server = CatalogServer(catalog_store, lambda name: UIDS.get(name, ""), encodings, **more)
    port = await server.start("127.0.0.1:0", tls, authorize)
    try:
        async with aiohttp.ClientSession(auto_decompress=False, skip_auto_headers=["Accept-Encoding"]) as session:
            yield Site(server, catalog_store, session, port)
    finally:
        await server.close()
