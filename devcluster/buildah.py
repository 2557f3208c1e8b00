"""Finds buildah, or installs it from Debian. Tests use it to build and push images as the guide does with podman.

Called by tests/e2e and by `make buildah`. Clusters start without it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from devcluster.errors import DevclusterError

_KEEP_CONFIGURATION = ("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold")
"""Keep changed configuration files (for example policy.json of containers) without asking."""
_HINT = "Install buildah (on Debian: `make buildah` as root)."


def find_or_install(report: Callable[[str], None]) -> Path:
    """Return the path of buildah; install it with apt-get, which needs root, if it is missing. Raises DevclusterError."""
    found = shutil.which("buildah")
    if found:
        return Path(found)
    installer = shutil.which("apt-get")
    if installer is None:
        raise DevclusterError(f"buildah is not installed, and there is no apt-get to install it. {_HINT}")
    if os.geteuid() != 0:
        raise DevclusterError(f"buildah is not installed, and only root can install it. {_HINT}")
    report("Installing buildah with apt-get ...")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (("update",), ("install", "-y", *_KEEP_CONFIGURATION, "buildah")):
        done = subprocess.run(
            [installer, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise DevclusterError(f"apt-get {' '.join(arguments)}: {done.stderr.strip()}\n{_HINT}")
    found = shutil.which("buildah")
    if not found:
        raise DevclusterError(f"apt-get installed no buildah. {_HINT}")
    return Path(found)


def shim(program: Path, folder: Path) -> str:
    """Return a shell script that runs `build` and `push` of podman with buildah, with all data below `folder`.

    It needs no privileges except those to unpack images: no storage driver of the kernel, no containers.
    """
    storage = f'--storage-driver vfs --root "{folder}/storage" --runroot "{folder}/run"'
    return f"""#!/bin/sh
command="$1"; shift
case "$command" in
  build) exec "{program}" {storage} build --isolation chroot "$@" ;;
  *) exec "{program}" {storage} "$command" "$@" ;;
esac
"""


def main() -> int:
    """Install buildah if it is missing. Returns the exit code: 0, or 1 with a message on standard error."""
    try:
        print(find_or_install(print))
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
