"""Flux's kustomize-controller as a process on this machine. Called by tests/gitops.

It is built from its Go module once, and its definitions are those of the modules. It acts as the cluster's administrator, as in
Flux's default installation, and ends with the process that started it. artifacts.py is its source.
"""

import http.client
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from devcluster.allocation import free_port
from devcluster.build import module_folder
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.optional_programs import optional_program
from devcluster.processes import start_logged, with_parent_death_signal

NAMESPACE = "flux-system"
PROGRAM = "kustomize-controller"

_DEFINITIONS = {
    "github.com/fluxcd/kustomize-controller@v1.9.5": "h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc=",
    "github.com/fluxcd/source-controller@v1.9.5": "h1:MFPyCodUi9hZIMaKDsC/rYbNoyzpvrAdrPVixj7W9F0=",
}
"""The modules with the definitions in config/crd/bases -> their checksums."""
_READY_SECONDS = 60.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.1


class Flux:
    """A kustomize-controller that manages the cluster."""

    def __init__(self, cluster: Cluster, report: Callable[[str], None] = print) -> None:
        """Find or build the program, which takes minutes the first time. Starts nothing. Raises DevclusterError."""
        self._cluster = cluster
        self._program = optional_program(PROGRAM, report)
        self._folder = cluster.folder / "flux"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._log = self._folder / f"{PROGRAM}.log"
        self._health_port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def install(self) -> None:
        """Apply the definitions and create the namespace."""
        for module, checksum in _DEFINITIONS.items():
            found, actual = module_folder(module, self._folder)
            if actual != checksum:
                raise DevclusterError(f"{module} has the checksum {actual}, and {checksum} is expected")
            folder = found / "config" / "crd" / "bases"
            self._cluster.kubectl("apply", "--server-side", f"--filename={folder}")
            self._cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"--filename={folder}")
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self._cluster.kubectl("apply", "--server-side", "--filename=-", input=json.dumps(namespace))

    def start(self) -> None:
        """Start the controller and return when it is healthy. Raises DevclusterError."""
        arguments = (
            f"--health-addr=127.0.0.1:{self._health_port}",
            f"--metrics-addr=127.0.0.1:{free_port()}",
            "--feature-gates=ExternalArtifact=true",
            "--requeue-dependency=1s",
            "--watch-all-namespaces=true",
        )
        settings = {
            "KUBECONFIG": str(self._cluster.kubeconfig),
            "RUNTIME_NAMESPACE": NAMESPACE,
            "TMPDIR": str(self._folder),
            "HOME": str(self._folder),
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }
        command = with_parent_death_signal(self._program, arguments)
        self._process = start_logged(command, self._log, {**os.environ, **settings})
        deadline = time.monotonic() + _READY_SECONDS
        while not self._is_healthy():
            code = self._process.poll()
            if code is not None or time.monotonic() > deadline:
                state = "is not ready" if code is None else f"ended with exit code {code}"
                raise DevclusterError(f"{PROGRAM} {state}. Its log ends:\n{self.log_tail()}")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Stop the process by SIGTERM, and kill it if it does not end."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def log_tail(self, lines: int = 25) -> str:
        """The last lines of the log."""
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._health_port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
