"""Flux's kustomize-controller as a process on this machine.

It is built from its Go module once, and its definitions are those of the modules. It acts as the cluster's administrator, as in
Flux's default installation, and ends with the process that started it. artifacts.py is its source.
"""

import json
import os
from collections.abc import Callable

from devcluster.build import module_directory
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.optional_programs import optional_program
from devcluster.services import LOOPBACK_ONLY, Services, answers, free_address

NAMESPACE = "flux-system"
PROGRAM = "kustomize-controller"

_DEFINITIONS = {
    "github.com/fluxcd/kustomize-controller@v1.9.5": "h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc=",
    "github.com/fluxcd/source-controller@v1.9.5": "h1:MFPyCodUi9hZIMaKDsC/rYbNoyzpvrAdrPVixj7W9F0=",
}
"""The modules with the definitions in config/crd/bases -> their checksums."""


class Flux(Services):
    """A kustomize-controller that manages the cluster."""

    def __init__(self, cluster: Cluster, report: Callable[[str], None] = print) -> None:
        """Find or build the program, which takes minutes the first time. Starts nothing. Raises DevclusterError."""
        super().__init__(cluster.directory / "flux")
        self._cluster = cluster
        self._program = optional_program(PROGRAM, report)

    def install(self) -> None:
        """Apply the definitions and create the namespace."""
        for module, checksum in _DEFINITIONS.items():
            found, actual = module_directory(module, self.directory)
            if actual != checksum:
                raise DevclusterError(f"{module} has the checksum {actual}, and {checksum} is expected")
            directory = found / "config" / "crd" / "bases"
            self._cluster.kubectl("apply", "--server-side", f"--filename={directory}")
            self._cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"--filename={directory}")
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self._cluster.kubectl("apply", "--server-side", "--filename=-", input=json.dumps(namespace))

    def start(self) -> None:
        """Start the controller and return when it is healthy. Raises DevclusterError."""
        health = free_address()
        arguments = (
            f"--health-addr={health}",
            f"--metrics-addr={free_address()}",
            "--feature-gates=ExternalArtifact=true",
            "--requeue-dependency=1s",
            "--watch-all-namespaces=true",
        )
        settings = {
            "KUBECONFIG": str(self._cluster.kubeconfig),
            "RUNTIME_NAMESPACE": NAMESPACE,
            "TMPDIR": str(self.directory),
            "HOME": str(self.directory),
            **LOOPBACK_ONLY,
        }
        self.launch(PROGRAM, self._program, arguments, {**os.environ, **settings})
        self.until(PROGRAM, "ready", lambda: answers(health, "/readyz"))
