"""`olm bundle content NAME`: print the files of a Bundle that is unpacked, or write them to a directory.

They are read from rukpak over a forwarded port, with the caller's token.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from olmctl.bundle.upload import read_bundle
from olmctl.commands import FAILED, NOT_FOUND, CommandError
from olmctl.operators import port_forward
from olmctl.operators.operator_state import text_at
from olmctl.operators.port_forward import RUKPAK
from olmctl.operators.session import Session, on_cluster
from olmctl.terminal import clean
from olmkit.api.content import Phase
from olmkit.api.names import pluralize
from olmkit.errors import Unavailable

MAX_FILES_BYTES = 64 * 1024**2
"""The most that rukpak stores of one bundle."""
READ_SECONDS = 120.0


@on_cluster
async def content(session: Session, name: str, output: str | None) -> int:
    """Print the files of the Bundle NAME, or write them below the directory `output`."""
    found = await read_bundle(session, name)
    if text_at(found, "status", "phase") != Phase.UNPACKED:
        messages = {
            each.get("type"): each.get("message") for each in (found.get("status") or {}).get("conditions") or ()
        }
        text = f"Bundle {name} is not unpacked: {messages.get('Unpacked') or 'rukpak has not reported on it'}"
        raise CommandError(FAILED, text)
    target = f"/bundles/{quote(name, safe='')}.tgz"
    try:
        raw = await port_forward.request(session, RUKPAK, "GET", target, seconds=READ_SECONDS)
    except Unavailable as error:
        text = f"the files of {name} cannot be read over a forwarded port of rukpak: {error.message}"
        raise CommandError(FAILED, text) from error
    files = unpacked(raw)
    if output is None:
        print_files(files)
    else:
        write_files(files, Path(output))
    return 0


def unpacked(archive: bytes) -> Mapping[str, bytes]:
    """The files by path. Raises CommandError for what rukpak does not send."""
    try:
        with gzip.open(io.BytesIO(archive)) as zipped:
            data = zipped.read(2 * MAX_FILES_BYTES)  # the blocks of tar too
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as packed:
            files = {each.name: packed.extractfile(each) for each in packed if each.isfile()}
            found = {name: file.read() for name, file in files.items() if file is not None}
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise CommandError(FAILED, f"the archive that rukpak sent cannot be read: {error}") from error
    if any(PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts for name in found):
        raise CommandError(FAILED, "the archive that rukpak sent has paths that lead out of it")
    if not found:
        raise CommandError(NOT_FOUND, "the archive that rukpak sent is empty")
    return found


def print_files(files: Mapping[str, bytes]) -> None:
    """Print the files as one stream of YAML: each after a comment with its path."""
    for name, data in files.items():
        text = data.decode(errors="backslashreplace")
        sys.stdout.write(f"---\n# {clean(name)}\n{text}" + ("" if text.endswith("\n") else "\n"))


def write_files(files: Mapping[str, bytes], directory: Path) -> None:
    """Write the files below the directory, which may not have files yet. Raises CommandError, OSError."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise CommandError(FAILED, f"{directory} exists and is not empty: name a directory that does not exist")
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{pluralize(len(files), 'file')} written to {directory}")
