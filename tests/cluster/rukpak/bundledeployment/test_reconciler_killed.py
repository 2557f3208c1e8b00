"""rukpak killed after each of its writes: what runs next brings about the same world, and takes all of it away again.

Everything it knew is lost but its cache folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from rukpak.bundledeployment.rest_mapper import CRDS, NAMESPACES
from rukpak.setup import build
from tests.cluster import mortal
from tests.cluster.mortal import Fate, first
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    READY,
    Harbour,
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

MOST = 60
"""More writes than any of the three acts takes."""


def life(cluster: Cluster, cache: Path) -> contextlib.AbstractAsyncContextManager[Fate]:
    """One life of the process rukpak; it ends by a kill, whatever it is doing."""
    return mortal.life("rukpak", settings(cluster, cache), build)


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
async def test_a_kill_after_any_write_leads_to_the_same_world(at: Harbour, tmp_path: Path) -> None:
    """For each n: killed after the n-th write of the installation, of the upgrade and of the removal, each time another life."""
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
        assert (await at.find(NAMESPACES, name) or {})["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
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
async def test_a_kill_while_a_namespace_of_ours_goes_leaves_none(at: Harbour, tmp_path: Path) -> None:
    """One is there at a time: each life applies again whatever is there, and its writes would be those."""
    kills = 0
    for number in range(1, MOST):
        name = f"{at.name}-{number}"
        async with life(at.cluster, tmp_path):
            await at.install(at.push(plain(namespace(name), config_map("log", name)), name), name)
            await at.until(READY, name)
        struck = await _act(at, tmp_path, number, name, partial(at.remove, name), gone)
        assert await at.find(NAMESPACES, name) is None
        kills += struck
        if not struck:
            break
    assert kills
    assert not struck
