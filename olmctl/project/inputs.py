"""Reads the manifests of a project: from standard input, from a directory, or from a directory that kustomize builds.

Files that are no manifests are named, and every other file has to be read. Never reads more than MAX_INPUT_BYTES.
"""

from __future__ import annotations

import os
import select
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from olmctl.programs import TimeIsUp, TooMuchOutput, run_program
from olmctl.project.manifests import (
    KUSTOMIZATION_NAMES,
    MANIFEST_SUFFIXES,
    MAX_INPUT_BYTES,
    BadInput,
    Manifest,
    WrongUsage,
    read_manifests,
)

STDIN = "<stdin>"
_BUILDERS = (("kustomize", "build"), ("kubectl", "kustomize"))
"""The programs that build a kustomization, the first one that is there."""
_WAIT_SECONDS = 0.2
BUILD_SECONDS = 600.0
"""The time that kustomize has: it may fetch other repositories."""


@dataclass
class Input:
    """The manifests of a project, and the files that were not used."""

    manifests: list[Manifest] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, data: bytes, file: str) -> None:
        """Add the objects of a text that has to be manifests. Raises BadInput."""
        self.manifests += read_manifests(data, file)


def is_piped() -> bool:
    """Report whether standard input is a pipe or a file, from which manifests can be read."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def has_waiting_text() -> bool:
    """Report whether standard input has text now. A pipe into which nobody writes has none, as many programs that run others
    leave it."""
    if not is_piped():
        return False
    descriptor = sys.stdin.fileno()
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fstat(descriptor).st_size > os.lseek(descriptor, 0, os.SEEK_CUR)
    readable, _, _ = select.select([descriptor], [], [], _WAIT_SECONDS)
    return bool(readable) and bool(sys.stdin.buffer.peek(1))  # type: ignore[union-attr]


def read_stdin() -> Input:
    """The manifests of standard input. Raises BadInput."""
    data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    _check_size(len(data), STDIN)
    found = Input()
    found.add(data, STDIN)
    return found


def read_path(directory: Path) -> Input:
    """The manifests of all files below a directory, or what kustomize builds from it. Raises BadInput, OSError."""
    if kustomization_of(directory) is not None:
        return build(directory)
    return read_directory(directory)


def kustomization_of(directory: Path) -> Path | None:
    """The file that makes this directory a kustomization."""
    return next((directory / name for name in KUSTOMIZATION_NAMES if (directory / name).is_file()), None)


def build(directory: Path) -> Input:
    """The manifests that kustomize builds from a directory. Raises BadInput."""
    found = next(((shutil.which(program), verb) for program, verb in _BUILDERS if shutil.which(program)), None)
    if found is None:
        names = " and ".join(program for program, _ in _BUILDERS)
        raise BadInput(f"{directory} is a kustomization, and neither {names.replace(' and ', ' nor ')} is on the PATH")
    program, verb = found
    name = f"{Path(str(program)).name} {verb} {directory}"
    try:
        run = run_program([str(program), verb, str(directory)], BUILD_SECONDS, MAX_INPUT_BYTES)
    except TimeIsUp:
        raise BadInput(f"{name}: it has not ended within {BUILD_SECONDS:g} seconds") from None
    except TooMuchOutput:
        raise _too_large(name) from None
    if run.status:
        reason = run.errors.decode(errors="replace").strip() or f"it ended with status {run.status}"
        raise BadInput(f"{name}: {reason}")
    result = Input()
    result.add(run.output, f"<{name}>")
    return result


def read_directory(directory: Path, *, recursive: bool = True) -> Input:
    """The manifests of the files of a directory. Raises BadInput, OSError."""
    found, left = Input(), MAX_INPUT_BYTES
    if not directory.is_dir():
        raise WrongUsage(f"{directory}: no such directory")
    for path in _files(directory, recursive=recursive):
        with path.open("rb") as file:
            data = file.read(left + 1)
        left -= len(data)
        _check_size(MAX_INPUT_BYTES - left, str(directory))
        _add_file(found, path, data)
    return found


def _add_file(found: Input, path: Path, data: bytes) -> None:
    file = path.as_posix()
    if path.name in KUSTOMIZATION_NAMES:
        return
    before = len(found.manifests)
    try:
        found.add(data, file)
    except BadInput:
        if path.name.endswith(MANIFEST_SUFFIXES):
            raise
    if len(found.manifests) == before:
        found.notes.append(f"{file}: has no manifest, and is not used")


def _files(directory: Path, *, recursive: bool) -> Iterator[Path]:
    """The regular files, in the order in which Go walks a directory. Links to files count as files, as for kubectl."""
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda entry: os.fsencode(entry.name)):
            path = directory / entry.name
            if entry.is_dir(follow_symlinks=False):
                if recursive:
                    yield from _files(path, recursive=True)
            elif path.is_file():
                yield path


def _check_size(size: int, name: str) -> None:
    if size > MAX_INPUT_BYTES:
        raise _too_large(name)


def _too_large(name: str) -> BadInput:
    return BadInput(f"{name}: has more than {MAX_INPUT_BYTES // 1024**2} MiB of manifests")
