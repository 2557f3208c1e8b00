"""Which programs a cluster is made of and where they are: `$KUBEBUILDER_ASSETS`, the cache, or built into the cache.

Called by cluster and __main__. It never looks at PATH except for kubectl against a cluster of the user's.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from devcluster import build
from devcluster.cache import cache_folder, publish_once
from devcluster.errors import DevclusterError

REQUIRED = (*build.KUBERNETES_NAMES, "kwok", "registry")


def find_or_build(report: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds every program of REQUIRED, building it when no other has them all.

    `report` gets lines for people. Raises DevclusterError when they are nowhere and cannot be built.
    """
    found = find(report, environment)
    if found is not None:
        return found
    go = build.find_go(environment)
    if go is None:
        raise DevclusterError(
            f"devcluster needs Go {build.minimum_go()} or newer to build Kubernetes {build.KUBERNETES_VERSION} once: "
            "install it (https://go.dev/dl) and put it on PATH, or set KUBEBUILDER_ASSETS to a folder that holds "
            f"{', '.join(REQUIRED)}."
        )
    return publish_once(
        cached_folder(environment),
        lambda folder: build.build_all(go, folder, report, environment),
        lambda: report("Another process builds the cluster's programs; waiting for it ..."),
    )


def find(report: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return `$KUBEBUILDER_ASSETS` or the cached folder, whichever first holds all of REQUIRED; None when neither does."""
    if assets := environment.get("KUBEBUILDER_ASSETS"):
        lacking = missing(Path(assets))
        if not lacking:
            return Path(assets).absolute()
        report(f"KUBEBUILDER_ASSETS ({assets}) is not used: it lacks {', '.join(lacking)}.")
    cached = cached_folder(environment)
    return cached if not missing(cached) else None


def missing(folder: Path, names: Iterable[str] = REQUIRED) -> list[str]:
    """The names that are no executable file in the folder, in the order given."""
    return [name for name in names if not os.access(folder / name, os.X_OK)]


def kubectl(environment: Mapping[str, str] = os.environ) -> Path:
    """kubectl for a cluster that is not ours: the one beside our programs if they are there, else the one on PATH."""
    found = find(lambda line: None, environment)
    if found is not None:
        return found / "kubectl"
    on_path = shutil.which("kubectl", path=environment.get("PATH", ""))
    if on_path is None:
        raise DevclusterError(
            "kubectl is needed for a cluster of your own: install it, or run `python -m devcluster build`."
        )
    return Path(on_path)


def cached_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the programs built from the recipe as it stands are kept: a changed recipe is another folder."""
    digest = hashlib.sha256()
    for part in build.recipe():
        digest.update(len(part).to_bytes(8, "big") + part)
    key = f"{build.KUBERNETES_VERSION}-{digest.hexdigest()[:12]}"
    return cache_folder(environment) / "binaries" / key
