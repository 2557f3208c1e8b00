"""A clone of a git repository in which each commit consists of exactly the given files.

Called by git_server and artifacts. git is that of the machine, or is installed from Debian; its configuration does not count.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from devcluster import debian
from devcluster.errors import DevclusterError
from devcluster.services import LOOPBACK_ONLY

BRANCH = "main"
ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "devcluster",
    "GIT_AUTHOR_EMAIL": "devcluster@example.com",
    "GIT_COMMITTER_NAME": "devcluster",
    "GIT_COMMITTER_EMAIL": "devcluster@example.com",
    **LOOPBACK_ONLY,
}
"""Hooks, signatures and proxies of the user do not count."""


class Git:
    """Runs git, without the configuration of the user. Raises DevclusterError with what git reports."""

    def __init__(self, report: Callable[[str], None] = print) -> None:
        """Find git, or install it from Debian."""
        self.program = debian.find_or_install("git", report)

    def run(self, *arguments: str, directory: Path | None = None) -> str:
        """Run `git` in the directory and return what it prints."""
        done = subprocess.run(
            [self.program, *arguments],
            cwd=directory,
            env={**os.environ, **ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise DevclusterError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


class Clone:
    """A new repository in `directory`, with the branch BRANCH and without commits."""

    def __init__(self, git: Git, directory: Path) -> None:
        """Make it."""
        self._git = git
        self._directory = directory
        git.run("init", "--quiet", f"--initial-branch={BRANCH}", str(directory))

    def git(self, *arguments: str) -> str:
        """Run git in it."""
        return self._git.run(*arguments, directory=self._directory)

    def commit(self, files: Mapping[str, str], message: str = "A change") -> str:
        """Commit exactly these files (path -> content), without those of earlier commits; return the commit's id."""
        for path in self._directory.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, content in files.items():
            path = self._directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()
