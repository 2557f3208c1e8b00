"""Processes that end with the process that started them."""

import os
import select
import signal
import subprocess
import sys

import pytest

from devcluster.processes import python_environment

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
