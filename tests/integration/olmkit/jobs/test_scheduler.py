"""Jobs: start, results, failures, cancellation and cleanup, with real processes."""

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
from olmkit.jobs import fork_client
from olmkit.jobs.job import Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Failed, Finished, JobState, Queued, Running
from tests.integration.olmkit.jobs.example_jobs import Faults, Values, job

WORK = "tests.integration.olmkit.jobs.example_jobs"
MEBIBYTE = 1024 * 1024


def task(function: str, **arguments: Any) -> Task[Values, Values]:
    """A task of example_jobs.py."""
    return Task(job(function), arguments)


class JobRunner:
    """Jobs, and the keys whose end they reported."""

    def __init__(self, concurrent: int, limits: Limits, sandbox: Sandbox | None = None) -> None:
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[Values](
            self.ends.put_nowait, max_concurrent=concurrent, limits=limits, preload=[WORK], sandbox=sandbox or Sandbox()
        )

    async def run(self, function: str, **arguments: Any) -> JobState[Values]:
        """Run one job; returns its last state."""
        self.jobs.ensure("key", f"{function} {arguments}", task(function, **arguments))
        return await self.wait_for_end("key")

    async def wait_for_end(self, key: str) -> JobState[Values]:
        """The state once the end of the key was reported."""
        async with asyncio.timeout(30):
            assert await self.ends.get() == key
        state = self.jobs.state(key)
        assert state is not None
        return state

    async def wait_for_pid(self, key: str) -> int:
        """The process ID that a job reports as progress."""
        async with asyncio.timeout(30):
            while True:
                state = self.jobs.state(key)
                assert isinstance(state, Queued | Running)
                if isinstance(state, Running) and state.progress.isdigit():
                    return int(state.progress)
                await asyncio.sleep(0.005)


@pytest_asyncio.fixture
async def runner(tmp_path: Path) -> AsyncIterator[JobRunner]:
    limits = Limits(
        memory_bytes=256 * MEBIBYTE,
        cpu_seconds=1,
        timeout=timedelta(seconds=20),
        open_files=32,
        file_bytes=4 * MEBIBYTE,
    )
    runner = JobRunner(2, limits, Sandbox(writes=(tmp_path,)))
    yield runner
    await runner.jobs.close()


def parent_of(pid: int) -> int:
    """From /proc; 0 if there is no such process, or only a zombie."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if state == "Z" else int(parent)


async def process_end(pid: int) -> None:
    """Wait until a process has ended, which need not be a child of this one."""
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
    """A descriptor of this process that a child could inherit."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("function", ["echo", "echo_async"], ids=["a plain function", "a coroutine function"])
async def test_a_job_returns_the_result_of_its_function(runner: JobRunner, function: str) -> None:
    arguments = {"text": "ä\n", "number": 2**53, "list": [1, None, True]}
    assert await runner.run(function, **arguments) == Finished(f"{function} {arguments}", arguments)


async def test_a_request_may_be_larger_than_a_socket_buffer(runner: JobRunner) -> None:
    state = await runner.run("echo", text="x" * 3 * MEBIBYTE)
    assert isinstance(state, Finished)
    assert len(state.result["text"]) == 3 * MEBIBYTE


