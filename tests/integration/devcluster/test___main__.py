"""`python -m devcluster` as a process, without a cluster."""

from __future__ import annotations

import os
import subprocess
import sys


def test_a_reader_that_has_ended() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "devcluster", "status"]
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (1, b"")
