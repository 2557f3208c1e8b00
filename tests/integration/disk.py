"""A real file system of 1 MiB for a test: to be filled to the last byte, or mounted read-only."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mounted on `folder`, which is created; skips if mounts are not permitted."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here: that takes root and CAP_SYS_ADMIN")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, how: str) -> None:
    """Remount it "ro" or "rw"."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True)


def fill_up(folder: Path) -> Path:
    """Fill it to the last byte. Returns the file that uses the space."""
    file = folder / "full"
    with open(file, "ab", buffering=0) as filling:
        for size in (4096, 1):
            with suppress(OSError):
                while True:
                    filling.write(b"x" * size)
    return file
