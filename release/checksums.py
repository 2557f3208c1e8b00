"""SHA256SUMS of the files of a release, in the format of sha256sum. Called as `python -m release.checksums` by `make release`."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from release.manifests import arguments

FILE_NAME = "SHA256SUMS"


def write_checksums(folder: Path) -> Path:
    """Write SHA256SUMS of all other files of the folder, by name; returns its path."""
    lines = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name != FILE_NAME:
            with path.open("rb") as file:
                lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    target = folder / FILE_NAME
    target.write_text("".join(lines))
    return target


def main() -> int:
    """Write the file and print its path."""
    print(write_checksums(arguments("Write SHA256SUMS of the other files.").folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
