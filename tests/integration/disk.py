"""A real file system of 1 MiB for a test: to be filled to the last byte, or mounted read-only."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from olmkit.errors import Waiting

Result = TypeVar("Result")


@contextmanager
def small_disk(directory: Path) -> Iterator[Path]:
    """Mounted on `directory`, which is created; skips if mounts are not permitted."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(directory)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here: that takes root and CAP_SYS_ADMIN")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def remount(directory: Path, how: str) -> None:
    """Remount it "ro" or "rw"."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(directory)], check=True)


def fill_up(directory: Path) -> Path:
    """Fill it to the last byte. Returns the file that uses the space."""
    file = directory / "full"
    with open(file, "ab", buffering=0) as filling:
        for size in (4096, 1):
            with suppress(OSError):
                while True:
                    filling.write(b"x" * size)
    return file


async def until_there_is_space(
    directory: Path, attempt: Callable[[], Awaitable[Result]], failed: Callable[[], None], space: range
) -> tuple[Result, int]:
    """Fill it up, and free more of the `space` from attempt to attempt, until one succeeds: its result, and how many attempts
    reported that the disk is full. `failed` is called after each of those."""
    filler, failures = fill_up(directory), list[str]()
    full = filler.stat().st_size
    for free in space:
        os.truncate(filler, full - free)
        try:
            result = await attempt()
        except Waiting as error:
            failures.append(f"{error.reason}: {error.message}")
            failed()
        else:
            assert all(re.search("^DiskFull: .*is full: free some space", each) for each in failures), failures
            return result, len(failures)
    raise AssertionError(f"it does not succeed with {space[-1]} bytes: {failures}")
