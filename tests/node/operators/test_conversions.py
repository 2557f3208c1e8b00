"""Upgrades that bring or move a conversion webhook while 1,000 custom resources are used: which requests fail, and how long.

The figures are printed, and belong into docs/figures.md. Durations are never asserted.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.images import Registry
from devcluster.operators.content import write_bundle
from devcluster.operators.images import push_images
from devcluster.operators.manifests import Bundle, conversion_steps
from devcluster.pod_suite import PodSuite
from olmctl.authoring.images.layout import read as read_image
from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import REGISTRY
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from release import image
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from tests.cluster.rukpak.harness import READY, Harness, gone, harbour, namespace
from tests.node.operators.conftest import HOST
from tests.reservations import V1, V2, reservation

COUNT = 1000
"""Reservations that exist."""
IN_FLIGHT = {"brings": 0, "moves to another path": 5, "moves to another Service": 1}
"""So many requests of one sort may fail: those that are being answered when the conversion moves, and those that reach a pod
without the path."""
PAUSE_SECONDS = 0.02
"""Between two requests of one sort."""
QUIET_SECONDS = 2.0
"""So long requests are made before and after each upgrade."""
SECONDS = 180.0


@dataclass
class Requests:
    """The requests of one sort. `lost` is the time between an answer and the next one with failures in between, in seconds."""

    answered: int = 0
    failed: int = 0
    lost: float = 0.0
    errors: set[str] = field(default_factory=set)
    _last: float = field(default_factory=time.monotonic)
    works: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by an answer, cleared by a failure."""

    async def repeat(self, request: Callable[[], Awaitable[object]]) -> None:
        """Make requests until cancelled."""
        while True:
            try:
                await request()
            except ApiError as error:
                self.failed += 1
                self.works.clear()
                self.errors.add(error.message[:200])
            else:
                now = time.monotonic()
                self.lost += now - self._last if self.failed and not self.works.is_set() else 0.0
                self.answered, self._last = self.answered + 1, now
                self.works.set()
            await asyncio.sleep(PAUSE_SECONDS)


def _requests(client: Client, room: str, versions: Sequence[str]) -> dict[str, Callable[[], Awaitable[object]]]:
    made: dict[str, Callable[[], Awaitable[object]]] = {}
    for kind in (each for each in (V1, V2) if each.version in versions):
        numbers = itertools.count()
        made[f"list {kind.version}"] = partial(client.list, kind, room)
        made[f"get {kind.version}"] = partial(client.get, kind, "guest-7", room)
        made[f"patch {kind.version}"] = partial(_patch, client, kind, numbers, room)
    return made


async def _patch(client: Client, kind: Kind, numbers: Iterator[int], room: str) -> object:
    """A change, which is written in the storage version."""
    annotations = {f"seen-{kind.version}": str(next(numbers))}
    return await client.patch(kind, "guest-8", {"metadata": {"annotations": annotations}}, room)


@asynccontextmanager
async def requests(client: Client, room: str, versions: Sequence[str]) -> AsyncIterator[dict[str, Requests]]:
    """Read and write Reservations in these versions inside the context."""
    found = {name: Requests() for name in _requests(client, room, versions)}
    tasks = [asyncio.create_task(found[name].repeat(one)) for name, one in _requests(client, room, versions).items()]
    try:
        await asyncio.sleep(QUIET_SECONDS)
        yield found
        await asyncio.sleep(QUIET_SECONDS)
        async with asyncio.timeout(SECONDS):
            for one in found.values():
                await one.works.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.fixture
def references(cluster: Cluster, suite_image: image.Built, tmp_path: Path) -> list[str]:
    """The images of the steps' bundles."""
    registry, steps = Registry(cluster.registry), conversion_steps()
    images = push_images(registry, HOST, read_image(suite_image.archive), steps)
    return [_pushed(registry, tmp_path / step.version, step, images[step.name]) for step in steps]


def _pushed(registry: Registry, directory: Path, step: Bundle, container: str) -> str:
    write_bundle(directory, step, container)
    paths = [path for path in directory.rglob("*") if path.is_file()]
    files = {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}
    return f"{HOST}/bundles/{step.package}@{registry.push(f'bundles/{step.package}', step.version, files, {})}"


async def _fill(at: Harness, room: str) -> None:
    """Make the Reservations."""
    await at.create(NAMESPACES, namespace(room))
    for start in range(0, COUNT, 20):
        numbers = range(start, start + 20)
        await asyncio.gather(*(at.client.create(V1, reservation(f"guest-{number}"), room) for number in numbers))


@pytest.mark.timeout(1500)
async def test_an_upgrade_that_brings_or_moves_a_conversion_webhook_loses_no_request(
    cluster: Cluster, suite: PodSuite, references: list[str]
) -> None:
    unexpected: list[str] = []
    async with harbour(cluster) as at:
        room = f"{at.name}-room"
        await at.install(references[0], provisioner=REGISTRY)
        await at.until(READY, within=SECONDS)
        await _fill(at, room)
        steps = (
            ("brings", ["v1"]),
            ("moves to another path", ["v1", "v2"]),
            ("moves to another Service", ["v1", "v2"]),
        )
        for reference, (what, versions) in zip(references[1:], steps, strict=True):
            began = time.monotonic()
            async with requests(at.client, room, versions) as found:
                await at.install(reference, provisioner=REGISTRY)
                await at.until(READY, within=SECONDS)
            print(f"\n{what}: {time.monotonic() - began:.1f} s")
            for name, one in found.items():
                print(
                    f"  {name}: {one.answered} answered, {one.failed} failed, {one.lost:.1f} s lost {sorted(one.errors)[:2]}"
                )
                unexpected += [f"{what}: {name}: {one.errors}"] if one.failed > IN_FLIGHT[what] else []
        await at.remove()
        await at.until(gone, within=SECONDS)
    assert unexpected == []
