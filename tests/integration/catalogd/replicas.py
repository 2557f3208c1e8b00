"""Replicas of catalogd with replication only: a store, its routes on a real socket, and a follower."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from catalogd.replication.follower import Follower, Leader
from catalogd.replication.server import ReplicationRoutes
from catalogd.storage.catalog_store import CatalogStore
from catalogd.storage.record import Record
from olmkit.runtime.election import Term
from tests.cluster.proxy import Proxy
from tests.integration.catalogd.catalog_stores import publish, record
from tests.servers.closing import close

Requests = list[tuple[str, str]]


@dataclass
class Replica:
    """One replica. `requests` are the path and Range of each request; `most` is the highest number of concurrent downloads."""

    catalog_store: CatalogStore
    root: Path
    address: str = ""
    requests: Requests = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    async def serve(self, digest: str, *names: str, size: int = 0, uid: str = "") -> None:
        """Serve content of this digest under the names, for the Catalogs with this uid."""
        publish(self.root, digest, size=size)
        for name in names:
            await self.catalog_store.put(name, record(digest, uid))

    def served(self) -> dict[str, str]:
        """Digest by name."""
        return {name: each.digest for name, each in self.records().items()}

    def records(self) -> dict[str, Record]:
        """Record by name."""
        return {name: found.record for name in self.catalog_store.names if (found := self.catalog_store.get(name))}

    def files(self, digest: str) -> dict[str, bytes]:
        """All files in the directory of a content, and its checksums file."""
        home = self.root / "content" / digest.replace(":", "-")
        return {str(each.relative_to(home)): each.read_bytes() for each in sorted(home.rglob("*")) if each.is_file()}

    def asked(self, part: str) -> Requests:
        """Requests whose path contains `part`."""
        return [each for each in self.requests if part in each[0]]


@contextlib.asynccontextmanager
async def replica(root: Path) -> AsyncIterator[Replica]:
    """A replica that serves the replication routes of its store on a port of its own."""
    catalog_store = CatalogStore(root)
    await catalog_store.restore()
    ours = Replica(catalog_store, root)

    @web.middleware
    async def noted(request: web.Request, handler: Callable[[web.Request], object]) -> web.StreamResponse:
        ours.requests.append((request.path, request.headers.get("Range", "")))
        ours.under_way += "/content/" in request.path
        ours.most = max(ours.most, ours.under_way)
        try:
            return await handler(request)  # type: ignore[misc, no-any-return]
        finally:
            ours.under_way -= "/content/" in request.path

    application = web.Application(middlewares=[noted])
    ReplicationRoutes(catalog_store, _anybody).add_routes(application)
    async with listening(application) as ours.address:
        yield ours


def proxied(upstream: Replica) -> Proxy:
    """A proxy in front of a replica."""
    host, _, port = upstream.address.partition(":")
    return Proxy((host, int(port)), None)


async def _anybody(authorization: str, path: str, address: str) -> None:
    """Allow everything."""


class PlainPeers:
    """Replicas that use plain HTTP, so that tests can change responses."""

    scheme = "http"

    async def request_options(self) -> dict[str, Any]:
        """No arguments."""
        return {"headers": {}}


@contextlib.asynccontextmanager
async def listening(application: web.Application) -> AsyncIterator[str]:
    """The application on a free port; its address."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await close(runner)


@dataclass
class FollowerInputs:
    """The inputs of a follower: the address of the leader (`first`: in its first poll, if that differs), and the Catalogs, uid by
    name. `polls` counts how often it asked for the leader."""

    leader: str | None = ""
    desired: Mapping[str, str] | None = None
    first: str | None = None
    polls: int = 0


@contextlib.asynccontextmanager
async def following(
    catalog_store: CatalogStore, inputs: FollowerInputs, scheme: str = PlainPeers.scheme
) -> AsyncIterator[None]:
    """A running follower that polls often."""

    def leader() -> Leader | None:
        inputs.polls += 1
        found = inputs.leader if inputs.polls > 1 or inputs.first is None else inputs.first
        return None if found is None else Leader(found, Term(found, 0, ""))

    peers = PlainPeers()
    peers.scheme = scheme
    follower = Follower(catalog_store, leader, lambda: inputs.desired, peers, poll_interval=0.05)
    running = asyncio.create_task(follower.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait({running})
        assert running.cancelled(), running.exception()


async def until(condition: Callable[[], object], within: float = 60) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 there is no event to await
            await asyncio.sleep(0.01)


def log_text(caplog: pytest.LogCaptureFixture) -> str:
    """The log, with the `error` of each line."""
    return "\n".join(f"{each.getMessage()}: {getattr(each, 'error', '')}" for each in caplog.records)
