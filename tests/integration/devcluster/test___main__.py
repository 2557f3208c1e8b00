"""`python -m devcluster` as a process, without a cluster."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_a_reader_that_has_ended() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "devcluster", "status"]
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (1, b"")


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(("--nodes=2",), id="a number of nodes"),
        pytest.param(("--kubeconfig=/dev/null",), id="a cluster that exists"),
    ],
)
def test_a_real_node_is_refused_with(more: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "devcluster", "up", "--node=real", *more]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "leave out --nodes and --kubeconfig" in ran.stderr
