"""Rows of the Resolver: the time from a catalog's new digest until all Operators have their answers, without an API server.

The process of the measurement is operator-controller's and also serves the catalog, whose responses are made beforehand. CPU is
apart from it that of the solver process, and of the process that forks it.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from devcluster.processes import process_tree_cpu, process_tree_memory
from tests.bench.figures import Figure
from tests.bench.machine import MIB
from tests.integration.operator_controller.catalog_cache.test_client import (
    DIGEST_HEADER,
    catalog,
    lines,
    serving,
    with_digest,
)
from tests.integration.operator_controller.resolution.running import RunningResolver, running

COUNTS = (166, 1_000)
"""Numbers of Operators, each for a package of its own."""
VERSIONS = 20
TIMEOUT_SECONDS = 300.0


def rows(reference: float) -> Iterator[Figure]:
    """Operators that are all new, content in which every package changed, and content in which one did."""
    for count in COUNTS:
        yield from asyncio.run(_rows(count, reference))


async def _rows(count: int, reference: float) -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        return [figure async for figure in _measured(count, reference, Path(directory))]


async def _measured(count: int, reference: float, directory: Path) -> AsyncIterator[Figure]:
    newest = [VERSIONS] * count
    bodies = {_digest(sum(newest)): _body(newest)}

    async def answer(request: web.Request) -> web.StreamResponse:
        digest = request.query["digest"]
        return web.Response(body=bodies[digest], headers={DIGEST_HEADER: digest})

    async with serving() as server, running(directory) as cluster:
        server.answer = answer
        with _Usage() as first:
            cluster.add_catalog(catalog(server.address, _digest(sum(newest))))
            for place in range(count):
                cluster.add_operator(f"o{place:04}", packageName=f"p{place:04}")
            await _woken(cluster, 0, count)
        newest[:] = [versions + 1 for versions in newest]
        every = await _after_update(cluster, server.address, bodies, newest, count)
        newest[0] += 1
        one = await _after_update(cluster, server.address, bodies, newest, 1)
        memory = process_tree_memory(os.getpid())
    what = (
        f"{count} Operators, one package of {VERSIONS} versions each, from a catalog's new digest until all are decided"
    )
    yield Figure(f"{what}: all Operators are new", first.text(reference))
    yield Figure(f"{what}: every package has a new version", every.text(reference))
    yield Figure(f"{what}: one package has a new version", one.text(reference))
    yield Figure(f"{what}: memory in the end, including the solver process", f"{memory / MIB:.0f} MiB")


class _Usage:
    """Seconds, and seconds of CPU, of the `with` block."""

    def __enter__(self) -> _Usage:
        self._before = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        seconds, own, tree = (after - before for before, after in zip(self._before, self._now(), strict=True))
        self.seconds, self.own, self.solver = seconds, own, max(0.0, tree - own)

    @staticmethod
    def _now() -> tuple[float, float, float]:
        return time.perf_counter(), time.process_time(), process_tree_cpu(os.getpid())

    def text(self, reference: float) -> str:
        """All in seconds and in C."""
        own, solver = (f"{each:.2f} s = {each / reference:.2f} C" for each in (self.own, self.solver))
        return f"{self.seconds:.2f} s ({self.seconds / reference:.2f} C); CPU {own}, of the solver process {solver}"


async def _after_update(
    cluster: RunningResolver, address: str, bodies: dict[str, bytes], newest: list[int], changed: int
) -> _Usage:
    """What it takes until the Operators whose answer changes are woken."""
    digest, before = _digest(sum(newest)), len(cluster.woken)
    bodies.clear()
    bodies[digest] = _body(newest)
    with _Usage() as usage:
        cluster.add_catalog(catalog(address, digest))
        await _woken(cluster, before, changed)
    return usage


async def _woken(cluster: RunningResolver, before: int, count: int) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while len(set(cluster.woken[before:])) < count:
            await cluster.next_wake()


def _body(newest: list[int]) -> bytes:
    digest = _digest(sum(newest))
    return lines(_document(digest, place, versions) for place, versions in enumerate(newest))


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
