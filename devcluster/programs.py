"""Finds the programs of a cluster: in `$KUBEBUILDER_ASSETS` or in the cache, into which they are built if they are missing.

Uses PATH only to find kubectl for an existing cluster. `python -m devcluster.programs` finds or builds them before the Python
packages of the project are installed: this module, and what it imports, need none.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from devcluster import build
from devcluster.cache import cache_directory, publish_once
from devcluster.errors import DevclusterError, exit_status

REQUIRED = (*build.KUBERNETES_NAMES, "kwok")


def find_or_build(report: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Path:
    """Return a directory with all programs of REQUIRED; build them if no directory has them all.

    `report` gets progress messages. Raises DevclusterError if they are missing and cannot be built.
    """
    found = find(report, environment)
    if found is not None:
        return found
    go = build.find_go(environment)
    if go is None:
        raise DevclusterError(
            f"devcluster needs Go {build.minimum_go()} or newer to build Kubernetes {build.KUBERNETES_VERSION} once: "
            "install it (https://go.dev/dl) and put it on PATH, or set KUBEBUILDER_ASSETS to a directory that contains "
            f"{', '.join(REQUIRED)}."
        )
    return publish_once(
        cached_directory(environment),
        lambda directory: build.build_all(go, directory, report, environment),
        lambda: report("Another process builds the cluster's programs; waiting for it ..."),
    )


def find(report: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return `$KUBEBUILDER_ASSETS` or the cached directory, the first that has all of REQUIRED; None if neither has."""
    if assets := environment.get("KUBEBUILDER_ASSETS"):
        absent = missing(Path(assets))
        if not absent:
            return Path(assets).absolute()
        report(f"KUBEBUILDER_ASSETS ({assets}) is not used: it does not contain {', '.join(absent)}.")
    cached = cached_directory(environment)
    return cached if not missing(cached) else None


def missing(directory: Path, names: Iterable[str] = REQUIRED) -> list[str]:
    """The names of programs that are missing in the directory or not executable, in the given order."""
    return [name for name in names if not os.access(directory / name, os.X_OK)]


def kubectl(environment: Mapping[str, str] = os.environ) -> Path:
    """Return kubectl for an existing cluster: the one of `find`, otherwise the one on PATH. Raises DevclusterError."""
    found = find(lambda line: None, environment)
    if found is not None:
        return found / "kubectl"
    on_path = shutil.which("kubectl", path=environment.get("PATH", ""))
    if on_path is None:
        raise DevclusterError(
            "kubectl is needed for a cluster of your own: install it, or run `python -m devcluster build`."
        )
    return Path(on_path)


def cached_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The cache directory of the programs. Its name contains a hash of sources, versions and flags."""
    digest = hashlib.sha256()
    for part in build.recipe():
        digest.update(len(part).to_bytes(8, "big") + part)
    key = f"{build.KUBERNETES_VERSION}-{digest.hexdigest()[:12]}"
    return cache_directory(environment) / "binaries" / key


def main() -> int:
    """Find or build the programs; returns the exit status."""
    return exit_status(lambda: find_or_build(lambda line: print(line, flush=True)))


if __name__ == "__main__":
    sys.exit(main())
