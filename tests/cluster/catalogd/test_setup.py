"""Flags of catalogd that exclude each other end the process at its start, with a message that says what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from devcluster.cluster import Cluster


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(
            ["--insecure-http", "--no-leader-elect", "--authenticate-requests"],
            "--insecure-http and --authenticate-requests exclude each other: tokens must not be sent over plain HTTP. Remove one",
            id="plain HTTP with tokens",
        ),
        pytest.param(
            ["--insecure-http"],
            "--insecure-http is for a single replica: replication requires HTTPS. "
            "Remove it, or run one replica with --no-leader-elect",
            id="plain HTTP of one of several replicas",
        ),
    ],
)
def test_flags_that_exclude_each_other_end_the_process_at_its_start(
    cluster: Cluster, tmp_path: Path, flags: list[str], message: str
) -> None:
    given = {
        "--kubeconfig": cluster.kubeconfig,
        "--cache-dir": tmp_path,
        "--catalogs-server-addr": "127.0.0.1:0",
        "--metrics-bind-address": "0",
        "--health-probe-bind-address": "0",
    }
    command = [sys.executable, "-m", "catalogd", *(f"{flag}={value}" for flag, value in given.items()), *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    last = json.loads(done.stderr.splitlines()[-1])
    assert message in last.values()
