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
from olmctl.operators.session import on_cluster
from olmctl.questions import port_forward
from olmctl.questions.operator_state import text_at
from olmctl.questions.port_forward import RUKPAK
from olmctl.questions.session import Session
from olmctl.terminal import clean, clean_lines, shorten
from olmctl.terminal_output import say, write_document
from olmkit.api.content import Phase
from olmkit.api.names import pluralize
from olmkit.errors import Unavailable
from olmkit.sources.content_limits import BUNDLE_LIMITS

MAX_FILES_BYTES = 64 * 1024**2
"""The most that rukpak stores of one bundle."""
MAX_FILES = BUNDLE_LIMITS.files
MAX_NAME_SHOWN = 100
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
    found: dict[str, bytes] = {}
    try:
        with gzip.open(io.BytesIO(archive)) as zipped:
            data = zipped.read(2 * MAX_FILES_BYTES)  # the blocks of tar too
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as packed:
            size = 0
            for each in packed:
                size += each.size  # of a sparse file more than its blocks
                problem = "has too many files" if len(found) == MAX_FILES else _problem(each)
                if problem or size > MAX_FILES_BYTES:
                    raise CommandError(
                        FAILED, f"the archive that rukpak sent {problem or 'has files that are too large'}"
                    )
                file = packed.extractfile(each)
                if file is not None:
                    found[each.name] = file.read()
    except (OSError, EOFError, ValueError, RecursionError, zlib.error, tarfile.TarError) as error:
        raise CommandError(FAILED, f"the archive that rukpak sent cannot be read: {error}") from error
    if not found:
        raise CommandError(NOT_FOUND, "the archive that rukpak sent is empty")
    return found


def _problem(member: tarfile.TarInfo) -> str:
    """Say what rukpak never sends; empty for a file or a directory of a bundle."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        return "has paths that lead out of it"
    if not (member.isfile() or member.isdir()):
        return f"has {clean(member.name)}, which is neither a file nor a directory"
    if not member.name.isprintable() or path == PurePosixPath():
        return f'has a file whose name is not printable: "{clean(member.name)}"'
    return ""


def print_files(files: Mapping[str, bytes]) -> None:
    """Print the files as one stream of YAML: each after a comment with its path. What could control a terminal is replaced on
    one."""
    for name, data in files.items():
        text = data.decode(errors="backslashreplace")
        text = clean_lines(text.replace("\r\n", "\n")) if sys.stdout.isatty() else text
        write_document(f"---\n# {clean(name)}\n{text}" + ("" if text.endswith("\n") else "\n"))


def write_files(files: Mapping[str, bytes], directory: Path) -> None:
    """Write the files below the directory, which may not have files yet. Raises CommandError."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise CommandError(FAILED, f"{directory} exists and is not empty: name a directory that does not exist")
    for name, data in files.items():
        path = directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(data)
        except (
            OSError
        ) as error:  # the file system has no such name, a file stands where a directory has to be, or it is full
            text = f"{shorten(clean(name), MAX_NAME_SHOWN)} cannot be written to {directory}: {error.strerror}"
            raise CommandError(FAILED, text) from error
    say(f"{pluralize(len(files), 'file')} written to {directory}")
