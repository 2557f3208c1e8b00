"""Ports that several processes take before they use them."""

from __future__ import annotations

import subprocess
import sys

TAKE = """
import sys
from devcluster.allocation import free_port
print(*(free_port() for _ in range(int(sys.argv[1]))), flush=True)
sys.stdin.read()
"""


def taking(count: int) -> subprocess.Popen[str]:
    """A process that takes so many ports, uses none of them, and ends when its input does."""
    command = [sys.executable, "-c", TAKE, str(count)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ports_of(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def test_no_process_gets_a_port_that_another_one_has_taken() -> None:
    with taking(90) as first, taking(1500) as second:
        kept, others = ports_of(first), ports_of(second)
        assert (len(set(kept)), len(set(others))) == (90, 1500)
        assert not set(kept) & set(others)
        for each in (first, second):
            each.communicate()
