"""Rows of the Resolver: the time from a catalog's new digest until all Operators have their answers, without an API server."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.bench.figures import Figure
from tests.integration.operator_controller.catalog_client.test_client import catalog, response, serving, with_digest
from tests.integration.operator_controller.resolver.running import RunningResolver, running

COUNTS = (166, 1_000)
"""Numbers of Operators, each for a package of its own."""
VERSIONS = 20
TIMEOUT_SECONDS = 300.0


def rows(reference: float) -> Iterator[Figure]:
    """Operators that are all new, content in which every package changed, and content in which one did."""
    for count in COUNTS:
        yield from asyncio.run(_rows(count, reference))


async def _rows(count: int, reference: float) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        return [figure async for figure in _measured(count, reference, Path(folder))]


async def _measured(count: int, reference: float, folder: Path) -> AsyncIterator[Figure]:
    newest = [VERSIONS] * count

    async def answer(request: web.Request) -> web.StreamResponse:
        digest = _digest(sum(newest))
        return response(digest, *(_document(digest, place, versions) for place, versions in enumerate(newest)))

    async with serving() as server, running(folder) as cluster:
        server.answer = answer
        cluster.add_catalog(catalog(server.address, _digest(sum(newest))))
        started = time.perf_counter()
        for place in range(count):
            cluster.add_operator(f"o{place:04}", packageName=f"p{place:04}")
        await _woken(cluster, 0, count)
        first = time.perf_counter() - started
        newest[:] = [versions + 1 for versions in newest]
        every = await _after_update(cluster, server.address, sum(newest), count)
        newest[0] += 1
        one = await _after_update(cluster, server.address, sum(newest), 1)
    what = (
        f"{count} Operators, one package of {VERSIONS} versions each, from a catalog's new digest until all are decided"
    )
    yield Figure(f"{what}: all Operators are new", f"{first:.2f} s ({first / reference:.2f} C)")
    yield Figure(f"{what}: every package has a new version", f"{every:.2f} s ({every / reference:.2f} C)")
    yield Figure(f"{what}: one package has a new version", f"{one:.2f} s ({one / reference:.2f} C)")


async def _after_update(cluster: RunningResolver, address: str, number: int, changed: int) -> float:
    """Seconds until the Operators whose answer changes are woken."""
    before, started = len(cluster.woken), time.perf_counter()
    cluster.add_catalog(catalog(address, _digest(number)))
    await _woken(cluster, before, changed)
    return time.perf_counter() - started


async def _woken(cluster: RunningResolver, before: int, count: int) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while len(set(cluster.woken[before:])) < count:
            await cluster.next_wake()


def _digest(number: int) -> str:
    return f"sha256:{number:064}"


def _document(digest: str, place: int, versions: int) -> dict[str, Any]:
    name = f"p{place:04}"
    bundles = [f"{name}.v1.{number}.0" for number in range(versions)]
    entries = [{"name": one, "replaces": before} for one, before in zip(bundles, ["", *bundles], strict=False)]
    kind = {"type": "olm.gvk", "value": {"group": f"{name}.example.com", "version": "v1", "kind": "Thing"}}
    rest = {
        "package": name,
        "defaultChannel": "stable",
        "channels": [{"name": "stable", "entries": entries}],
        "bundles": [
            {"name": one, "image": f"r/{one}", "version": one.removeprefix(f"{name}.v"), "properties": [kind]}
            for one in bundles
        ],
    }
    return with_digest(digest, rest)
