"""The load job in real processes, on a real disk that becomes full at any point."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalogd.ingest.load_task import LOAD, LOAD_LIMITS, LoadResult, LoadTaskFactory
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials
from olmkit.sources.source import ConfigMapsSource
from olmkit.store.store import Store
from tests.integration.disk import until_there_is_space
from tests.integration.job_results import next_result, staged

PADDING = random.Random(1).randbytes(60_000).hex()


def catalog(channel: str) -> ConfigMapsSource:
    """A catalog of one package, of about 120 KB."""
    blobs = (
        '{"schema":"olm.package","name":"p","defaultChannel":"stable","description":"' + PADDING + '"}\n'
        '{"schema":"olm.channel","package":"p","name":"stable","entries":[{"name":"p.v1"}]}\n'
        '{"schema":"olm.channel","package":"p","name":"' + channel + '","entries":[{"name":"p.v1"}]}\n'
        '{"schema":"olm.bundle","package":"p","name":"p.v1","image":"quay.io/p/p:v1",'
        '"properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}}]}\n'
    )
    return ConfigMapsSource((("catalog.json", blobs.encode()),))


class Loader:
    """The load jobs of catalogd with a store."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory, self.store = directory, Store(directory)
        self._tasks = LoadTaskFactory(directory, Access())
        self._ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[LoadResult](
            self._ends.put_nowait, limits=LOAD_LIMITS, preload=[LOAD.module], sandbox=Sandbox(reads=(directory,))
        )

    async def load(self, source: ConfigMapsSource) -> LoadResult:
        """The result of one job. Raises its error."""
        self.jobs.forget("one")
        self.jobs.ensure("one", "1", self._tasks.task(source, Credentials(), None, None))
        return await next_result(self.jobs, self._ends)

    def staged(self) -> list[Path]:
        """What jobs left in the directory in which they work."""
        return staged(self._directory)


@pytest.fixture
async def loader(disk: Path) -> AsyncIterator[Loader]:
    loader = Loader(disk / "store")
    yield loader
    await loader.jobs.close()


async def test_a_disk_that_becomes_full_at_any_point_of_the_loading(
    loader: Loader, disk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    old = (await loader.load(catalog("old"))).digest

    def is_as_before() -> None:
        assert loader.store.digests() == {old}, "nothing is stored in part"
        assert loader.staged() == []

    new, failures = await until_there_is_space(
        disk, lambda: loader.load(catalog("new")), is_as_before, range(0, 700_000, 32 * 1024)
    )
    assert failures > 3, "it was full at several points"
    assert loader.store.verify(old)
    assert loader.store.verify(new.digest), "it is loaded as soon as there is space"
    assert "Traceback" not in capfd.readouterr().err
