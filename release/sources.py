"""The sources of a release: the files that git tracks, and the commit that they are of.

Called by release.image and release.distribution, so that nothing is built out of what earlier builds left in the working tree.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.processes import REPOSITORY


@dataclass(frozen=True)
class Commit:
    """The commit that is checked out: its hash, with -dirty after it if files differ, and its time in seconds since 1970."""

    revision: str
    time: int


def current_commit() -> Commit:
    """The commit of the working tree. Raises DevclusterError if git fails."""
    revision = _git("rev-parse", "HEAD").strip()
    changed = "-dirty" if _git("status", "--porcelain", "--untracked-files=no") else ""
    return Commit(revision + changed, int(_git("show", "--no-patch", "--format=%ct", "HEAD")))


def export(directory: Path) -> None:
    """Copy what git tracks to the directory, as it is in the working tree. Raises DevclusterError if git fails."""
    for name in _git("ls-files", "-z").split("\0"):
        source = REPOSITORY / name
        if name and source.is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, directory / name)


def run(*command: str, environment: Mapping[str, str] | None = None) -> str:
    """The output of a command; `environment` is that of this process by default. Raises DevclusterError with its error output."""
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise DevclusterError(f"{' '.join(command[:3])} failed:\n{done.stderr.strip()}")
    return done.stdout


def _git(*arguments: str) -> str:
    return run("git", "-C", str(REPOSITORY), *arguments)
