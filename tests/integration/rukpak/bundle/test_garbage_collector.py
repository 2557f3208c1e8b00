"""Content that nobody has is removed, also while sources that never answer keep jobs queued."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Finished, JobState
from olmkit.runtime.informer import Informer
from olmkit.store.store import Store
from rukpak.bundle import garbage_collector
from rukpak.bundle.garbage_collector import GarbageCollector
from rukpak.bundle.unpack_result import UnpackResult

RESOLVED, FOUND, UNUSED = (f"sha256:{digit * 64}" for digit in "abc")


class BusyJobs:
    """One job has found content, and another one never ends."""

    is_idle = False

    async def idle(self) -> None:
        await asyncio.Event().wait()

    def state(self, key: str) -> JobState[UnpackResult] | None:
        return Finished("1", UnpackResult({}, FOUND)) if key == "found" else None


def informer(*objects: dict[str, Any]) -> Informer:
    synced = asyncio.Event()
    synced.set()
    by_name = {("", each["metadata"]["name"]): each for each in objects}
    return cast("Informer", SimpleNamespace(objects=by_name, fresh=synced))


async def test_a_job_that_never_ends_delays_the_collection_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage_collector, "MAX_IDLE_WAIT_SECONDS", 0.01)
    store = Store(tmp_path)
    for digest in (RESOLVED, FOUND, UNUSED):
        with store.publish(digest) as directory:
            (directory / "a").write_text("a")
    source = {"type": "image", "image": {"ref": f"registry.example.com/a@{RESOLVED}"}}
    unpacked = {"metadata": {"name": "resolved"}, "status": {"resolvedSource": source}}
    bundles = informer(unpacked, {"metadata": {"name": "found"}}, {"metadata": {"name": "slow"}})
    jobs = cast("Jobs[UnpackResult]", BusyJobs())
    run = asyncio.create_task(GarbageCollector(bundles, informer(), jobs, store).run())
    try:
        async with asyncio.timeout(30):
            while UNUSED in store.digests():  # noqa: ASYNC110 a store has no such event
                await asyncio.sleep(0.01)
        assert store.digests() == {RESOLVED, FOUND}
    finally:
        run.cancel()
