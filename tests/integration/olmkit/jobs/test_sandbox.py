"""The sandbox: a job reaches only what it needs of its controller, other jobs and the machine. The kernel enforces runner."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from olmkit.jobs import landlock, seccomp
from olmkit.jobs.job import Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Finished
from tests.integration.olmkit.jobs.sandboxed_jobs import IO_URING_SETUP, PROCESS_VM_READV, PTRACE, Values, job

WORK = "tests.integration.olmkit.jobs.sandboxed_jobs"
NUMBERS = itertools.count()
INET, STREAM, DATAGRAM = int(socket.AF_INET), int(socket.SOCK_STREAM), int(socket.SOCK_DGRAM)

with_landlock = pytest.mark.skipif(
    not landlock.abi_version(),
    reason="the kernel of this machine has no Landlock of version 2 or later: files are not protected",
)
with_seccomp = pytest.mark.skipif(
    not seccomp.is_available(), reason="seccomp is not set up for this machine's processor"
)


class JobRunner:
    """Jobs in one sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[Values](self.ends.put_nowait, sandbox=sandbox)

    async def result(self, task: Task[Values, Values]) -> Values:
        """The result of a job."""
        self.jobs.ensure("key", str(next(NUMBERS)), task)
        async with asyncio.timeout(30):
            await self.ends.get()
        state = self.jobs.state("key")
        assert isinstance(state, Finished), state
        return state.result

    async def attempt(self, *actions: tuple[object, ...]) -> list[str]:
        """The outcome of each action."""
        found: list[str] = (await self.result(Task(job("attempt"), {"actions": actions})))["outcomes"]
        return found


@asynccontextmanager
async def sandboxed(sandbox: Sandbox) -> AsyncIterator[JobRunner]:
    runner = JobRunner(sandbox)
    try:
        yield runner
    finally:
        await runner.jobs.close()


async def test_a_job_gets_the_allowed_environment_variables_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUD_PASSWORD", "s3cret")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    for name, value in (("HTTPS_PROXY", "http://proxy:3128"), ("no_proxy", "internal"), ("SSL_CERT_FILE", "/ca.crt")):
        monkeypatch.setenv(name, value)
    async with sandboxed(Sandbox()) as runner:
        described = await runner.result(Task(job("describe"), {}))
        server = environment_of(described["parent"])
    found = described["environment"]
    assert found["HTTPS_PROXY"] == "http://proxy:3128"
    assert found["no_proxy"] == "internal"
    assert found["SSL_CERT_FILE"] == "/ca.crt"
    assert not {"CLOUD_PASSWORD", "KUBERNETES_SERVICE_HOST", "PATH"} & found.keys()
    assert b"s3cret" not in server, "nor does the fork server have it"


def environment_of(pid: int) -> bytes:
    """The initial environment of that process."""
    return Path(f"/proc/{pid}/environ").read_bytes()


async def test_a_job_is_not_dumpable_and_gets_no_new_privileges() -> None:
    async with sandboxed(Sandbox()) as runner:
        found = await runner.result(Task(job("describe"), {}))
    assert found["dumpable"] == 0
    assert found["no new privileges"] == 1
    assert found["working directory"] == "/"


@with_landlock
async def test_other_files_cannot_be_accessed(tmp_path: Path) -> None:
    token, other = tmp_path / "token", tmp_path / "other"
    token.write_text("s3cret")
    other.mkdir()
    own, given = tmp_path / "own", tmp_path / "given"
    given.write_text("x")
    me = os.getpid()
    async with sandboxed(Sandbox(reads=(given,), writes=(own,))) as runner:
        outcomes = await runner.attempt(
            ("read", str(token)),
            ("read", f"/proc/{me}/environ"),
            ("read", "/proc/self/environ"),
            ("read", "/etc/passwd"),
            ("list", str(tmp_path)),
            ("list", "/proc"),
            ("write", str(given)),
            ("write", str(other / "file")),
            ("write", "/tmp/olm-suite-file-of-a-job"),
            ("remove", str(token)),
            ("rename", str(given), str(own / "given")),
            ("execute", "/bin/true"),
        )
    assert [each for each in outcomes if each not in ("EACCES", "EPERM", "EXDEV")] == []
    assert not own.joinpath("given").exists()


@with_landlock
async def test_a_job_may_start_the_programs_of_its_sandbox_alone(helm_program: Path, tmp_path: Path) -> None:
    """A program without an interpreter: it needs no other file."""
    copy = tmp_path / "helm"
    copy.symlink_to("/bin/true")
    async with sandboxed(Sandbox(reads=(tmp_path,), network=False, executes=(helm_program,))) as runner:
        outcomes = await runner.attempt(
            ("execute", str(helm_program)), ("execute", "/bin/true"), ("execute", str(copy))
        )
    assert outcomes == ["done", "EACCES", "EACCES"]


