"""rukpak killed after each of its writes: what runs next brings about the same world, and takes all of it away again.

A kill is a client whose n-th write reaches the API server while the answer never reaches the process, and through which nothing
passes from then on; the process is then cancelled where it stands. Everything it knew is lost but its cache folder.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.client import Client
from olmkit.manager import Manager
from rukpak.__main__ import build
from rukpak.install.kinds import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    READY,
    Harbour,
    config_map,
    definition,
    deployment,
    gone,
    harbour,
    kind_of,
    namespace,
    plain,
    settings,
    thing,
)

Object = dict[str, Any]
MOST = 60
"""More writes than any of the three acts takes."""


@dataclass
class Fate:
    """When the process dies. `left` counts writes that change something; None: never."""

    left: int | None = None
    dead: asyncio.Event = field(default_factory=asyncio.Event)

    def strikes(self) -> bool:
        """One more write was made: was it the last?"""
        if self.left is None:
            return False
        self.left -= 1
        if self.left == 0:
            self.dead.set()
        return self.left <= 0


class Mortal(Client):
    """A client that dies as its fate says."""

    fate: Fate

    async def request(self, method: str, path: str, **options: Any) -> Object:
        await self._alive()
        answer = await super().request(method, path, **options)
        is_event = path.startswith("/apis/events.k8s.io/")
        is_rehearsal = (options.get("query") or {}).get("dryRun") is not None
        if method != "GET" and not is_event and not is_rehearsal and self.fate.strikes():
            await asyncio.Event().wait()
        await self._alive()
        return answer

    async def _alive(self) -> None:
        if self.fate.dead.is_set():
            await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def life(cluster: Cluster, cache: Path) -> AsyncIterator[Fate]:
    """One life of the process rukpak; it ends by a kill, whatever it is doing."""
    fate = Fate()
    async with await Mortal.connect(str(cluster.kubeconfig)) as client:
        client.fate = fate
        manager = Manager("rukpak", settings(cluster, cache), client)
        try:
            await build(manager)
            run = asyncio.create_task(manager.run())
            try:
                yield fate
            finally:
                run.cancel()
                await asyncio.wait({run})
        finally:
            await manager.close()
    if not run.cancelled() and (error := run.exception()) is not None:
        raise error


async def first(*happenings: Awaitable[Any]) -> None:
    """Wait until one of these happened."""
    tasks = [asyncio.ensure_future(happening) for happening in happenings]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def versions(at: Harbour, name: str) -> tuple[str, str]:
    """Two bundles of one operator: the second changes, drops and adds objects."""
    space, crd = namespace(name), definition(f"{name}.example.com")
    boat = thing(kind_of(f"{name}.example.com"), "dinghy", name)
    one = plain(space, crd, config_map("both", name, v="1"), config_map("old", name), deployment("engine", name))
    two = plain(space, crd, config_map("both", name, v="2"), config_map("new", name), deployment("engine", name), boat)
    return at.push(one, f"{name}-v1"), at.push(two, f"{name}-v2")


async def world(at: Harbour, name: str) -> dict[str, Any]:
    """What is there of a BundleDeployment, without what differs from one life to the next."""
    uid = (at.deployments.get(name) or {}).get("metadata", {}).get("uid", "none")
    boats = kind_of(f"{name}.example.com")
    kinds = [CRDS, CONFIG_MAPS, DEPLOYMENTS]
    if await at.find(CRDS, f"boats.{boats.group}"):
        kinds.append(boats)
    found = {key: _content(obj) for key, obj in (await at.owned(uid, kinds)).items()}
    space = await at.find(NAMESPACES, name)
    members = [label for label in (space or {})["metadata"]["labels"] if label.startswith("member.")]
    return {key.replace(name, "NAME"): str(value).replace(name, "NAME") for key, value in found.items()} | {
        "members": len(members)
    }


def _content(obj: Object) -> Any:
    if obj["kind"] == "ConfigMap":
        return obj.get("data", {})
    return obj["spec"]


@pytest.mark.timeout(900)
async def test_a_kill_after_any_write_leads_to_the_same_world(cluster: Cluster, tmp_path: Path) -> None:
    """For each n: killed after the n-th write of the installation, of the upgrade and of the removal, each time another life."""
    async with harbour(cluster) as at:
        expected = await _unharmed(at, tmp_path)
        kills = 0
        for number in range(1, MOST):
            name = f"{at.name}-{number}"
            await at.create(NAMESPACES, namespace(name))
            refs = versions(at, name)
            struck = [
                await _act(at, tmp_path, number, name, partial(at.install, refs[0], name), READY),
                await _checked(at, name, expected[0]),
                await _act(at, tmp_path, number, name, partial(at.install, refs[1], name), READY),
                await _checked(at, name, expected[1]),
                await _act(at, tmp_path, number, name, partial(at.remove, name), gone),
            ]
            assert (await at.find(NAMESPACES, name) or {})["metadata"]["labels"] == {
                "kubernetes.io/metadata.name": name
            }
            assert await at.find(CRDS, f"boats.{name}.example.com") is None
            kills += sum(struck)
            if not any(struck):
                break
        print(f"{kills} kills, {number - 1} writes in the longest act")
        assert not any(struck)
        assert kills > 20


async def _unharmed(at: Harbour, cache: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The worlds after the first and the second bundle when nothing goes wrong."""
    name = f"{at.name}-x"
    await at.create(NAMESPACES, namespace(name))
    refs = versions(at, name)
    async with life(at.cluster, cache):
        await at.install(refs[0], name)
        await at.until(READY, name)
        one = await world(at, name)
        await at.install(refs[1], name)
        await _settled(at, name)
        two = await world(at, name)
        await at.remove(name)
        await at.until(gone, name)
    assert two != one
    return one, two


async def _settled(at: Harbour, name: str) -> None:
    """Ready, and nothing of the bundle before is left."""
    await at.until(READY, name)
    await at.until(lambda _: sum(known.startswith(f"{name}-") for _, known in at.bundles.objects) == 1, name)


async def _act(
    at: Harbour,
    cache: Path,
    number: int,
    name: str,
    begin: Callable[[], Awaitable[Any]],
    end: Callable[[Object | None], bool],
) -> bool:
    """Kill during an act, then let another life finish it; returns whether it was killed before the end."""
    async with life(at.cluster, cache) as fate:
        fate.left = number
        await begin()
        await first(fate.dead.wait(), at.until(end, name))
        struck = fate.dead.is_set()
    async with life(at.cluster, cache):
        await (at.until(gone, name) if end is gone else _settled(at, name))
    return struck


async def _checked(at: Harbour, name: str, expected: dict[str, Any]) -> bool:
    assert await world(at, name) == expected
    return False


@pytest.mark.timeout(600)
async def test_a_kill_while_a_namespace_of_ours_goes_leaves_none(cluster: Cluster, tmp_path: Path) -> None:
    async with harbour(cluster) as at:
        names = [f"{at.name}-{number}" for number in range(1, 9)]
        async with life(cluster, tmp_path):
            for name in names:
                await at.install(at.push(plain(namespace(name), config_map("log", name)), name), name)
            for name in names:
                await at.until(READY, name)
        struck = [
            await _act(at, tmp_path, number, name, partial(at.remove, name), gone)
            for number, name in enumerate(names, 1)
        ]
        assert struck[0]
        assert not struck[-1]
        for name in names:
            assert await at.find(NAMESPACES, name) is None
