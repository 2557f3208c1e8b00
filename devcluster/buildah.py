"""Finds buildah, or installs it from Debian. Tests use it to build and push images as the guide does with podman.

Clusters start without it.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from devcluster import debian
from devcluster.errors import exit_status

_HINT = "Install buildah (on Debian: `make buildah` as root)."


def find_or_install(report: Callable[[str], None]) -> Path:
    """Return the path of buildah; install it with apt-get, which needs root, if it is missing. Raises DevclusterError."""
    return debian.find_or_install("buildah", report, _HINT)


def shim(program: Path, directory: Path) -> str:
    """Return a shell script that runs `build` and `push` of podman with buildah, with all data below `directory`.

    It needs no privileges except those to unpack images: no storage driver of the kernel, no containers.
    """
    storage = f'--storage-driver vfs --root "{directory}/storage" --runroot "{directory}/run"'
    return f"""#!/bin/sh
command="$1"; shift
case "$command" in
  build) exec "{program}" {storage} build --isolation chroot "$@" ;;
  *) exec "{program}" {storage} "$command" "$@" ;;
esac
"""


def main() -> int:
    """Install buildah if it is missing. Returns the exit code: 0, or 1 with a message on standard error."""
    return exit_status(lambda: print(find_or_install(print)))


if __name__ == "__main__":
    sys.exit(main())
