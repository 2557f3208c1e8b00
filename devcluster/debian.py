"""Finds programs that Debian packages, or installs them with apt-get. Called where a test or a release needs one.

Clusters start without any of them.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from devcluster.cache import cache_directory, exclusive
from devcluster.errors import DevclusterError

_KEEP_CONFIGURATION = ("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold")
"""Keep changed configuration files (for example policy.json of containers) without asking."""


def find_or_install(
    program: str, report: Callable[[str], None], hint: str = "", package: str = "", directories: Sequence[str] = ()
) -> Path:
    """Return the path of `program`; install its package (default: of that name), which needs root, if it is missing.

    `hint` ends the message of each error. Programs are on PATH, or in one of the `directories`. Raises DevclusterError.
    """
    package = package or program
    hint = hint or f"Install {package} (on Debian: `apt-get install {package}` as root)."
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *directories))
    found = shutil.which(program, path=path)
    if found:
        return Path(found)
    installer = shutil.which("apt-get")
    if installer is None:
        raise DevclusterError(f"{program} is not installed, and there is no apt-get to install it. {hint}")
    if os.geteuid() != 0:
        raise DevclusterError(f"{program} is not installed, and only root can install it. {hint}")
    lock = cache_directory() / "apt-get.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(lock, lambda: report("Another process installs packages; waiting ...")):
        found = shutil.which(program, path=path)
        if not found:
            report(f"Installing {package} with apt-get ...")
            _install(installer, package, hint)
            found = shutil.which(program, path=path)
    if not found:
        raise DevclusterError(f"apt-get installed no {program}. {hint}")
    return Path(found)


def _install(installer: str, package: str, hint: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (("update",), ("install", "-y", *_KEEP_CONFIGURATION, package)):
        done = subprocess.run(
            [installer, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise DevclusterError(f"apt-get {' '.join(arguments)}: {done.stderr.strip()}\n{hint}")
