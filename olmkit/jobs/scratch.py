"""The folder for temporary files of jobs: one per fork server, with a subfolder per job that is removed when the job ends.

It is locked while it is used: the folder that a killed controller left is removed by the next one.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from olmkit.store.folders import create_locked_folder, remove_if_unlocked, remove_tree

FOLDER_PREFIX = "olm-suite-jobs-"


class ScratchFolder:
    """A new folder for this process alone, until close(). Raises OSError."""

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        _remove_abandoned(parent)
        self.folder, self._lock = create_locked_folder(parent, FOLDER_PREFIX)

    def close(self) -> None:
        """Remove the folder."""
        remove_tree(self.folder)
        os.close(self._lock)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):  # locked, owned by another user, or already gone
            remove_if_unlocked(folder)
