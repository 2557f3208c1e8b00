"""Processes that end with the process that started them, and the memory that is theirs."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.processes import process_tree_memory, process_tree_own_memory, python_environment

FILE_SIZE = 32 * 1024 * 1024

START_FROM_A_THREAD = """
import sys, threading, time
from pathlib import Path
from devcluster.processes import process_tree_memory, python_environment, proportional_memory
from devcluster.processes import start_logged, with_parent_death_signal
def start():
    global child
    command = with_parent_death_signal(sys.executable, ["-c", "import time; time.sleep(600)"])
    child = start_logged(command, Path("/dev/null"), python_environment())
thread = threading.Thread(target=start)
thread.start()
thread.join()
print(child.pid, flush=True)
sys.stdin.readline()
print(child.poll(), proportional_memory(child.pid) > 0, flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")
def test_a_child_outlives_the_thread_that_started_it_but_not_the_process() -> None:
    command = [sys.executable, "-c", START_FROM_A_THREAD]
    with subprocess.Popen(
        command, env=python_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.stdin.write("\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "None True\n"
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert select.select([child], [], [], 30)[0], "the child runs on"
        os.close(child)


MAP_A_FILE = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    mapped[::4096]
print("mapped", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def mapping(file: Path) -> Iterator[int]:
    """A process that has read the file through a mapping; yields its id."""
    command = [sys.executable, "-c", MAP_A_FILE, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "mapped\n"
        yield process.pid
        process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports which pages are shared")
def test_own_memory_does_not_depend_on_who_else_maps_a_file(tmp_path: Path) -> None:
    file = tmp_path / "content"
    file.write_bytes(b"x" * FILE_SIZE)
    with mapping(file) as pid:
        alone = (process_tree_memory(pid), process_tree_own_memory(pid))
        with mapping(file):
            shared = (process_tree_memory(pid), process_tree_own_memory(pid))
    assert alone[1] is not None
    assert shared[1] is not None
    assert alone[0] - shared[0] > FILE_SIZE // 4
    assert abs(alone[1] - shared[1]) < FILE_SIZE // 16
    assert 0 < alone[1] < FILE_SIZE
