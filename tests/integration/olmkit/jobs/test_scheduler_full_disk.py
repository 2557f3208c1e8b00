"""Jobs on a real disk that is full or read-only: what they write, their temporary files, and the directories that they start
with."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from olmkit.errors import Waiting
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Limits, Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.state import Failed, Finished, JobState
from olmkit.jobs.worker import Worker
from tests.integration.disk import fill_up, remount
from tests.integration.olmkit.jobs.example_jobs import Values, job
from tests.integration.olmkit.jobs.test_scheduler import WORK, JobRunner

LIMITS = Limits(file_bytes=64 * 1024**2)


@dataclass(frozen=True)
class Fault:
    """What happens to a disk, and what is reported then."""

    happen: Callable[[Path], object]
    reason: str
    message: str

    def assert_reported(self, error: object) -> None:
        assert isinstance(error, Waiting)
        assert (error.reason, error.message) == (self.reason, f"the disk for the files of jobs {self.message}")


def use_all_files(disk: Path) -> None:
    """No file or directory can be created any more."""
    remount(disk, "rw,nr_inodes=30")
    with suppress(OSError):
        for number in range(100):
            (disk / f"used-{number}").touch()


def make_read_only(disk: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            return remount(disk, "ro")
        except subprocess.CalledProcessError:  # busy: the kernel has not released the last file yet
            if time.monotonic() > deadline:
                raise


def make_usable(disk: Path) -> None:
    remount(disk, "rw,nr_inodes=0")
    for each in disk.iterdir():
        if each.is_file():
            each.unlink()


FULL_MESSAGE = "is full: free some space or give the cache a larger volume"
READ_ONLY_MESSAGE = "cannot be used (Read-only file system): mount it to be written, or replace it"
FULL = Fault(fill_up, "DiskFull", FULL_MESSAGE)
NO_FILES = Fault(use_all_files, "DiskFull", FULL_MESSAGE)
READ_ONLY = Fault(make_read_only, "DiskFailed", READ_ONLY_MESSAGE)
directory_faults = pytest.mark.parametrize("fault", [NO_FILES, READ_ONLY], ids=["no inode is left", "it is read-only"])


@pytest.fixture
async def runner(disk: Path) -> AsyncIterator[JobRunner]:
    runner = JobRunner(2, LIMITS, Sandbox(writes=(disk,)))
    yield runner
    await runner.jobs.close()


async def fails_until_usable(run: Callable[[int], Awaitable[JobState[Values]]], disk: Path, fault: Fault) -> None:
    """A second job fails on the disk, and a third one finishes when it can be used again. `run` has the number of the job."""
    fault.happen(disk)
    failed = await run(2)
    assert isinstance(failed, Failed)
    fault.assert_reported(failed.error)
    make_usable(disk)
    assert isinstance(await run(3), Finished)


@pytest.mark.parametrize("where", ["its directory", "temporary files"])
@pytest.mark.parametrize("fault", [FULL, READ_ONLY], ids=["it is full", "it is read-only"])
async def test_the_disk_that_a_job_writes_to(
    runner: JobRunner,
    disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    where: str,
    fault: Fault,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    directory = str(disk) if where == "its directory" else ""
    assert isinstance(await runner.run("write_raising", directory=directory, bytes=10), Finished)
    await fails_until_usable(
        lambda number: runner.run("write_raising", directory=directory, bytes=10 * number), disk, fault
    )
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("is_running", [False, True], ids=["before the first job", "between two jobs"])
@directory_faults
async def test_a_job_can_have_no_directory_for_temporary_files(
    runner: JobRunner,
    disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    is_running: bool,
    fault: Fault,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    if is_running:
        assert isinstance(await runner.run("echo"), Finished)
    await fails_until_usable(lambda number: runner.run("echo", number=number), disk, fault)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("is_running", [False, True], ids=["before the first task", "between two processes"])
@directory_faults
async def test_a_worker_can_have_no_directory_for_temporary_files(
    disk: Path, monkeypatch: pytest.MonkeyPatch, is_running: bool, fault: Fault
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    worker = Worker(ForkServerClient([WORK]), limits=LIMITS)
    try:
        if is_running:
            await worker.run(Task(job("echo"), {}))
            worker.stop()
        fault.happen(disk)
        worker.warm_up()
        with pytest.raises(Waiting) as raised:
            await worker.run(Task(job("echo"), {}))
        fault.assert_reported(raised.value)
        make_usable(disk)
        assert await worker.run(Task(job("echo"), {"a": 1})) == {"a": 1}
    finally:
        await worker.close()
