"""The scratch directory of one fork server, while other processes start and remove unlocked directories."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.jobs import fork_client
from olmkit.jobs.fork_client import ScratchDirectory


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def start_other_process(parent: Path) -> None:
    """What another process does at its start: it removes unlocked directories."""
    found = list(parent.iterdir())
    for directory in found:
        lock = os.open(directory, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        directory.rmdir()
        os.close(lock)


@pytest.mark.parametrize(
    ("module", "name", "after"),
    [
        pytest.param(tempfile, "mkdtemp", True, id="after it was created"),
        pytest.param(fcntl, "flock", False, id="just before it is locked"),
    ],
)
def test_another_process_starts_concurrently(
    parent: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, after: bool
) -> None:
    original: Callable[..., Any] = getattr(module, name)

    def disturbed(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(module, name, original)
        if not after:
            start_other_process(parent)
        result = original(*arguments, **options)
        if after:
            start_other_process(parent)
        return result

    monkeypatch.setattr(module, name, disturbed)
    made = ScratchDirectory()
    assert list(parent.iterdir()) == [made.directory]
    fork_client._remove_abandoned(parent)
    assert made.directory.is_dir(), "it is locked"
    made.close()
    assert list(parent.iterdir()) == []


def test_directories_of_killed_processes_are_removed(parent: Path) -> None:
    (parent / f"{fork_client.DIRECTORY_PREFIX}left" / "1").mkdir(parents=True)
    made = ScratchDirectory()
    assert list(parent.iterdir()) == [made.directory]
    made.close()
