"""The load job in real processes, on a real disk that becomes full at any point."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalogd.ingest.load_request import LOAD, LOAD_LIMITS, LoadResult
from catalogd.ingest.load_tasks import LoadTaskFactory
from olmkit.errors import Waiting
from olmkit.jobs import Failed, Finished, Jobs, Sandbox
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials
from olmkit.sources.source import ConfigMapsSource
from olmkit.store.store import STAGING_FOLDER, Store
from tests.integration.disk import fill_up

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

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder, self.store = folder, Store(folder)
        self._tasks = LoadTaskFactory(folder, Access())
        self._ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[LoadResult](
            self._ends.put_nowait, limits=LOAD_LIMITS, preload=[LOAD.module], sandbox=Sandbox(reads=(folder,))
        )

    async def load(self, source: ConfigMapsSource) -> LoadResult:
        """The result of one job. Raises its error."""
        self.jobs.forget("one")
        self.jobs.ensure("one", "1", self._tasks.task(source, Credentials(), None, None))
        async with asyncio.timeout(60):
            await self._ends.get()
        state = self.jobs.state("one")
        if isinstance(state, Failed):
            raise state.error
        assert isinstance(state, Finished)
        return state.result

    def staged(self) -> list[Path]:
        """What jobs left in the folder in which they work."""
        return [*(self._folder / STAGING_FOLDER).iterdir()]


@pytest.fixture
async def loader(disk: Path) -> AsyncIterator[Loader]:
    loader = Loader(disk / "store")
    yield loader
    await loader.jobs.close()


async def test_a_disk_that_becomes_full_at_any_point_of_the_loading(
    loader: Loader, disk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    old = (await loader.load(catalog("old"))).digest
    filler = fill_up(disk)
    failures: list[str] = []
    full = filler.stat().st_size
    for free in range(0, 700_000, 32 * 1024):
        os.truncate(filler, full - free)
        try:
            new = (await loader.load(catalog("new"))).digest
            break
        except Waiting as error:
            failures.append(f"{error.reason}: {error.message}")
        assert loader.store.digests() == {old}, "nothing is stored in part"
        assert loader.staged() == []
    assert len(failures) > 3, "it was full at several points"
    assert all(re.search("^DiskFull: .*is full: free some space", each) for each in failures), failures
    assert loader.store.verify(old)
    assert loader.store.verify(new), "it is loaded as soon as there is space"
    assert "Traceback" not in capfd.readouterr().err
