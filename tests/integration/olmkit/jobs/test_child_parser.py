"""The parser of a job: a process of its own without network and credentials, with one writable directory."""

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
from olmkit.jobs import landlock, seccomp
from olmkit.jobs.child import Parser
from olmkit.jobs.job import Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.protocol import frame
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Failed, Finished, JobState, Queued, Running
from tests.integration.olmkit.jobs.sandboxed_jobs import Values, job
from tests.integration.olmkit.jobs.test_sandbox import with_landlock, with_seccomp
from tests.integration.olmkit.jobs.test_scheduler import process_end

WORK = "tests.integration.olmkit.jobs.sandboxed_jobs"
MEBIBYTE = 1024 * 1024
NUMBERS = itertools.count()
LIMITS = Limits(
    memory_bytes=64 * MEBIBYTE, fetch_memory_bytes=48 * MEBIBYTE, cpu_seconds=1, timeout=timedelta(seconds=30)
)


class JobRunner:
    """Jobs that parse in `directory`."""

    def __init__(self, directory: Path, limits: Limits = LIMITS, memory: MemoryBudget | None = None) -> None:
        self.directory = directory
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[Values](
            self.ends.put_nowait, limits=limits, preload=[WORK], sandbox=Sandbox(writes=(directory,)), memory=memory
        )

    def start(self, key: str, function: str, **arguments: Any) -> None:
        named = {"function": function, "directory": str(self.directory / "staging"), **arguments}
        self.jobs.ensure(key, str(next(NUMBERS)), Task(job("parse"), named))

    async def run(self, function: str, **arguments: Any) -> JobState[Values]:
        """Run one job; returns its last state."""
        self.start("key", function, **arguments)
        async with asyncio.timeout(30):
            assert await self.ends.get() == "key"
        state = self.jobs.state("key")
        assert state is not None
        return state

    async def wait_for_progress(self, key: str, wanted: str | None = None) -> str:
        """Wait until the progress of the job is `wanted`, or by default a number; returns it."""
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
async def runner(tmp_path: Path) -> AsyncIterator[JobRunner]:
    runner = JobRunner(tmp_path / "store")
    yield runner
    await runner.jobs.close()


@with_seccomp
async def test_a_parser_has_no_network(runner: JobRunner) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        actions = [("connect", "127.0.0.1", server.getsockname()[1]), ("execute", "/bin/true")]
        state = await runner.run("attempt_in_parser", actions=actions)
    assert isinstance(state, Finished)
    assert state.result["outcomes"] == ["EPERM", "EPERM"]


@with_landlock
async def test_a_parser_writes_to_its_directory_only(runner: JobRunner) -> None:
    other = runner.directory / "other content"
    other.mkdir(parents=True)
    own = runner.directory / "staging"
    actions = [
        ("write", str(own / "file")),
        ("read", str(own / "file")),
        ("write temporary",),
        ("write", str(other / "file")),
        ("rename", str(own), str(runner.directory / "renamed")),
        ("read", "/etc/hosts"),
        ("read", "/proc/self/environ"),
        ("kill", os.getpid(), 0),
    ]
    state = await runner.run("attempt_in_parser", actions=actions)
    assert isinstance(state, Finished)
    *outcomes, kill = state.result["outcomes"]
    assert outcomes == ["done"] * 3 + ["EACCES"] * 4
    assert kill == ("EPERM" if seccomp.is_available() or landlock.abi_version() >= 6 else "done")


async def test_a_parser_is_not_forked_from_the_job_and_has_no_environment(
    runner: JobRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:s3cret@proxy:3128")
    state = await runner.run("attempt_in_parser", actions=[])
    assert isinstance(state, Finished)
    found = state.result
    assert found["parent"] == found["parent of the job"] != found["job"], (
        "forked from the server, which has no credentials"
    )
    assert list(found["environment"]) == ["TMPDIR"]
    assert found["file"] == "fetched"
    assert found["descriptors"] == 3 + 2, "the channel to its job, and the file"
    assert found["dumpable"] == 0


class AnsweredEarly(socket.socket):
    """The job's end of a channel whose parser has answered and ended before the job continues after the first bytes."""

    parser: socket.socket

    def sendmsg(self, *arguments: Any) -> int:
        """Send the bytes, receive and answer them, and close the other end."""
        sent = super().sendmsg(*arguments)
        message, files, _, _ = socket.recv_fds(self.parser, 4096, 4)
        assert (message[-1:], len(files)) == (b"\n", 1)
        os.close(files[0])
        self.parser.sendall(frame("result", {"early": True}))
        self.parser.close()
        return sent


async def test_an_answer_that_comes_before_the_job_has_continued_is_read(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with AnsweredEarly(fileno=ours.detach()) as channel, (tmp_path / "file").open("w+b") as file:
        channel.parser = theirs
        parser = Parser(channel, lambda: None, lambda _: None)
        assert await parser(job("parse"), {}, [file], tmp_path) == {"early": True}


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        pytest.param("raise_blocked_in_parser", Blocked, "the content is wrong", id="Blocked arrives as Blocked"),
        pytest.param(
            "allocate_memory_in_parser", Blocked, "it needs more memory", id="memory beyond the limit is Blocked"
        ),
        pytest.param(
            "use_cpu_in_parser",
            Blocked,
            "it needs more than 1 s of CPU time",
            id="CPU time beyond the limit is Blocked",
        ),
        pytest.param("crash_in_parser", Blocked, "crashed (SIGSEGV)", id="a crash is Blocked"),
        pytest.param(
            "exit_in_parser",
            Waiting,
            "ended without an answer (exit status 3)",
            id="an exit without an answer is Waiting",
        ),
        pytest.param(
            "raise_unexpected_in_parser",
            Waiting,
            "unexpected error: KeyError: 'surprise'",
            id="an unexpected error is Waiting",
        ),
    ],
)
async def test_failures_of_the_parser_are_those_of_the_job(
    runner: JobRunner, function: str, kind: type[Exception], message: str
) -> None:
    state = await runner.run(function)
    assert isinstance(state, Failed)
    assert type(state.error) is kind
    assert message in state.error.message
    assert isinstance(await runner.run("attempt_in_parser", actions=[]), Finished), "the next job runs"


