"""Jobs run, end, fail, are cancelled and never outlive their owner: with real processes."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from olmkit.errors import Blocked, Waiting
from olmkit.jobs import Failed, Finished, Jobs, JobState, Limits, Queued, Running, Sandbox, Task
from tests.integration.olmkit.jobs.example_jobs import Faults, Values, job

WORK = "tests.integration.olmkit.jobs.example_jobs"
MEBIBYTE = 1024 * 1024


def task(function: str, **arguments: Any) -> Task[Values, Values]:
    """A task of example_jobs.py."""
    return Task(job(function), arguments)


class Desk:
    """Jobs with the ends they told."""

    def __init__(self, concurrent: int, limits: Limits, sandbox: Sandbox | None = None) -> None:
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[Values](
            self.ends.put_nowait, max_concurrent=concurrent, limits=limits, preload=[WORK], sandbox=sandbox or Sandbox()
        )

    async def end(self, function: str, **arguments: Any) -> JobState[Values]:
        """Run one job to its end."""
        self.jobs.ensure("key", f"{function} {arguments}", task(function, **arguments))
        return await self.ended("key")

    async def ended(self, key: str) -> JobState[Values]:
        """The state once the key's end was told."""
        async with asyncio.timeout(30):
            assert await self.ends.get() == key
        state = self.jobs.state(key)
        assert state is not None
        return state

    async def pid(self, key: str) -> int:
        """The process of a job that says its pid as progress."""
        async with asyncio.timeout(30):
            while True:
                state = self.jobs.state(key)
                assert isinstance(state, Queued | Running)
                if isinstance(state, Running) and state.progress.isdigit():
                    return int(state.progress)
                await asyncio.sleep(0.005)


@pytest_asyncio.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    limits = Limits(
        memory_bytes=256 * MEBIBYTE,
        cpu_seconds=1,
        timeout=timedelta(seconds=20),
        open_files=32,
        file_bytes=4 * MEBIBYTE,
    )
    made = Desk(2, limits, Sandbox(writes=(tmp_path,)))
    yield made
    await made.jobs.close()


def parent_of(pid: int) -> int:
    """From /proc; 0 when there is no such process, or only its remains."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if state == "Z" else int(parent)


async def end_of(pid: int) -> None:
    """Wait until a process, whosever it is, has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, ended.set)
    try:
        async with asyncio.timeout(20):
            await ended.wait()
    finally:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)