@pytest.mark.usefixtures("inheritable")
async def test_a_child_has_limits_and_no_inherited_descriptors(runner: JobRunner) -> None:
    state = await runner.run("report_process")
    assert isinstance(state, Finished)
    assert state.result["files"] == 32
    assert state.result["core"] == 0
    assert state.result["memory"] > 256 * MEBIBYTE
    assert state.result["parent"] != os.getpid()
    held = [what for number, what in state.result["descriptors"].items() if int(number) > 2]
    assert held == ["socket"], "only its own channel"
    assert state.result["descriptors"]["0"] == os.devnull


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        pytest.param("raise_blocked", Blocked, "the content is wrong", id="Blocked arrives as Blocked"),
        pytest.param("raise_waiting", Waiting, "not yet", id="Waiting arrives as Waiting"),
        pytest.param("allocate_memory", Blocked, "it needs more memory", id="memory beyond the limit is Blocked"),
        pytest.param(
            "use_cpu", Blocked, "it needs more than 1 s of CPU time", id="CPU time beyond the limit is Blocked"
        ),
        pytest.param("crash", Blocked, "crashed (SIGSEGV)", id="a crash is Blocked"),
        pytest.param("kill_itself", Waiting, "killed, most likely because", id="a kill from outside is Waiting"),
        pytest.param(
            "exit_without_answer",
            Waiting,
            "ended without an answer (exit status 3)",
            id="an exit without an answer is Waiting",
        ),
        pytest.param(
            "raise_cancelled", Waiting, "unexpected error: CancelledError", id="a cancellation in the job is reported"
        ),
        pytest.param("answer_too_much", Waiting, "was lost", id="an answer that is too large is not read"),
        pytest.param(
            "raise_unexpected", Waiting, "unexpected error: KeyError: 'surprise", id="an unexpected error is Waiting"
        ),
        pytest.param("absent", Waiting, "unexpected error: LookupError", id="a missing function is reported"),
    ],
)
async def test_failures(runner: JobRunner, function: str, kind: type[Exception], message: str) -> None:
    state = await runner.run(function)
    assert isinstance(state, Failed)
    assert type(state.error) is kind
    assert message in state.error.message
    assert state.attempts == 1
    assert isinstance(await runner.run("echo"), Finished), "the next job runs"


async def test_an_error_keeps_its_fields(runner: JobRunner) -> None:
    state = await runner.run("raise_faults")
    assert isinstance(state, Failed)
    assert isinstance(state.error, Faults)
    assert state.error.faults == ("one", "two")


@pytest.mark.parametrize(
    ("function", "probe"),
    [
        pytest.param("echo", "", id="a job that finished"),
        pytest.param("raise_blocked", "", id="a job that is blocked"),
        pytest.param("raise_waiting", "", id="a job that will be retried"),
        pytest.param("kill_itself", "", id="a job whose process was killed"),
        pytest.param("hang", "probe_waiting", id="a job whose probe failed"),
    ],
)
async def test_requests_are_dropped_when_the_job_ends(runner: JobRunner, function: str, probe: str) -> None:
    secret_task = Task(job(function), {"password": "secret", "probe": probe}, probe=bool(probe))
    held = weakref.ref(secret_task)
    runner.jobs.ensure("key", "1", secret_task)
    del secret_task
    await runner.wait_for_end("key")
    assert runner.jobs.state("key") is not None, "its end is kept"
    await asyncio.sleep(0)  # asyncio releases the task that has just ended
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
async def test_an_invalid_line_ends_the_job(runner: JobRunner, line: str) -> None:
    state = await runner.run("send_invalid_line", line=line)
    assert isinstance(state, Failed)
    assert isinstance(state.error, Waiting)


async def test_a_file_beyond_the_limit_is_an_error_of_the_function(runner: JobRunner, tmp_path: Path) -> None:
    state = await runner.run("write_large_file", file=str(tmp_path / "big"))
    assert isinstance(state, Finished)
    assert state.result == {"error": errno.EFBIG}


async def test_timeout() -> None:
    runner = JobRunner(2, Limits(timeout=timedelta(seconds=0.5)))
    try:
        runner.jobs.ensure("key", "1", task("hang"))
        state = await runner.wait_for_end("key")
        assert isinstance(state, Failed)
        assert isinstance(state.error, Waiting)
        assert state.error.message == "it took longer than 0.5 s and was ended"
    finally:
        await runner.jobs.close()


