"""The worker: one process answers many tasks, and one that exceeds its limits is replaced. With real processes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from devcluster.processes import children
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.jobs import fork_client
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import JobReason, Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.worker import Worker
from tests.integration.olmkit.jobs.example_jobs import Faults, Values, job
from tests.integration.olmkit.jobs.test_scheduler import process_end

WORK = "tests.integration.olmkit.jobs.example_jobs"
MEBIBYTE = 1024 * 1024
LIMITS = Limits(memory_bytes=256 * MEBIBYTE, cpu_seconds=1, timeout=timedelta(seconds=30))


@pytest_asyncio.fixture
async def worker(tmp_path: Path) -> AsyncIterator[Worker]:
    sandbox = Sandbox(reads=(tmp_path,), writes=(tmp_path / "written",), network=False)
    kept = Worker(ForkServerClient([WORK], sandbox), limits=LIMITS, requests_per_process=5)
    yield kept
    await kept.close()


def task(function: str, **arguments: Any) -> Task[Values, Values]:
    """A task of example_jobs.py."""
    return Task(job(function), arguments)


async def pid_of(worker: Worker) -> int:
    """The process ID of the worker."""
    found: int = (await worker.run(task("report_process")))["pid"]
    return found


async def error_of(worker: Worker, function: str) -> OlmError:
    """The error of a task."""
    with pytest.raises(OlmError) as raised:
        await worker.run(task(function))
    return raised.value


async def test_one_process_runs_task_after_task(worker: Worker) -> None:
    assert len({await pid_of(worker) for _ in range(3)}) == 1
    assert worker.started == 1


async def test_a_worker_that_is_warmed_up_has_its_fork_server_and_no_process(worker: Worker) -> None:
    before = set(children(os.getpid()))
    worker.warm_up()
    fork_server = set(children(os.getpid())) - before
    assert len(fork_server) == 1
    assert worker.started == 0
    await pid_of(worker)
    assert set(children(os.getpid())) - before == fork_server


async def test_the_process_is_replaced_after_a_number_of_tasks(worker: Worker) -> None:
    pids = [await pid_of(worker) for _ in range(6)]
    assert len(set(pids[:-1])) == 1
    assert pids[-1] != pids[0]
    await process_end(pids[0])


async def test_a_process_that_is_idle_ends() -> None:
    worker = Worker(ForkServerClient([WORK]), limits=LIMITS, idle_seconds=0)
    try:
        before = await pid_of(worker)
        await process_end(before)
        assert await pid_of(worker) != before
    finally:
        await worker.close()


async def test_tasks_that_are_asked_for_at_once_run_one_after_the_other(worker: Worker) -> None:
    answers = await asyncio.gather(*(worker.run(task("echo", number=number)) for number in range(4)))
    assert [answer["number"] for answer in answers] == [0, 1, 2, 3]


async def test_a_request_and_its_result_may_be_larger_than_those_of_other_jobs(worker: Worker) -> None:
    text = "ä" * 6 * MEBIBYTE
    assert (await worker.run(task("echo", text=text)))["text"] == text


@pytest.mark.parametrize(
    ("function", "kind", "reason"),
    [
        ("use_cpu", Blocked, JobReason.TOO_LONG),
        ("allocate_memory", Blocked, JobReason.OUT_OF_MEMORY),
        ("crash", Blocked, JobReason.CRASHED),
        ("kill_itself", Waiting, JobReason.OUT_OF_MEMORY),
        ("exit_without_answer", Waiting, JobReason.UNEXPECTED),
    ],
    ids=[
        "it uses too much CPU time",
        "it uses too much memory",
        "it crashes",
        "the kernel kills it",
        "it exits without an answer",
    ],
)
async def test_a_task_ends_the_process_if(
    worker: Worker, function: str, kind: type[OlmError], reason: JobReason
) -> None:
    before = await pid_of(worker)
    error = await error_of(worker, function)
    assert isinstance(error, kind)
    assert error.reason == reason
    assert await pid_of(worker) != before
    await process_end(before)


async def test_a_task_that_takes_too_long_is_ended() -> None:
    worker = Worker(ForkServerClient([WORK]), limits=Limits(timeout=timedelta(seconds=5)))
    try:
        error = await error_of(worker, "hang")
        assert (type(error), error.reason) == (Waiting, JobReason.TOO_LONG)
        assert error.message == "it took longer than 5 s and was ended"
        await pid_of(worker)
        assert worker.started == 2
    finally:
        await worker.close()


async def test_the_cpu_time_of_earlier_tasks_does_not_count(worker: Worker, tmp_path: Path) -> None:
    # Together they exceed the limit. Each is far from it, because the kernel may count the tick of another process.
    pids = {(await worker.run(task("use_cpu_for", seconds=0.3)))["pid"] for _ in range(5)}
    assert len(pids) == 1


async def test_errors_of_the_function_are_those_of_the_task(worker: Worker) -> None:
    before = await pid_of(worker)
    faults = await error_of(worker, "raise_faults")
    assert isinstance(faults, Faults)
    assert faults.faults == ("one", "two")
    unexpected = await error_of(worker, "raise_unexpected")
    assert unexpected.message.startswith("unexpected error: KeyError")
    assert await pid_of(worker) == before


async def test_a_cancelled_task_ends_the_process(worker: Worker, tmp_path: Path) -> None:
    before = await pid_of(worker)
    running = asyncio.create_task(worker.run(task("report_pid_and_wait", until=str(tmp_path / "never"))))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await process_end(before)
    assert await pid_of(worker) != before


async def test_a_process_that_was_killed_between_two_tasks_is_replaced(worker: Worker) -> None:
    before = await pid_of(worker)
    os.kill(before, signal.SIGKILL)
    await process_end(before)
    while True:
        try:
            after = await pid_of(worker)
            break
        except Waiting:  # nothing has read yet that the process ended
            continue
    assert after != before


async def test_what_keeps_every_process_from_starting_is_reported() -> None:
    kept = Worker(ForkServerClient(["tests.no_such_module"], Sandbox(network=False)), limits=LIMITS)
    try:
        error = await error_of(kept, "report_process")
    finally:
        await kept.close()
    assert (type(error), error.message) == (
        Waiting,
        "no process can be started for the job: ModuleNotFoundError: No module named 'tests.no_such_module'",
    )


async def test_an_answer_that_cannot_be_read_ends_the_process(worker: Worker) -> None:
    before = await pid_of(worker)
    with pytest.raises(Waiting, match="the process of the job was lost"):
        await worker.run(task("send_invalid_line", line="no json"))
    assert await pid_of(worker) != before


async def test_the_process_is_in_a_sandbox(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert (await worker.run(task("report_pid_and_wait", until=str(tmp_path / "file")))) == {}
    error = await error_of_write(worker, tmp_path / "elsewhere")
    assert "Permission" in error.message


async def test_the_process_is_replaced_with_the_directory_that_it_may_read(tmp_path: Path) -> None:
    directory = tmp_path / "read"
    directory.mkdir()
    kept = Worker(ForkServerClient([WORK], Sandbox(reads=(directory,), network=False)), limits=LIMITS)
    try:
        before = await pid_of(kept)
        directory.rename(tmp_path / "before")
        directory.mkdir()
        (directory / "file").write_text("")
        assert (await kept.run(task("count_bytes", path=str(directory / "file")))) == {"bytes": 0}
        assert await pid_of(kept) != before
    finally:
        await kept.close()


async def error_of_write(worker: Worker, path: Path) -> OlmError:
    """The error of a task that writes a file."""
    with pytest.raises(OlmError) as raised:
        await worker.run(task("append_to_log", log=str(path)))
    return raised.value


async def test_the_process_holds_its_memory_in_the_budget() -> None:
    memory = MemoryBudget(512 * MEBIBYTE)
    worker = Worker(ForkServerClient([WORK]), limits=LIMITS, memory=memory)
    await pid_of(worker)
    assert memory.held == LIMITS.memory_bytes
    await worker.close()
    assert memory.held == 0


async def test_the_process_waits_for_memory_that_jobs_hold() -> None:
    memory = MemoryBudget(LIMITS.memory_bytes)
    worker = Worker(ForkServerClient([WORK]), limits=LIMITS, memory=memory)
    try:
        async with memory.hold(LIMITS.memory_bytes):
            waiting = asyncio.create_task(pid_of(worker))
            await asyncio.wait([waiting], timeout=0.1)
            assert not waiting.done()
        assert await waiting > 0
    finally:
        await worker.close()
    assert memory.held == 0


async def test_a_fork_server_that_is_stopped_keeps_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_client, "KILL_TIMEOUT_SECONDS", 1)
    memory, before = MemoryBudget(2 * LIMITS.memory_bytes), set(children(os.getpid()))
    limits = Limits(memory_bytes=LIMITS.memory_bytes, timeout=timedelta(seconds=2))
    worker = Worker(ForkServerClient([WORK]), limits=limits, memory=memory)
    try:
        pid = await pid_of(worker)
        (server,) = set(children(os.getpid())) - before
        os.kill(server, signal.SIGSTOP)
        worker.retire()
        async with asyncio.timeout(30):
            error = await error_of(worker, "report_process")
            assert (type(error), error.reason) == (Waiting, JobReason.UNEXPECTED)
            assert await pid_of(worker) != pid
            await process_end(pid)
            await process_end(server)
        assert memory.held == limits.memory_bytes
    finally:
        await worker.close()
    assert memory.held == 0