@pytest.mark.parametrize("way", ["cancelled", "killed"])
async def test_the_parser_ends_with_its_job(runner: JobRunner, way: str) -> None:
    runner.start("key", "hang_in_parser")
    pid = int(await runner.wait_for_progress("key"))
    if way == "cancelled":
        runner.jobs.cancel("key")
    else:
        # The job is the other child of the server.
        server = parent_of(pid)
        (job,) = set(children_of(server)) - {pid}
        os.kill(job, signal.SIGKILL)
        assert await runner.ends.get() == "key"
    await process_end(pid)


@with_seccomp
async def test_processes_of_the_parser_end_before_its_job_has_the_answer(runner: JobRunner) -> None:
    state = await runner.run("leave_orphan_in_parser", way="end")
    assert isinstance(state, Finished)
    assert state.result["orphan"] > 0
    assert state.result["orphan is left"] is False


@with_seccomp
@pytest.mark.parametrize("way", ["cancelled", "closed"])
async def test_processes_of_the_parser_end_with_a_cancelled_job(runner: JobRunner, way: str) -> None:
    runner.start("key", "leave_orphan_in_parser", way="hang")
    pid = int(await runner.wait_for_progress("key"))
    if way == "closed":
        await runner.jobs.close()
        with pytest.raises(ProcessLookupError):
            os.getpgid(pid)
    else:
        runner.jobs.cancel("key")
        await process_end(pid)


async def test_a_parser_ends_its_yaml_workers(runner: JobRunner) -> None:
    state = await runner.run("end_yaml_workers_in_parser")
    assert isinstance(state, Finished), state
    assert state.result["started"] > 0
    assert state.result["left"] == 0


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_parsers_wait_for_memory_while_others_fetch(tmp_path: Path) -> None:
    """Two may fetch and one may parse; a third waits for memory, although there are slots."""
    memory = MemoryBudget(LIMITS.parser_memory_bytes + 2 * LIMITS.fetch_memory_bytes)
    runner = JobRunner(tmp_path / "store", LIMITS, memory)
    try:
        runner.start("first", "hang_in_parser")
        await runner.wait_for_progress("first")
        runner.start("second", "hang_in_parser")
        await runner.wait_for_progress("second", "waiting for memory")
        runner.start("third", "hang_in_parser")
        assert memory.held == memory.total
        assert isinstance(runner.jobs.state("third"), Queued)
        runner.jobs.cancel("first")
        await runner.wait_for_progress("second")
        await runner.wait_for_progress("third", "waiting for memory")
        assert memory.held == memory.total
        runner.jobs.cancel("second")
        await runner.wait_for_progress("third")
    finally:
        await runner.jobs.close()
    assert memory.held == 0


async def test_waiting_for_memory_does_not_count_towards_the_timeout(tmp_path: Path) -> None:
    limits = Limits(memory_bytes=64 * MEBIBYTE, fetch_memory_bytes=48 * MEBIBYTE, timeout=timedelta(seconds=6))
    memory = MemoryBudget(limits.parser_memory_bytes + limits.fetch_memory_bytes)
    runner = JobRunner(tmp_path / "store", limits, memory)
    try:
        async with asyncio.timeout(60):
            while not isinstance(await runner.run("attempt_in_parser", actions=[]), Finished):
                pass  # the first job may time out before the fork server has started
        async with memory.hold(limits.parser_memory_bytes, parser=True):
            runner.start("key", "attempt_in_parser", actions=[])
            await runner.wait_for_progress("key", "waiting for memory")
            await asyncio.sleep(6.5)  # longer than the timeout of the job
            await runner.wait_for_progress("key", "waiting for memory")
        assert await runner.ends.get() == "key"
        assert isinstance(runner.jobs.state("key"), Finished)
    finally:
        await runner.jobs.close()
