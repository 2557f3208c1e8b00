"""Downloads the wheels of the image, each checked by the hashes of requirements.lock: `python -m release.wheels DIRECTORY`.

Run by the Dockerfile, and by release.image. Standard library and pip only, because it runs before anything is installed.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

from release.runtime_lock import runtime_lock

LOCK_NAME = "runtime.lock"
"""The lock file of the image, next to its wheels."""
PYTHON_VERSION = "3.11"
"""The Python of the image, whatever Python runs this."""
_GLIBC = ("2_28", "2_27", "2_24", "2_17")
"""Versions of glibc that wheels are built for. Debian 12 has 2.36."""


def read_runtime_lock(repository: Path) -> str:
    """The lock file of the image, from the files of the repository."""
    return runtime_lock((repository / "requirements.lock").read_text(), (repository / "pyproject.toml").read_text())


def download(lock: str, directory: Path) -> None:
    """Download the wheels of `lock` to `directory`, and write `lock` there. Raises subprocess.CalledProcessError."""
    directory.mkdir(parents=True, exist_ok=True)
    listed = directory / LOCK_NAME
    listed.write_text(lock)
    machine = platform.machine()
    platforms = [f"manylinux_{glibc}_{machine}" for glibc in _GLIBC] + [f"manylinux2014_{machine}", "any"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON_VERSION}"]
    command += [f"--abi={abi}" for abi in ("cp" + PYTHON_VERSION.replace(".", ""), "abi3", "none")]
    command += [f"--platform={each}" for each in platforms]
    command += [f"--requirement={listed}", f"--dest={directory}"]
    # Only what the index has counts: another wheel of the same version has another hash.
    subprocess.run(command, check=True, env={**os.environ, "PIP_FIND_LINKS": ""}, stdin=subprocess.DEVNULL)


def main() -> int:
    """Download the wheels for the repository in the current directory. Returns the exit status."""
    try:
        download(read_runtime_lock(Path.cwd()), Path(sys.argv[1]))
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
