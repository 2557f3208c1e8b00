"""What parses for a job is a process of its own: without a network, without logins, with one folder to write to."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from olmkit.errors import Blocked, Waiting
from olmkit.jobs import (
    Failed,
    Finished,
    Jobs,
    JobState,
    Limits,
    MemoryBudget,
    Queued,
    Running,
    Sandbox,
    Task,
    landlock,
    seccomp,
)
from tests.integration.olmkit.jobs.sandboxed_jobs import Values, job
from tests.integration.olmkit.jobs.test_sandbox import with_landlock, with_seccomp
from tests.integration.olmkit.jobs.test_scheduler import end_of

WORK = "tests.integration.olmkit.jobs.sandboxed_jobs"
MEBIBYTE = 1024 * 1024
NUMBERS = itertools.count()
LIMITS = Limits(
    memory_bytes=64 * MEBIBYTE, fetch_memory_bytes=48 * MEBIBYTE, cpu_seconds=1, timeout=timedelta(seconds=30)
)


class Desk:
    """Jobs that have something parsed in `folder`."""

    def __init__(self, folder: Path, limits: Limits = LIMITS, memory: MemoryBudget | None = None) -> None:
        self.folder = folder
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[Values](
            self.ends.put_nowait, limits=limits, preload=[WORK], sandbox=Sandbox(writes=(folder,)), memory=memory
        )

    def start(self, key: str, function: str, **arguments: Any) -> None:
        named = {"function": function, "folder": str(self.folder / "staging"), **arguments}
        self.jobs.ensure(key, str(next(NUMBERS)), Task(job("have_parsed"), named))

    async def end(self, function: str, **arguments: Any) -> JobState[Values]:
        """Of one job."""
        self.start("key", function, **arguments)
        async with asyncio.timeout(30):
            assert await self.ends.get() == "key"
        state = self.jobs.state("key")
        assert state is not None
        return state

    async def progress(self, key: str, wanted: str | None = None) -> str:
        """What the job says once it is `wanted`, or a number."""
        async with asyncio.timeout(30):
            while True:
                state = self.jobs.state(key)
                assert isinstance(state, Queued | Running), state
                if isinstance(state, Queued):
                    pass
                elif state.progress == wanted or (wanted is None and state.progress.isdigit()):
                    return state.progress
                await asyncio.sleep(0.005)


@pytest_asyncio.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path / "store")
    yield made
    await made.jobs.close()


@with_seccomp
async def test_what_parses_reaches_nobody(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ways = [("connect", "127.0.0.1", server.getsockname()[1]), ("execute", "/bin/true")]
        state = await desk.end("attempt_apart", ways=ways)
    assert isinstance(state, Finished)
    assert state.result["outcomes"] == ["EPERM", "EPERM"]


@with_landlock
async def test_what_parses_writes_to_its_folder_only(desk: Desk) -> None:
    other = desk.folder / "content of another"
    other.mkdir(parents=True)
    own = desk.folder / "staging"
    ways = [
        ("write", str(own / "file")),
        ("read", str(own / "file")),
        ("write temporary",),
        ("write", str(other / "file")),
        ("rename", str(own), str(desk.folder / "renamed")),
        ("read", "/etc/hosts"),
        ("read", "/proc/self/environ"),
        ("kill", os.getpid(), 0),
    ]
    state = await desk.end("attempt_apart", ways=ways)
    assert isinstance(state, Finished)
    *outcomes, kill = state.result["outcomes"]
    assert outcomes == ["done"] * 3 + ["EACCES"] * 4
    assert kill == ("EPERM" if seccomp.is_available() or landlock.abi_version() >= 6 else "done")


async def test_what_parses_is_no_copy_of_the_job_and_has_no_environment(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:s3cret@proxy:3128")
    state = await desk.end("attempt_apart", ways=[])
    assert isinstance(state, Finished)
    found = state.result
    assert found["parent"] == found["parent of the job"] != found["job"], "forked off the server, which knows no login"
    assert list(found["environment"]) == ["TMPDIR"]
    assert found["file"] == "fetched"
    assert found["descriptors"] == 3 + 2, "the line to its job, and the file"
    assert found["dumpable"] == 0


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        pytest.param("block_apart", Blocked, "the content is wrong", id="Blocked arrives as Blocked"),
        pytest.param("eat_memory_apart", Blocked, "it needs more memory", id="so does memory beyond the limit"),
        pytest.param("spin_apart", Blocked, "it needs more than 1 s of CPU time", id="and CPU time beyond the limit"),
        pytest.param("crash_apart", Blocked, "crashed (SIGSEGV)", id="and a crash"),
        pytest.param("leave_apart", Waiting, "ended without an answer", id="an end without an answer may pass"),
        pytest.param("fail_apart", Waiting, "unexpected error: KeyError: 'surprise'", id="so may what nobody foresaw"),
    ],
)
async def test_how_the_process_that_parses_ends_is_how_the_job_ends(
    desk: Desk, function: str, kind: type[Exception], message: str
) -> None:
    state = await desk.end(function)
    assert isinstance(state, Failed)
    assert type(state.error) is kind
    assert message in state.error.message
    assert isinstance(await desk.end("attempt_apart", ways=[]), Finished), "the next job is not harmed"


@pytest.mark.parametrize("way", ["cancelled", "killed"])
async def test_a_job_that_ends_leaves_no_process_that_parses(desk: Desk, way: str) -> None:
    desk.start("key", "hang_apart")
    pid = int(await desk.progress("key"))
    if way == "cancelled":
        desk.jobs.cancel("key")
    else:
        # The job is the other child of the server that has a line to this one.
        server = parent_of(pid)
        (job,) = set(children_of(server)) - {pid}
        os.kill(job, signal.SIGKILL)
        assert await desk.ends.get() == "key"
    await end_of(pid)


@with_seccomp
async def test_nothing_that_a_parser_started_is_left_when_its_job_has_the_answer(desk: Desk) -> None:
    state = await desk.end("leave_writer_apart", way="end")
    assert isinstance(state, Finished)
    assert state.result["orphan"] > 0
    assert state.result["orphan is left"] is False


@with_seccomp
@pytest.mark.parametrize("way", ["cancelled", "closed"])
async def test_a_job_that_is_stopped_leaves_nothing_that_its_parser_started(desk: Desk, way: str) -> None:
    desk.start("key", "leave_writer_apart", way="hang")
    pid = int(await desk.progress("key"))
    if way == "closed":
        await desk.jobs.close()
        with pytest.raises(ProcessLookupError):
            os.getpgid(pid)
    else:
        desk.jobs.cancel("key")
        await end_of(pid)


async def test_a_parser_ends_the_readers_that_it_started(desk: Desk) -> None:
    state = await desk.end("end_readers_apart")
    assert isinstance(state, Finished), state
    assert state.result["started"] > 0
    assert state.result["left"] == 0


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_what_is_fetched_waits_for_memory_and_keeps_no_other_from_fetching(tmp_path: Path) -> None:
    """Two may fetch and one may parse; a third that asks for more than there is waits, though there are turns."""
    memory = MemoryBudget(LIMITS.parser_memory_bytes + 2 * LIMITS.fetch_memory_bytes)
    desk = Desk(tmp_path / "store", LIMITS, memory)
    try:
        desk.start("first", "hang_apart")
        await desk.progress("first")
        desk.start("second", "hang_apart")
        await desk.progress("second", "waiting for memory")
        desk.start("third", "hang_apart")
        assert memory.held == memory.total
        assert isinstance(desk.jobs.state("third"), Queued)
        desk.jobs.cancel("first")
        await desk.progress("second")
        await desk.progress("third", "waiting for memory")
        assert memory.held == memory.total
        desk.jobs.cancel("second")
        await desk.progress("third")
    finally:
        await desk.jobs.close()
    assert memory.held == 0


async def test_to_wait_for_memory_costs_a_job_none_of_its_time(tmp_path: Path) -> None:
    limits = Limits(memory_bytes=64 * MEBIBYTE, fetch_memory_bytes=48 * MEBIBYTE, timeout=timedelta(seconds=3))
    memory = MemoryBudget(limits.parser_memory_bytes + limits.fetch_memory_bytes)
    desk = Desk(tmp_path / "store", limits, memory)
    try:
        async with asyncio.timeout(60):
            while not isinstance(await desk.end("attempt_apart", ways=[]), Finished):
                pass  # the first job's time may be over before the fork server is there
        async with memory.hold(limits.parser_memory_bytes, parser=True):
            desk.start("key", "attempt_apart", ways=[])
            await desk.progress("key", "waiting for memory")
            await asyncio.sleep(3.5)  # longer than the job may take
            await desk.progress("key", "waiting for memory")
        assert await desk.ends.get() == "key"
        assert isinstance(desk.jobs.state("key"), Finished)
    finally:
        await desk.jobs.close()
