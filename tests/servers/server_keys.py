"""Certificates for servers of a test, issued by a private authority."""

from __future__ import annotations

import subprocess
from pathlib import Path

from devcluster import programs


def make_keys(folder: Path, *names: str) -> Path:
    """A folder with ca.crt, and with kube-apiserver.crt and .key for loopback and these names."""
    found = programs.find(print)
    assert found is not None, "the cluster's programs were built before the first test"
    made = folder / "keys"
    made.mkdir()
    subprocess.run([found / "devcluster-certificates", made, "127.0.0.1", "localhost", *names], check=True)
    return made