@pytest.fixture
def inheritable() -> Iterator[int]:
    """A descriptor of ours that a child could inherit."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("function", ["echo", "echo_later"], ids=["a plain function", "a coroutine function"])
async def test_a_job_gives_back_what_its_function_returns(desk: Desk, function: str) -> None:
    arguments = {"text": "ä\n", "number": 2**53, "list": [1, None, True]}
    assert await desk.end(function, **arguments) == Finished(f"{function} {arguments}", arguments)


async def test_arguments_may_be_larger_than_a_socket_buffer(desk: Desk) -> None:
    state = await desk.end("echo", text="x" * 3 * MEBIBYTE)
    assert isinstance(state, Finished)
    assert len(state.result["text"]) == 3 * MEBIBYTE


@pytest.mark.usefixtures("inheritable")
async def test_a_child_has_limits_and_nothing_of_its_parents(desk: Desk) -> None:
    state = await desk.end("report_itself")
    assert isinstance(state, Finished)
    assert state.result["files"] == 32
    assert state.result["core"] == 0
    assert state.result["memory"] > 256 * MEBIBYTE
    assert state.result["parent"] != os.getpid()
    held = [what for number, what in state.result["descriptors"].items() if int(number) > 2]
    assert held == ["socket"], "its own channel and nothing else"
    assert state.result["descriptors"]["0"] == os.devnull


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        pytest.param("block", Blocked, "the content is wrong", id="Blocked arrives as Blocked"),
        pytest.param("wait", Waiting, "not yet", id="Waiting arrives as Waiting"),
        pytest.param(
            "eat_memory", Blocked, "it needs more memory", id="memory beyond the limit is the content's fault"
        ),
        pytest.param("spin", Blocked, "it needs more than 1 s of CPU time", id="so is CPU time beyond the limit"),
        pytest.param("crash", Blocked, "crashed (SIGSEGV)", id="so is a crash"),
        pytest.param("be_killed", Waiting, "killed, most likely because", id="a kill from outside may pass"),
        pytest.param("leave", Waiting, "ended without an answer", id="an end without an answer may pass"),
        pytest.param("chatter", Waiting, "was lost", id="an answer without end is not read to its end"),
        pytest.param("fail", Waiting, "unexpected error: KeyError: 'surprise", id="what nobody foresaw is tried again"),
        pytest.param("absent", Waiting, "unexpected error: LookupError", id="a function that is not there is reported"),
    ],
)
async def test_how_a_job_fails(desk: Desk, function: str, kind: type[Exception], message: str) -> None:
    state = await desk.end(function)
    assert isinstance(state, Failed)
    assert type(state.error) is kind
    assert message in state.error.message
    assert state.attempts == 1
    assert isinstance(await desk.end("echo"), Finished), "the next job is not harmed"


async def test_an_error_arrives_with_its_facts(desk: Desk) -> None:
    state = await desk.end("block_with_faults")
    assert isinstance(state, Failed)
    assert isinstance(state.error, Faults)
    assert state.error.faults == ("one", "two")


@pytest.mark.parametrize(
    ("function", "probe"),
    [
        pytest.param("echo", "", id="a job that finished"),
        pytest.param("block", "", id="a job that failed for good"),
        pytest.param("wait", "", id="a job that will be tried again"),
        pytest.param("be_killed", "", id="a job whose process was killed"),
        pytest.param("hang", "refuse_to_look", id="a job whose look failed"),
    ],
)
async def test_arguments_are_dropped_when_the_job_ends(desk: Desk, function: str, probe: str) -> None:
    login = Task(job(function), {"password": "secret", "probe": probe}, probe=bool(probe))
    held = weakref.ref(login)
    desk.jobs.ensure("key", "1", login)
    del login
    await desk.ended("key")
    assert desk.jobs.state("key") is not None, "the end itself is kept"
    await asyncio.sleep(0)  # in which asyncio lets go of the task that has just ended
    gc.collect()
    assert held() is None


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '{"other": 1}',
        '{"error": {"class": "builtins:ValueError", "arguments": []}}',
        '{"error": {"class": "os:system", "arguments": ["true"]}}',
        '{"error": {"class": "olmkit.errors:Blocked", "arguments": []}}',
    ],
)
async def test_a_line_that_is_no_answer_ends_the_job(desk: Desk, line: str) -> None:
    state = await desk.end("forge", line=line)
    assert isinstance(state, Failed)
    assert isinstance(state.error, Waiting)


async def test_a_file_beyond_the_limit_is_an_error_of_the_function(desk: Desk, tmp_path: Path) -> None:
    state = await desk.end("write_much", file=str(tmp_path / "big"))
    assert isinstance(state, Finished)
    assert state.result == {"error": errno.EFBIG}


async def test_wall_time_ends_a_job_that_listens_to_nothing() -> None:
    desk = Desk(2, Limits(timeout=timedelta(seconds=0.5)))
    try:
        desk.jobs.ensure("key", "1", task("hang"))
        state = await desk.ended("key")
        assert isinstance(state, Failed)
        assert isinstance(state.error, Waiting)
        assert state.error.message == "it took longer than 0.5 s and was ended"
    finally:
        await desk.jobs.close()


async def test_ensure_keeps_a_job_of_the_same_identity(desk: Desk, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(3):
        desk.jobs.ensure("key", "same", task("count", log=str(log)))
    assert await desk.ended("key") == Finished("same", {})
    assert desk.jobs.ensure("key", "same", task("count", log=str(log))) == Finished("same", {})
    assert log.read_text() == "x"


async def test_another_identity_ends_the_job_before_it(desk: Desk) -> None:
    desk.jobs.ensure("key", "old", task("hang"))
    pid = await desk.pid("key")
    assert desk.jobs.ensure("key", "new", task("echo")).identity == "new"
    assert await desk.ended("key") == Finished("new", {})
    await end_of(pid)
    assert desk.ends.empty(), "the end of the old job is told to nobody"


async def test_cancel_kills_and_forgets(desk: Desk) -> None:
    desk.jobs.ensure("key", "1", task("hang"))
    pid = await desk.pid("key")
    desk.jobs.cancel("key")
    assert desk.jobs.state("key") is None
    await end_of(pid)
    assert desk.ends.empty()


async def test_forget_drops_an_end_but_not_a_job(desk: Desk, tmp_path: Path) -> None:
    go = tmp_path / "go"
    desk.jobs.ensure("key", "1", task("say_pid_and_wait", until=str(go)))
    await desk.pid("key")
    desk.jobs.forget("key")
    go.touch()
    assert await desk.ended("key") == Finished("1", {})
    desk.jobs.forget("key")
    assert desk.jobs.state("key") is None


async def test_no_more_than_allowed_run_at_a_time_and_in_the_order_asked_for(tmp_path: Path) -> None:
    desk = Desk(1, Limits(), Sandbox(reads=(tmp_path,)))
    try:
        for number in range(3):
            desk.jobs.ensure(f"key{number}", "1", task("say_pid_and_wait", until=str(tmp_path / str(number))))
        for number in range(3):
            await desk.pid(f"key{number}")
            for later in range(number + 1, 3):
                assert desk.jobs.state(f"key{later}") == Queued("1")
            (tmp_path / str(number)).touch()
            await desk.ended(f"key{number}")
    finally:
        await desk.jobs.close()


async def test_a_job_that_waited_in_vain_gives_its_turn_away(tmp_path: Path) -> None:
    desk = Desk(1, Limits(), Sandbox(reads=(tmp_path,)))
    try:
        desk.jobs.ensure("first", "1", task("say_pid_and_wait", until=str(tmp_path / "go")))
        await desk.pid("first")
        desk.jobs.ensure("second", "1", task("hang"))
        desk.jobs.ensure("third", "1", task("echo"))
        desk.jobs.cancel("second")
        (tmp_path / "go").touch()
        await desk.ended("first")
        assert await desk.ended("third") == Finished("1", {})
    finally:
        await desk.jobs.close()


async def test_a_failure_that_may_pass_is_tried_again_when_it_is_due(desk: Desk, tmp_path: Path) -> None:
    log = tmp_path / "log"
    again = task("count", log=str(log), fail=0.05)
    for attempt in range(1, 4):
        assert isinstance(desk.jobs.ensure("key", "1", again), Queued)
        state = await desk.ended("key")
        assert isinstance(state, Failed)
        assert isinstance(state.error, Waiting)
        assert state.attempts == attempt
        assert state.error.after == timedelta(seconds=0.05) * 2 ** (attempt - 1), "each time twice as long"
        assert state.is_due(state.finished_at + 1)
        await asyncio.sleep(state.error.after.total_seconds())
    assert log.read_text() == "xxx"


async def test_a_failure_that_is_not_due_is_kept(desk: Desk, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for fail, function in ((60, "count"), (0, "block")):
        key = function
        first = desk.jobs.ensure(key, "1", task(function, log=str(log), fail=fail))
        assert isinstance(first, Queued)
        state = await desk.ended(key)
        assert isinstance(state, Failed)
        assert desk.jobs.ensure(key, "1", task(function, log=str(log), fail=fail)) is state


async def test_the_fork_server_may_die_and_is_started_again(desk: Desk) -> None:
    state = await desk.end("report_itself")
    assert isinstance(state, Finished)
    server = state.result["parent"]
    desk.jobs.ensure("key", "hang", task("hang"))
    pid = await desk.pid("key")
    os.kill(server, signal.SIGKILL)
    lost = await desk.ended("key")
    assert isinstance(lost, Failed)
    assert isinstance(lost.error, Waiting)
    await end_of(pid)
    again = await desk.end("report_itself", again=True)
    assert isinstance(again, Finished)
    assert again.result["parent"] != server


async def test_close_leaves_no_process_and_no_descriptor() -> None:
    before = set(os.listdir("/proc/self/fd"))
    desk = Desk(2, Limits())
    for key in ("one", "two", "three"):
        desk.jobs.ensure(key, "1", task("hang"))
    pids = [await desk.pid(key) for key in ("one", "two")]
    server = parent_of(pids[0])
    await desk.jobs.close()
    assert [parent_of(pid) for pid in (*pids, server)] == [0, 0, 0]
    assert set(os.listdir("/proc/self/fd")) == before


async def test_the_event_loop_goes_on_while_the_fork_server_ends(desk: Desk) -> None:
    state = await desk.end("report_itself")
    assert isinstance(state, Finished)
    server = state.result["parent"]
    os.kill(server, signal.SIGSTOP)
    closing = asyncio.create_task(desk.jobs.close())
    await asyncio.wait([closing], timeout=0.1)
    assert not closing.done()
    os.kill(server, signal.SIGCONT)
    await closing
    assert parent_of(server) == 0


async def test_a_fork_server_that_cannot_be_started_leaves_nothing(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    state = await desk.end("report_itself")
    assert isinstance(state, Failed)
    assert isinstance(state.error, Waiting)
    assert os.listdir(tmp_path) == []
    assert set(os.listdir("/proc/self/fd")) == before


OWNER = f"""
import asyncio
import signal
from olmkit.jobs import Jobs, Queued, Task
from {WORK} import job

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in its background with SIGINT ignored

