"""A process killed at any line of the store, the store and the follower: what runs next finds the disk whole, and makes it good.

Each life is a child process that kills itself by SIGKILL when it has come so many lines far, in whatever thread.
"""

from __future__ import annotations

import asyncio
import faulthandler
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from catalogd.replication import client as replication_source
from catalogd.replication import copier as replication_copy
from catalogd.replication import follower as replication_follower
from catalogd.storage import catalog_store, disk, state_file
from catalogd.storage.catalog_store import CatalogStore
from olmkit.store import checksums, store
from tests.integration.catalogd.catalog_stores import ONE, TWO, fill_catalog_store, record, write
from tests.integration.catalogd.replicas import FollowerInputs, following, replica, until

pytestmark = pytest.mark.crash

ON_DISK = (catalog_store, disk, state_file, store, checksums)
COPYING = (replication_copy, replication_follower, replication_source)
THREE = "sha256:" + "3" * 64
Life = Callable[[], Coroutine[Any, Any, None]]


def live(life: Life, lines: int, modules: tuple[Any, ...]) -> bool:
    """Run a life in a child that is killed at that line of the modules. Returns whether it came to its end."""
    files = {module.__file__ for module in modules}
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(60, exit=True)  # reports where a process hangs
        _die_at(lines, files)
        try:
            asyncio.run(life())
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert status == 0, "the life ended by an error"
    return True


def _die_at(lines: int, files: set[str | None]) -> None:
    count = itertools.count(1)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line" and next(count) == lines:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)


def whole(root: Path, allowed: list[dict[str, str]]) -> None:
    """What runs next serves one of these, each content of it whole, and nothing else is left on the disk."""

    async def look() -> None:
        found = CatalogStore(root)
        await found.restore()
        served = {name: served.record.digest for name in found.names if (served := found.get(name))}
        assert served in allowed
        assert all(found.content_store.verify(digest) for digest in found.digests)
        assert found.content_store.digests() == found.digests
        assert list((root / "content" / ".staging").iterdir()) == []

    asyncio.run(look())


def test_a_store_that_is_killed_at_any_line(tmp_path: Path) -> None:
    def begin(root: Path) -> None:
        asyncio.run(fill(root))

    async def fill(root: Path) -> None:
        await fill_catalog_store(root, a=ONE, b=TWO)

    async def change(root: Path) -> None:
        """Content is read and replaces other content, is withdrawn, is found damaged; time passes."""
        ours = CatalogStore(root)
        await ours.restore()
        with ours.content_store.stage() as work:
            with store.fill_staging(work, THREE) as directory:
                write(directory, THREE)
            ours.content_store.publish_staged(work, THREE)
        await ours.put("a", record(THREE))
        await ours.remove("b")
        await ours.free_space()
        await ours.maintain()

    states = [{"a": ONE, "b": TWO}, {"a": THREE, "b": TWO}, {"a": THREE}]
    for lines in itertools.count(1, 17):
        root = tmp_path / str(lines)
        begin(root)
        is_over = live(lambda root=root: change(root), lines, ON_DISK)  # type: ignore[misc]
        whole(root, states)
        assert live(lambda root=root: change(root), -1, ON_DISK)  # type: ignore[misc]
        whole(root, states[-1:])
        if is_over:
            assert lines > 100, "nothing was traced"
            return


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[str]:
    """The address of a replica in a process of its own, which serves two contents."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:

        async def serve() -> None:
            async with replica(tmp_path / "leader") as ours:
                await ours.serve(ONE, "a", size=3 * 1024 * 1024)
                await ours.serve(TWO, "b")
                os.write(writing, f"{ours.address}\n".encode())
                await asyncio.Event().wait()

        try:
            asyncio.run(serve())
        finally:
            os._exit(1)
    with os.fdopen(reading) as address:
        os.close(writing)
        yield address.readline().strip()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.timeout(900)  # on a slower machine there are more checks in the meantime, which are lines too
def test_a_follower_that_is_killed_at_any_line(tmp_path: Path, leader: str) -> None:
    async def follow(root: Path) -> None:
        ours = CatalogStore(root)
        await ours.restore()
        async with following(ours, FollowerInputs(leader, {"a": "1", "b": "2"})):
            await until(lambda: set(ours.names) == {"a", "b"})

    states = [{}, {"a": ONE}, {"b": TWO}, {"a": ONE, "b": TWO}]
    for lines in itertools.count(1, 31):
        root = tmp_path / str(lines)
        is_over = live(lambda root=root: follow(root), lines, (*ON_DISK, *COPYING))  # type: ignore[misc]
        whole(root, states)
        if is_over or lines % 5 == 0:
            assert live(lambda root=root: follow(root), -1, ON_DISK)  # type: ignore[misc]
            whole(root, states[-1:])
        if is_over:
            assert lines > 100, "nothing was traced"
            return
