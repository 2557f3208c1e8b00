"""How often the files of ConfigMaps are read, and how many of them jobs hold."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from olmkit.api.bundles import Bundle
from olmkit.jobs.job import Task
from olmkit.jobs.state import Queued
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials
from rukpak.bundle import act
from rukpak.bundle.act import BundleActions
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.bundle.world import Done, Unpack, UnpackState, World
from tests.unit.rukpak.bundle.worlds import NOW


class Inputs:
    """ConfigMaps of ten bytes."""

    def __init__(self) -> None:
        self.read = 0

    async def denied_hosts(self) -> tuple[str, ...]:
        return ()

    async def credentials(self, source: object) -> Credentials:
        return Credentials()

    async def signature_policy(self, source: object) -> None:
        return None

    async def config_maps(self, source: object) -> list[tuple[dict[str, Any], str]]:
        self.read += 1
        return [({"metadata": {"name": "files"}, "immutable": True, "data": {"a.yaml": "x" * 10}}, "manifests")]


class QueuedJobs:
    """Jobs that wait until they are cancelled."""

    def __init__(self) -> None:
        self.states: dict[str, UnpackState] = {}

    def state(self, key: str) -> UnpackState | None:
        return self.states.get(key)

    def ensure(self, key: str, identity: str, task: Task[Any, UnpackResult]) -> UnpackState:
        return self.states.setdefault(key, Queued(identity))


class Desk:
    """Act on Bundles of ConfigMaps."""

    def __init__(self) -> None:
        self.inputs, self.jobs = Inputs(), QueuedJobs()
        collector = SimpleNamespace(collecting=asyncio.Lock())
        store, parts = SimpleNamespace(stage=None), (Path("/none"), Access(), self.inputs, collector, None)
        self.actions = BundleActions(*cast("Any", (self.jobs, store, *parts)))

    async def unpack(self, name: str) -> Done:
        members = [{"configMap": {"name": "files"}, "path": "manifests"}]
        source = {"type": "configMaps", "configMaps": members}
        spec = {"provisionerClassName": "core-rukpak-io-plain", "source": source}
        bundle = Bundle.load({"metadata": {"name": name, "uid": name, "generation": 1}, "spec": spec})
        return await self.actions.act(World(name, NOW, {}, bundle, job=self.jobs.state(name)), Unpack(None, "plain+v0"))


async def test_files_are_read_once_while_their_job_is_queued() -> None:
    desk = Desk()
    first, again = await desk.unpack("a"), await desk.unpack("a")
    assert (first.job, first.job) == (again.job, Queued("a/1"))
    assert desk.inputs.read == 1


async def test_a_bundle_waits_while_jobs_hold_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(act, "MAX_HELD_BYTES", 20)
    desk = Desk()
    for name in ("a", "b"):
        await desk.unpack(name)
    waiting = await desk.unpack("c")
    assert (waiting.job, waiting.after) == (Queued("c/1"), act.HELD_RETRY_DELAY)
    assert (desk.inputs.read, set(desk.jobs.states)) == (2, {"a", "b"})
    del desk.jobs.states["a"]
    await desk.unpack("c")
    assert (desk.inputs.read, set(desk.jobs.states)) == (3, {"b", "c"})
