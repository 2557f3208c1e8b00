"""Folders that others filled are removed with whatever lies in them, and files are written whole.

For olmkit.store, olmkit.jobs, olmkit.serving and operator_controller.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


def remove_tree(path: Path) -> None:
    """As far as that can be done. Folders that lie deeper than Python can follow stay, and keep nothing else from its end."""
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)


def write_whole(path: Path, data: bytes) -> None:
    """A file that only this user may read, in a folder that is made when missing: whoever reads finds the old one or the new.

    Not flushed to the disk. Raises OSError, and leaves nothing then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