@with_landlock
async def test_files_of_the_sandbox_can_be_accessed(tmp_path: Path) -> None:
    own, given = tmp_path / "own" / "deep", tmp_path / "given"
    given.write_text("x")
    async with sandboxed(Sandbox(reads=(given, tmp_path / "absent"), writes=(own,))) as runner:
        outcomes = await runner.attempt(
            ("read", str(given)),
            ("write", str(own / "a")),
            ("make directory", str(own / "b")),
            ("rename", str(own / "a"), str(own / "b" / "a")),
            ("read", str(own / "b" / "a")),
            ("write temporary",),
            ("read", "/etc/hosts"),
            ("write", os.devnull),
        )
    assert outcomes == ["done"] * 8


@with_landlock
async def test_a_job_cannot_signal_its_controller(tmp_path: Path) -> None:
    if landlock.abi_version() < 6:
        pytest.skip("the kernel of this machine has no Landlock of version 6 or later, which restricts signals")
    async with sandboxed(Sandbox()) as runner:
        assert await runner.attempt(("kill", os.getpid(), 0)) == ["EPERM"]


async def test_temporary_files_are_removed_with_the_job() -> None:
    async with sandboxed(Sandbox()) as runner:
        directories = {(await runner.result(Task(job("describe"), {})))["temporary"] for _ in range(2)}
        assert len(directories) == 2, "each job has a directory of its own"
        assert not any(map(os.path.exists, directories))
        above = {os.path.dirname(directory) for directory in directories}
        assert list(map(os.path.exists, above)) == [True]
    assert list(map(os.path.exists, above)) == [False]


async def test_deeply_nested_temporary_directories_do_not_affect_other_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with sandboxed(Sandbox()) as runner:
        assert await runner.attempt(("nest temporary",)) == ["done"]
        assert await runner.attempt(("write temporary",)) == ["done"]
        left = [os.path.join(tmp_path, name) for name in os.listdir(tmp_path)]
        assert len(left) == 1, "the fork server is the same"
    async with sandboxed(Sandbox()) as runner:
        assert await runner.attempt(("write temporary",)) == ["done"], (
            "directories of an earlier fork server do not affect jobs either"
        )
    await asyncio.to_thread(lambda: subprocess.run(["rm", "-rf", *left], check=True))
    assert os.listdir(tmp_path) == []


async def test_temporary_files_of_a_killed_controller_are_removed_by_the_next_one(tmp_path: Path) -> None:
    imports = "import os, signal; from olmkit.jobs.fork_client import ScratchDirectory"
    text = f"{imports}; ScratchDirectory(); os.kill(os.getpid(), signal.SIGKILL)"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for _ in range(2):
        ended = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", text], env=environment, check=False)
        assert ended.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1


@with_seccomp
@pytest.mark.parametrize("network", [True, False], ids=["with network", "without network"])
async def test_denied_system_calls(network: bool) -> None:
    async with sandboxed(Sandbox(network=network)) as runner:
        outcomes = await runner.attempt(
            ("call", PTRACE, 0, 0, 0, 0),
            ("call", PROCESS_VM_READV, os.getpid(), 0, 0, 0, 0, 0),
            ("call", IO_URING_SETUP, 1, 0),
            ("change namespace",),
            ("open socket", int(socket.AF_PACKET), int(socket.SOCK_RAW)),
            ("execute", "/bin/true"),
        )
    assert outcomes == ["EPERM"] * 6


