"""Certificates for servers of a test, issued by a private authority."""

from __future__ import annotations

import subprocess
from pathlib import Path

from devcluster import programs


def make_keys(directory: Path, *names: str) -> Path:
    """A directory with ca.crt, and with kube-apiserver.crt and .key for loopback and these names."""
    found = programs.find(print)
    assert found is not None, "the cluster's programs were built before the first test"
    made = directory / "keys"
    made.mkdir()
    subprocess.run([found / "devcluster-certificates", made, "127.0.0.1", "localhost", *names], check=True)
    return made
