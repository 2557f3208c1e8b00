"""The folder for temporary files of jobs: one per fork server, with a folder for each job, which goes with it.

Used by olmkit.jobs.fork_client. It is locked as long as it is used: what a killed controller left is removed by the next.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from olmkit.store.folders import create_locked_folder, remove_if_unlocked, remove_tree

FOLDER_PREFIX = "olm-suite-jobs-"


class ScratchFolder:
    """A new folder, ours alone, until close(). Raises OSError."""

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        _remove_abandoned(parent)
        self.folder, self._lock = create_locked_folder(parent, FOLDER_PREFIX)

    def close(self) -> None:
        """Remove it."""
        remove_tree(self.folder)
        os.close(self._lock)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):  # locked, another user's, or gone meanwhile
            remove_if_unlocked(folder)