@with_seccomp
@pytest.mark.parametrize(
    ("numbers", "before", "after"),
    [
        pytest.param((302, 261), (), (0, 0, 0), id="prlimit64"),
        pytest.param((144, 119), (), (0, 0), id="sched_setscheduler"),
        pytest.param((142, 118), (), (0,), id="sched_setparam"),
        pytest.param((314, 274), (), (0, 0), id="sched_setattr"),
        pytest.param((203, 122), (), (0, 0), id="sched_setaffinity"),
        pytest.param((141, 140), (0,), (0,), id="setpriority"),
        pytest.param((251, 30), (1,), (0,), id="ioprio_set"),
    ],
)
async def test_a_job_cannot_change_other_processes(
    numbers: tuple[int, int], before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    number = number_of(numbers)
    async with sandboxed(Sandbox()) as runner:
        others, own = await runner.attempt(
            ("call", number, *before, os.getpid(), *after), ("call", number, *before, 0, *after)
        )
    assert others == "EPERM"
    assert own != "EPERM"


@with_seccomp
async def test_a_job_cannot_change_process_groups_or_users() -> None:
    setpriority, ioprio_set = number_of((141, 140)), number_of((251, 30))
    async with sandboxed(Sandbox()) as runner:
        actions = [("call", number, kind, 0, 0) for number in (setpriority, ioprio_set) for kind in (1, 2, 3)]
        outcomes = await runner.attempt(*actions)
    # Kind 1 of ioprio_set is one process.
    assert [outcomes[index] for index in (0, 1, 4, 5)] == ["EPERM"] * 4


@with_seccomp
async def test_a_job_can_signal_itself_only(tmp_path: Path) -> None:
    """By every system call; seccomp denies them, also where Landlock does not restrict signals."""
    me, group = os.getpid(), os.getpgrp()
    async with sandboxed(Sandbox(writes=(tmp_path / "own",))) as runner:
        outcomes = await runner.attempt(
            ("kill", me, 0),
            ("kill", -group, 0),
            ("call", number_of((200, 130)), me, 0),
            ("call", number_of((234, 131)), me, me, 0),
            ("call", number_of((129, 138)), me, 10, 0),
            ("call", number_of((297, 240)), me, me, 10, 0),
            ("call", 424, 0, 0, 0, 0),
            ("call", number_of((72, 25)), 2, 8, me),
            ("call", number_of((16, 29)), 2, 0x8901, 0),
        )
        assert outcomes == ["EPERM"] * 9
        assert await runner.attempt(("kill itself", 0), ("raise", signal.SIGCHLD)) == ["done"] * 2


@with_seccomp
@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param((29, 194), id="shmget"),
        pytest.param((68, 186), id="msgget"),
        pytest.param((64, 190), id="semget"),
        pytest.param((240, 180), id="mq_open"),
        pytest.param((300, 262), id="fanotify_init"),
        pytest.param((430, 430), id="fsopen"),
        pytest.param((103, 116), id="syslog"),
        pytest.param((304, 265), id="open_by_handle_at"),
        pytest.param((323, 282), id="userfaultfd"),
        pytest.param((298, 241), id="perf_event_open"),
        pytest.param((250, 219), id="keyctl"),
    ],
)
async def test_denied_ipc_and_kernel_interfaces(numbers: tuple[int, int]) -> None:
    async with sandboxed(Sandbox()) as runner:
        assert await runner.attempt(("call", number_of(numbers), 0, 0, 0, 0, 0)) == ["EPERM"]


@with_seccomp
async def test_without_network_the_attributes_of_files_cannot_be_changed(tmp_path: Path) -> None:
    """Landlock does not protect them; root could change those of any file."""
    other, own = tmp_path / "other", tmp_path / "own"
    other.touch()
    actions = [
        action
        for path in (str(other), str(own))
        for action in (("mode", path), ("owner", path), ("times", path), ("attribute", path))
    ]
    async with sandboxed(Sandbox(network=False, writes=(own,))) as runner:
        assert await runner.attempt(*actions) == ["EPERM"] * 8
        assert await runner.attempt(("memory file",)) == ["EPERM"]


def number_of(numbers: tuple[int, int]) -> int:
    """The number of a system call on this machine, out of those on x86_64 and aarch64."""
    return numbers[os.uname().machine == "aarch64"]


@with_seccomp
async def test_without_network_no_socket_can_be_opened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        actions = (
            ("connect", "127.0.0.1", port),
            ("open socket", INET, DATAGRAM),
            ("open socket", int(socket.AF_INET6), STREAM),
            ("open socket", int(socket.AF_UNIX), STREAM),
            ("open socket", int(socket.AF_NETLINK), int(socket.SOCK_RAW)),
            ("pair", DATAGRAM),
        )
        async with sandboxed(Sandbox(network=False)) as runner:
            assert await runner.attempt(*actions) == ["EPERM"] * 6
            assert await runner.attempt(("pair", STREAM)) == ["done"], "for processes that a job starts itself"
        async with sandboxed(Sandbox()) as runner:
            assert await runner.attempt(actions[0]) == ["done"], "the server can be reached"


@with_landlock
async def test_a_replaced_file_can_be_read_by_the_next_probe(tmp_path: Path) -> None:
    given = tmp_path / "registries.conf"
    given.write_text("before")
    probing = Task(job("attempt"), {"actions": [("read", str(given))]}, probe=True)
    async with sandboxed(Sandbox(reads=(given,))) as runner:
        first = await runner.result(probing)
        assert (await runner.result(probing)) == first, "one worker for both"
        (tmp_path / "new").write_text("after")
        (tmp_path / "new").rename(given)
        second = await runner.result(probing)
    assert first["outcomes"] == second["outcomes"] == ["done"]
    assert first["pid"] != second["pid"]
