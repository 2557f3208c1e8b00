"""rukpak is killed after each of its writes: the next process brings about the same world, and removes all of it again.

Only its cache directory remains.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from rukpak.setup import build
from tests.cluster import killable_process
from tests.cluster.killable_process import KillSwitch, first
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    READY,
    Harness,
    Object,
    config_map,
    definition,
    deployment,
    gone,
    kind_of,
    namespace,
    plain,
    settings,
    thing,
)

pytestmark = pytest.mark.crash

MAX_WRITES = 60
"""More writes than any of the three steps takes."""


def run_rukpak(cluster: Cluster, cache: Path) -> contextlib.AbstractAsyncContextManager[KillSwitch]:
    """Run the process rukpak; it is killed at the end, whatever it is doing."""
    return killable_process.run_killable("rukpak", settings(cluster, cache), build)


def versions(at: Harness, name: str) -> tuple[str, str]:
    """Two bundles of one operator: the second changes, drops and adds objects."""
    space, crd = namespace(name), definition(f"{name}.example.com")
    boat = thing(kind_of(f"{name}.example.com"), "dinghy", name)
    one = plain(space, crd, config_map("both", name, v="1"), config_map("old", name), deployment("engine", name))
    two = plain(space, crd, config_map("both", name, v="2"), config_map("new", name), deployment("engine", name), boat)
    return at.push(one, f"{name}-v1"), at.push(two, f"{name}-v2")


async def world(at: Harness, name: str) -> dict[str, Any]:
    """What is there of a BundleDeployment, without what differs from one process to the next."""
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
async def test_a_kill_after_any_write_leads_to_the_same_world(at: Harness, tmp_path: Path) -> None:
    """For each n: killed after the n-th write of the installation, of the upgrade and of the removal, and each time another
    process continues."""
    expected = await _uninterrupted(at, tmp_path)
    kills = 0
    for number in range(1, MAX_WRITES):
        name = f"{at.name}-{number}"
        await at.create(NAMESPACES, namespace(name))
        refs = versions(at, name)
        was_killed = [
            await _step(at, tmp_path, number, name, partial(at.install, refs[0], name), READY),
            await _checked(at, name, expected[0]),
            await _step(at, tmp_path, number, name, partial(at.install, refs[1], name), READY),
            await _checked(at, name, expected[1]),
            await _step(at, tmp_path, number, name, partial(at.remove, name), gone),
        ]
        assert (await at.find(NAMESPACES, name) or {})["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
        assert await at.find(CRDS, f"boats.{name}.example.com") is None
        kills += sum(was_killed)
        if not any(was_killed):
            break
    print(f"{kills} kills, {number - 1} writes in the longest step")
    assert not any(was_killed)
    assert kills > 20


async def _uninterrupted(at: Harness, cache: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The worlds after the first and the second bundle when nothing goes wrong."""
    name = f"{at.name}-x"
    await at.create(NAMESPACES, namespace(name))
    refs = versions(at, name)
    async with run_rukpak(at.cluster, cache):
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


async def _settled(at: Harness, name: str) -> None:
    """Ready, and nothing of the bundle before is left."""
    await at.until(READY, name)
    await at.until(lambda _: sum(known.startswith(f"{name}-") for _, known in at.bundles.objects) == 1, name)


async def _step(
    at: Harness,
    cache: Path,
    number: int,
    name: str,
    begin: Callable[[], Awaitable[Any]],
    end: Callable[[Object | None], bool],
) -> bool:
    """Kill the process during a step, then let another one finish it; returns whether it was killed before the end."""
    async with run_rukpak(at.cluster, cache) as kill_switch:
        kill_switch.writes_left = number
        await begin()
        await first(kill_switch.killed.wait(), at.until(end, name))
        was_killed = kill_switch.was_killed
    async with run_rukpak(at.cluster, cache):
        await (at.until(gone, name) if end is gone else _settled(at, name))
    return was_killed


async def _checked(at: Harness, name: str, expected: dict[str, Any]) -> bool:
    assert await world(at, name) == expected
    return False


@pytest.mark.timeout(600)
async def test_a_kill_during_the_deletion_of_a_namespace_leaves_none(at: Harness, tmp_path: Path) -> None:
    """One exists at a time: each process applies again what exists, and its writes would be counted."""
    kills = 0
    for number in range(1, MAX_WRITES):
        name = f"{at.name}-{number}"
        async with run_rukpak(at.cluster, tmp_path):
            await at.install(at.push(plain(namespace(name), config_map("log", name)), name), name)
            await at.until(READY, name)
        was_killed = await _step(at, tmp_path, number, name, partial(at.remove, name), gone)
        assert await at.find(NAMESPACES, name) is None
        kills += was_killed
        if not was_killed:
            break
    assert kills
    assert not was_killed
