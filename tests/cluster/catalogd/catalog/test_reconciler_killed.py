"""catalogd is killed after each of its writes: the next process serves and lists the same."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import orjson
import pytest

from catalogd.setup import build
from tests.cluster.catalogd.conftest import World, lines, package, settings_of
from tests.cluster.killable_process import first, run_killable

pytestmark = pytest.mark.crash

BEFORE = lines(package("kept", "1.0.0"), package("removed", "1.0.0"))
AFTER = lines(package("kept", "1.0.0", "1.1.0"), package("added", "1.0.0"))
MAX_WRITES = 40
"""More than one content needs."""


async def served(world: World, name: str, digest: str, files: dict[str, bytes], packages: set[str]) -> None:
    """The status names the content, HTTP serves it, and its packages are listed, no other."""
    blobs = [json.loads(line) for data in files.values() for line in data.splitlines()]
    expected = {f"{name}-{each}" for each in packages}
    kept = {blob["name"] for blob in blobs if blob["schema"] == "olm.bundle" and blob["package"] == "kept"}

    def are_listed() -> bool:
        """They are written concurrently: if all of them exist, one of them may not be up to date yet."""
        found = world.packages(name)
        if found.keys() != expected:
            return False
        return {entry["name"] for entry in found[f"{name}-kept"]["spec"]["channels"][0]["entries"]} == kept

    await world.serves(digest, name)
    await world.until("the Packages are those of the content", are_listed)
    code, body = await world.get(f"{name}/all.json")
    assert code == 200
    assert [orjson.loads(line) for line in body.splitlines()] == blobs


@pytest.mark.timeout(900)  # two or three processes for each write, each of which starts others
@pytest.mark.parametrize("moved", [False, True], ids=["while its first content is read", "while its tag has moved"])
async def test_it_recovers_from_a_kill_after_any_write(world: World, tmp_path: Path, moved: bool) -> None:
    for left in range(1, MAX_WRITES):
        cache, name = tmp_path / f"life-{left}", f"{world.name}-{left}"
        alive = partial(run_killable, "catalogd", settings_of(world, cache), build)
        first_digest = await world.push(BEFORE, tag=name)
        before = partial(served, world, name, first_digest, BEFORE, {"kept", "removed"})
        finish = before
        await world.catalog(world.ref(f":{name}"), name, poll="1s")
        if moved:
            async with alive():
                await before()
            digest = await world.push(AFTER, tag=name)
            finish = partial(served, world, name, digest, AFTER, {"kept", "added"})
        async with alive() as kill_switch:
            kill_switch.writes_left = left
            await first(kill_switch.killed.wait(), finish())
        async with alive():
            await finish()
        await world.remove(name)
        if not kill_switch.was_killed:
            assert left > 3, "the first process was killed at no write"
            return
    pytest.fail(f"still writing after {MAX_WRITES} writes")
