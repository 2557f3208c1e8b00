"""Content that cannot be read for a while: no file descriptor is left, or its files may not be read. Nothing is removed.

Real limits and real permissions, in processes of their own. No cluster.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.catalogd.catalog_stores import ONE, TWO, fill_catalog_store, on_disk, served

BEGIN = """
import asyncio, os, sys
from pathlib import Path
from catalogd.storage.startup_verifier import StartupVerifier
from catalogd.storage.catalog_store import CatalogStore
from olmkit.errors import OlmError
from olmkit.store.store import Store
from tests.integration.catalogd.catalog_stores import ONE, TWO, damage, record
from tests.descriptors import give_back, use_up

root = Path()
os.chdir(sys.argv[1])
NOBODY = 65534

def forbid(pattern):
    for path in root.rglob("*"):
        path.chmod(0o777)
    root.chmod(0o777)
    for path in root.glob(pattern):
        path.chmod(0)
    if os.getuid() == 0:
        os.seteuid(NOBODY)  # root can read everything

def permit(pattern):
    os.seteuid(os.getuid())
    for path in root.glob(pattern):
        path.chmod(0o777)
"""
MANIFESTS, BLOBS = "content/sha256-*/manifest.json", "content/sha256-*/content/all.jsonl"


def run(root: Path, story: str) -> list[str]:
    """The lines that a process prints which does this: `story` is the body of an async function."""
    body = "\n".join(f"    {line}" for line in story.strip().splitlines())
    script = f"{BEGIN}\nasync def story():\n{body}\n\nasyncio.run(story())\n"
    done = subprocess.run([sys.executable, "-c", script, str(root)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


async def test_maintenance_without_file_descriptors_removes_nothing_that_is_served(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE, b=TWO)
    story = """
store = CatalogStore(root)
await store.restore()
use_up()
await store.maintain()
give_back()
print(sorted(store.names), repr(store.corruption("a")))
"""
    assert run(tmp_path, story) == ["['a', 'b'] ''"]
    assert on_disk(tmp_path) == {ONE, TWO}
    assert await served(tmp_path) == {"a": ONE, "b": TWO}


async def test_a_report_of_damage_without_file_descriptors_removes_nothing(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE)
    story = """
store = CatalogStore(root)
await store.restore()
use_up()
await store.report_damage(ONE)
give_back()
print(sorted(store.names))
"""
    assert run(tmp_path, story) == ["['a']"]
    assert on_disk(tmp_path) == {ONE}


async def test_what_cannot_be_opened_when_it_is_put_stays_on_disk(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE)
    story = """
store = CatalogStore(root)
use_up()
try:
    await store.put("b", record(ONE))
except OSError as error:
    give_back()
    print(error.strerror)
"""
    assert run(tmp_path, story) == ["Too many open files"]
    assert on_disk(tmp_path) == {ONE}


@pytest.mark.parametrize("what", [MANIFESTS, BLOBS])
@pytest.mark.parametrize("startup_verifier", ["StartupVerifier(root)", "None"])
async def test_what_cannot_be_verified_at_the_start_is_neither_served_nor_removed_until_it_can(
    tmp_path: Path, what: str, startup_verifier: str
) -> None:
    await fill_catalog_store(tmp_path, a=ONE, b=TWO)
    story = f"""
forbid("{what}")
store = CatalogStore(root, startup_verifier={startup_verifier})
changes = []
store.on_catalog_change(changes.append)
await store.restore()
print(sorted(store.names), sorted(store.pending_names), repr(store.corruption("a")))
await store.remove("b")
await store.maintain()
print(sorted(store.names), sorted(store.pending_names), changes)
permit("{what}")
await store.maintain()
print(sorted(store.names), sorted(store.pending_names), changes)
"""
    assert run(tmp_path, story) == ["[] ['a', 'b'] ''", "[] ['a'] []", "['a'] [] ['a']"]
    assert await served(tmp_path) == {"a": ONE}


async def test_what_cannot_be_verified_survives_another_restart(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE, b=TWO)
    story = f"""
forbid("{MANIFESTS}".replace("*", "1" * 64))
store = CatalogStore(root)
await store.restore()
print(sorted(store.names))
await store.put("c", record(TWO))
permit("{MANIFESTS}")
"""
    assert run(tmp_path, story) == ["['b']"]
    assert await served(tmp_path) == {"a": ONE, "b": TWO, "c": TWO}


async def test_an_unreadable_state_file_ends_the_start_and_removes_nothing(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE)
    story = """
forbid("catalogs.json")
try:
    await CatalogStore(root, startup_verifier=StartupVerifier(root)).restore()
except OlmError as error:
    permit("catalogs.json")
    print(error.reason, error.message)
"""
    text = "catalogs.json cannot be read (Permission denied): let this process read it, or remove it"
    assert run(tmp_path, story) == [f"CacheUnusable {text}"]
    assert await served(tmp_path) == {"a": ONE}
