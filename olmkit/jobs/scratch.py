"""The folder for temporary files of jobs: one per fork server, with a folder for each job, which goes with it.

Used by olmkit.jobs.forks. It is locked as long as it is used: what a killed controller left is removed by the next.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from olmkit.folders import remove_tree

PREFIX = "olm-suite-jobs-"
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Scratch:
    """A new folder, ours alone, until close(). Raises OSError."""

    def __init__(self) -> None:
        _remove_abandoned(Path(tempfile.gettempdir()))
        self.folder, self._lock = _locked_folder()

    def close(self) -> None:
        """Remove it."""
        remove_tree(self.folder)
        os.close(self._lock)


def _locked_folder() -> tuple[Path, int]:
    """A new folder and the descriptor that locks it. Until it is locked another process may take it for abandoned."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):
            lock = os.open(folder, _FLAGS)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(lock), folder.stat()):
                    return folder, lock
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # locked, another user's, or gone meanwhile
            lock = os.open(folder, _FLAGS)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(folder)
            finally:
                os.close(lock)
