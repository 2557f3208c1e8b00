"""Writes SHA256SUMS of the files of a release, in the format of sha256sum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

FILE_NAME = "SHA256SUMS"


def write_checksums(directory: Path, files: Iterable[Path]) -> Path:
    """Write SHA256SUMS of these files below the directory, sorted by path; returns its path."""
    lines = []
    for path in sorted(files):
        with path.open("rb") as file:
            lines.append(
                f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.relative_to(directory).as_posix()}\n"
            )
    target = directory / FILE_NAME
    target.write_text("".join(lines))
    return target