async def test_ensure_keeps_a_job_of_the_same_identity(runner: JobRunner, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(3):
        runner.jobs.ensure("key", "same", task("append_to_log", log=str(log)))
    assert await runner.wait_for_end("key") == Finished("same", {})
    assert runner.jobs.ensure("key", "same", task("append_to_log", log=str(log))) == Finished("same", {})
    assert log.read_text() == "x"


async def test_another_identity_cancels_the_job(runner: JobRunner) -> None:
    runner.jobs.ensure("key", "old", task("hang"))
    pid = await runner.wait_for_pid("key")
    assert runner.jobs.ensure("key", "new", task("echo")).identity == "new"
    assert await runner.wait_for_end("key") == Finished("new", {})
    await process_end(pid)
    assert runner.ends.empty(), "the end of the old job is not reported"


async def test_cancel_kills_and_forgets(runner: JobRunner) -> None:
    runner.jobs.ensure("key", "1", task("hang"))
    pid = await runner.wait_for_pid("key")
    runner.jobs.cancel("key")
    assert runner.jobs.state("key") is None
    await process_end(pid)
    assert runner.ends.empty()


async def test_forget_drops_an_ended_job_only(runner: JobRunner, tmp_path: Path) -> None:
    go = tmp_path / "go"
    runner.jobs.ensure("key", "1", task("report_pid_and_wait", until=str(go)))
    await runner.wait_for_pid("key")
    runner.jobs.forget("key")
    go.touch()
    assert await runner.wait_for_end("key") == Finished("1", {})
    runner.jobs.forget("key")
    assert runner.jobs.state("key") is None


async def test_jobs_wait_for_a_slot_in_order(tmp_path: Path) -> None:
    runner = JobRunner(1, Limits(), Sandbox(reads=(tmp_path,)))
    try:
        for number in range(3):
            runner.jobs.ensure(f"key{number}", "1", task("report_pid_and_wait", until=str(tmp_path / str(number))))
        for number in range(3):
            await runner.wait_for_pid(f"key{number}")
            for later in range(number + 1, 3):
                assert runner.jobs.state(f"key{later}") == Queued("1")
            (tmp_path / str(number)).touch()
            await runner.wait_for_end(f"key{number}")
    finally:
        await runner.jobs.close()


async def test_a_job_that_is_cancelled_while_queued_takes_no_slot(tmp_path: Path) -> None:
    runner = JobRunner(1, Limits(), Sandbox(reads=(tmp_path,)))
    try:
        runner.jobs.ensure("first", "1", task("report_pid_and_wait", until=str(tmp_path / "go")))
        await runner.wait_for_pid("first")
        runner.jobs.ensure("second", "1", task("hang"))
        runner.jobs.ensure("third", "1", task("echo"))
        runner.jobs.cancel("second")
        (tmp_path / "go").touch()
        await runner.wait_for_end("first")
        assert await runner.wait_for_end("third") == Finished("1", {})
    finally:
        await runner.jobs.close()


async def test_a_waiting_failure_is_retried_when_it_is_due(runner: JobRunner, tmp_path: Path) -> None:
    log = tmp_path / "log"
    again = task("append_to_log", log=str(log), fail=0.05)
    for attempt in range(1, 4):
        assert isinstance(runner.jobs.ensure("key", "1", again), Queued)
        state = await runner.wait_for_end("key")
        assert isinstance(state, Failed)
        assert isinstance(state.error, Waiting)
        assert state.attempts == attempt
        assert state.error.after == timedelta(seconds=0.05) * 2 ** (attempt - 1), "the delay doubles"
        assert state.is_due(state.finished_at + 1)
        await asyncio.sleep(state.error.after.total_seconds())
    assert log.read_text() == "xxx"


async def test_a_failure_that_is_not_due_is_kept(runner: JobRunner, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for fail, function in ((60, "append_to_log"), (0, "raise_blocked")):
        key = function
        first = runner.jobs.ensure(key, "1", task(function, log=str(log), fail=fail))
        assert isinstance(first, Queued)
        state = await runner.wait_for_end(key)
        assert isinstance(state, Failed)
        assert runner.jobs.ensure(key, "1", task(function, log=str(log), fail=fail)) is state


async def test_a_fork_server_that_died_is_started_again(runner: JobRunner) -> None:
    state = await runner.run("report_process")
    assert isinstance(state, Finished)
    server = state.result["parent"]
    runner.jobs.ensure("key", "hang", task("hang"))
    pid = await runner.wait_for_pid("key")
    os.kill(server, signal.SIGKILL)
    lost = await runner.wait_for_end("key")
    assert isinstance(lost, Failed)
    assert isinstance(lost.error, Waiting)
    await process_end(pid)
    again = await runner.run("report_process", again=True)
    assert isinstance(again, Finished)
    assert again.result["parent"] != server


async def test_close_ends_all_processes_and_descriptors() -> None:
    before = set(os.listdir("/proc/self/fd"))
    runner = JobRunner(2, Limits())
    for key in ("one", "two", "three"):
        runner.jobs.ensure(key, "1", task("hang"))
    pids = [await runner.wait_for_pid(key) for key in ("one", "two")]
    server = parent_of(pids[0])
    await runner.jobs.close()
    assert [parent_of(pid) for pid in (*pids, server)] == [0, 0, 0]
    assert set(os.listdir("/proc/self/fd")) <= before


async def test_closing_does_not_block_the_event_loop(runner: JobRunner) -> None:
    state = await runner.run("report_process")
    assert isinstance(state, Finished)
    server = state.result["parent"]
    os.kill(server, signal.SIGSTOP)
    closing = asyncio.create_task(runner.jobs.close())
    await asyncio.wait([closing], timeout=0.1)
    assert not closing.done()
    os.kill(server, signal.SIGCONT)
    await closing
    assert parent_of(server) == 0


async def test_a_fork_server_that_is_stopped_is_replaced(
    runner: JobRunner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fork_client, "KILL_TIMEOUT_SECONDS", 1)
    runner.jobs.ensure("key", "hang", task("hang"))
    runner.jobs.ensure("other", "hang", task("hang"))
    pids = [await runner.wait_for_pid(key) for key in ("key", "other")]
    server = parent_of(pids[0])
    os.kill(server, signal.SIGSTOP)
    runner.jobs.cancel("key")
    async with asyncio.timeout(30):
        lost = await runner.wait_for_end("other")
        assert isinstance(lost, Failed)
        assert isinstance(lost.error, Waiting)
        assert lost.error.message == "the process of the job was lost"
        for pid in (*pids, server):
            await process_end(pid)
        again = await runner.run("report_process", again=True)
    assert isinstance(again, Finished)
    assert again.result["parent"] != server
    assert "the fork server does not answer" in caplog.text


async def test_a_fork_server_that_cannot_be_started(
    runner: JobRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    state = await runner.run("report_process")
    assert isinstance(state, Failed)
    assert isinstance(state.error, Waiting)
    assert os.listdir(tmp_path) == []
    assert set(os.listdir("/proc/self/fd")) <= before


CONTROLLER = f"""
import asyncio
import signal
from olmkit.jobs.job import Task
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Queued
from {WORK} import job

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background processes with SIGINT ignored

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
async def test_children_end_with_the_controller(number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    controller = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CONTROLLER, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    assert controller.stdout is not None
    child = int(await controller.stdout.readline())
    server = parent_of(child)
    assert parent_of(server) == controller.pid
    controller.send_signal(number)
    await controller.wait()
    await process_end(child)
    await process_end(server)


async def test_slow_jobs_give_up_their_slots() -> None:
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


async def test_a_slow_job_gives_its_memory_to_one_that_waits_and_runs_again(tmp_path: Path) -> None:
    ends: asyncio.Queue[str] = asyncio.Queue()
    limits = Limits(memory_bytes=64 * MEBIBYTE)
    memory, sandbox = MemoryBudget(limits.fetch_memory_bytes + limits.memory_bytes), Sandbox(reads=(tmp_path,))
    jobs = Jobs[Values](
        ends.put_nowait,
        preload=[WORK],
        limits=limits,
        memory=memory,
        sandbox=sandbox,
        max_slot_time=timedelta(seconds=0.2),
    )
    slow = [f"slow-{number}" for number in range(4)]
    try:
        for key in slow:
            jobs.ensure(key, "slow", task("hang"))
            await wait_for_running(jobs, slow[: slow.index(key) + 1])
        jobs.ensure("quick", "quick", task("echo"))
        async with asyncio.timeout(30):
            assert await ends.get() == "quick"
        await wait_for_running(jobs, slow)
        assert memory.held == 4 * limits.memory_bytes
        jobs.ensure("large", "1", task("report_pid_and_wait", until=str(tmp_path / "go")))
        # The one that began last, unless its turn has just begun again after that of "quick".
        await wait_for_running(jobs, slow[:3], [*slow[:2], slow[3]])
        assert [jobs.state(key) for key in slow].count(Queued("slow", gave_way=True)) == 1
    finally:
        await jobs.close()
    assert memory.held == 0


async def wait_for_running(jobs: Jobs[Values], *keys: list[str]) -> None:
    """Wait until exactly the slow jobs of one of these lists run and have reported their process ID."""
    async with asyncio.timeout(30):
        while True:
            states = ((f"slow-{number}", jobs.state(f"slow-{number}")) for number in range(4))
            if [key for key, state in states if isinstance(state, Running) and state.progress.isdigit()] in keys:
                return
            await asyncio.sleep(0.01)
