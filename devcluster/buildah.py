"""buildah, which builds and pushes images as the guide does with podman: found, or installed from Debian. Called by tests.

`python -m devcluster.buildah` is `make buildah`. Nothing else needs it: a cluster starts without.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from devcluster.errors import DevclusterError

_KEEP_CONFIGURATION = ("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold")
"""A file in /etc that somebody changed (policy.json of containers, say) stays, and nobody is asked about it."""
_HINT = "Install buildah (on Debian: `make buildah` as root)."


def find_or_install(report: Callable[[str], None]) -> Path:
    """The program: where it is already, else installed with apt-get, which needs root. Raises DevclusterError."""
    found = shutil.which("buildah")
    if found:
        return Path(found)
    installer = shutil.which("apt-get")
    if installer is None:
        raise DevclusterError(f"There is no buildah here, and no apt-get to install it with. {_HINT}")
    if os.geteuid() != 0:
        raise DevclusterError(f"There is no buildah here, and only root can install it. {_HINT}")
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
    """A shell script that takes podman's `build` and `push` and has buildah do them, all its data below `folder`.

    Needs no privileges beyond those of whoever may unpack images: no storage driver of the kernel, no containers.
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
    """Make sure that it is there; 1 with a sentence on standard error when it cannot be."""
    try:
        print(find_or_install(print))
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
