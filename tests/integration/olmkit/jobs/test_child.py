"""The end of a child that nobody reads any more, because its controller or its job is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from olmkit.jobs.job import Role
from tests.integration.olmkit.jobs.test_scheduler import WORK

PARENT = f"""
import os
import select
import socket
import sys
from pathlib import Path

import orjson

from olmkit.jobs import child
from olmkit.jobs.job import Limits
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.job import Role
from olmkit.jobs.protocol import ChildSpec
from {WORK} import job

role, function, when, directory = Role(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
ours, theirs = socket.socketpair()
parent = os.getpid()
if not (pid := os.fork()):
    child.run([theirs.detach()], parent, ChildSpec(role, Limits(), Sandbox()), directory)
theirs.close()
request = {{"until": "/", "probe": "probe_answer", "answer": {{}}}}
message = {{"id": 1, "function": job(function).function, "request": request, "directory": str(directory)}}
line = orjson.dumps(message) + b"\\n"
ours.sendall({{"before": b"", "cut": line[:-20]}}.get(when, line))
if when == "answered":
    select.select([ours], [], [])  # and not read, so that the other end is reset
ours.close()
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(
    ("function", "when"),
    [("echo", "before"), ("echo", "cut"), ("echo", "asked"), ("report_pid_and_wait", "asked"), ("echo", "answered")],
    ids=["before a request", "within a request", "before its answer", "before its progress", "after its answer"],
)
def test_a_child_ends_silently_if_the_other_end_is_closed(role: Role, function: str, when: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", PARENT, role, function, when, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert (ended.stderr, ended.returncode) == ("", 0)
