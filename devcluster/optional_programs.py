"""Programs written in Go that some tests and targets need beside a cluster: helm, promtool, cert-manager, cosign, actionlint, the
GitOps tools, and what a real node runs.

`python -m devcluster.optional_programs NAME` prints the path of one. Each program is built when it is first asked for, into the
cache directory. A cluster with simulated nodes needs none of them, and they are no part of the suite.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from devcluster import build
from devcluster.build import GoProgram
from devcluster.cache import cache_directory, publish_once
from devcluster.errors import DevclusterError, exit_status

_HELM_VERSION = "v3.22.0"
_HELM_CAPABILITIES = "helm.sh/helm/v3/pkg/chartutil.k8sVersion"
HELM = GoProgram(
    "helm",
    "helm.sh/helm/v3/cmd/helm",
    _HELM_VERSION,
    go="1.26",
    # As in its releases: without them, helm takes Kubernetes v1.20 for the cluster's version when it is not given.
    ldflags=(
        f"-s -w -X helm.sh/helm/v3/internal/version.version={_HELM_VERSION} "
        f"-X {_HELM_CAPABILITIES}Major=1 -X {_HELM_CAPABILITIES}Minor={build.KUBERNETES_VERSION.split('.')[1]}"
    ),
)
"""Also part of the image of the suite, in which rukpak renders charts with it."""

OPTIONAL_PROGRAMS: Mapping[str, GoProgram] = {
    program.name: program
    for program in (
        GoProgram("actionlint", "github.com/rhysd/actionlint/cmd/actionlint", "v1.7.12", go="1.25"),
        GoProgram(
            "argocd",
            "github.com/argoproj/argo-cd/v3/cmd",
            module="argocd",
            ldflags="-s -w -X github.com/argoproj/argo-cd/v3/common.version=3.2.1",
        ),
        GoProgram("cert-manager", ".", module="cert-manager"),
        GoProgram("coredns", "github.com/coredns/coredns", "v1.15.0", go="1.26"),
        GoProgram("cosign", "github.com/sigstore/cosign/v3/cmd/cosign", "v3.1.3", go="1.26"),
        HELM,
        GoProgram("kustomize-controller", "github.com/fluxcd/kustomize-controller", module="kustomize-controller"),
        GoProgram("pause", ".", module="pause"),
        *(
            GoProgram(name, f"k8s.io/kubernetes/cmd/{name}", ldflags=build.KUBERNETES_LDFLAGS)
            for name in build.NODE_NAMES
        ),
        *(
            # Without service discovery, whose clients of all clouds would take most of the build.
            GoProgram(name, f"github.com/prometheus/prometheus/cmd/{name}", module="prometheus", tags="remove_all_sd")
            for name in ("prometheus", "promtool")
        ),
    )
}


def cached_program(name: str, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the executable `name` of OPTIONAL_PROGRAMS if it has been built."""
    found = _target(OPTIONAL_PROGRAMS[name], environment) / name
    return found if found.exists() else None


def optional_program(
    name: str, report: Callable[[str], None] = print, environment: Mapping[str, str] = os.environ
) -> Path:
    """Return the executable `name` of OPTIONAL_PROGRAMS; build it if it is not in the cache, which takes minutes.

    `report` gets progress messages. Raises DevclusterError if Go is missing or cannot build it.
    """
    program = OPTIONAL_PROGRAMS[name]
    target = _target(program, environment)
    if not (target / name).exists():
        go = build.find_go(environment)
        if go is None:
            raise DevclusterError(
                f"{name} is built with Go, which is not on PATH: install Go {build.minimum_go(program)} or newer (https://go.dev/dl)."
            )
        publish_once(
            target,
            lambda directory: build.build_program(go, directory, program, report, environment),
            lambda: report(f"Another process builds programs; {name} waits for it ..."),
        )
    return target / name


def _target(program: GoProgram, environment: Mapping[str, str]) -> Path:
    return cache_directory(environment) / "binaries" / f"{program.name}-{_digest(program)[:12]}"


def _digest(program: GoProgram) -> str:
    digest = hashlib.sha256()
    for part in build.program_recipe(program):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def main() -> int:
    """Print the path of the program that is named on the command line. Returns 1 with a message if it cannot be built."""
    return exit_status(lambda: print(optional_program(sys.argv[1], lambda line: print(line, file=sys.stderr))))


if __name__ == "__main__":
    sys.exit(main())