async def main():
    jobs = Jobs(print, preload=["{WORK}"])
    jobs.ensure("key", "1", Task(job("hang"), {{}}))
    while isinstance(jobs.state("key"), Queued) or not jobs.state("key").progress.isdigit():
        await asyncio.sleep(0.005)
    print(jobs.state("key").progress, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_an_owner_that_dies_leaves_nothing_running(number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    assert owner.stdout is not None
    child = int(await owner.stdout.readline())
    server = parent_of(child)
    assert parent_of(server) == owner.pid
    owner.send_signal(number)
    await owner.wait()
    await end_of(child)
    await end_of(server)


async def test_jobs_that_wait_for_something_do_not_keep_others_from_their_turn() -> None:
    ends: asyncio.Queue[str] = asyncio.Queue()
    jobs = Jobs[Values](ends.put_nowait, max_concurrent=1, preload=[WORK], max_slot_time=timedelta(seconds=0.2))
    try:
        for number in range(3):
            jobs.ensure(f"slow-{number}", "slow", task("hang"))
        jobs.ensure("quick", "quick", task("echo"))
        async with asyncio.timeout(30):
            assert await ends.get() == "quick"
        assert [type(jobs.state(f"slow-{number}")) for number in range(3)] == [Running] * 3
    finally:
        await jobs.close()


async def test_no_more_than_some_give_their_turn_away() -> None:
    ends: asyncio.Queue[str] = asyncio.Queue()
    jobs = Jobs[Values](ends.put_nowait, max_concurrent=1, preload=[WORK], max_slot_time=timedelta(seconds=0.01))
    slow = [f"slow-{number}" for number in range(6)]
    try:
        for key in slow:
            jobs.ensure(key, "slow", task("hang"))
        await running(jobs, slow[:4])
        await asyncio.sleep(0.2)  # in which one more could begin
        await running(jobs, slow[:4])
        jobs.cancel(slow[0])
        await running(jobs, slow[1:5])
    finally:
        await jobs.close()


async def running(jobs: Jobs[Values], keys: list[str]) -> None:
    """Wait until the slow jobs that have got their turn, which say their pid, are these."""
    async with asyncio.timeout(30):
        while True:
            states = ((f"slow-{number}", jobs.state(f"slow-{number}")) for number in range(6))
            if keys == [key for key, state in states if isinstance(state, Running) and state.progress.isdigit()]:
                return
            await asyncio.sleep(0.01)
