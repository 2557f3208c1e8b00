"""The three controllers as processes on this machine, connected to a cluster. Called by e2e tests, the demo and benchmarks.

Each uses its own ServiceAccount with the permissions of config/rbac, and catalogd serves HTTPS with its own certificate, as in a
cluster. They end with the process that started them.
"""

import http.client
import json
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from devcluster import catalog_service
from devcluster.allocation import free_port
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.processes import (
    REPOSITORY,
    process_tree_memory,
    python_environment,
    start_logged,
    with_parent_death_signal,
)

NAMESPACE = "olm-suite-system"
# Name of the component and of its ServiceAccount -> Python package.
COMPONENTS = {"catalogd": "catalogd", "rukpak": "rukpak", "operator-controller": "operator_controller"}

_READY_SECONDS = 60.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Addresses:
    """The addresses of a controller, each as "127.0.0.1:port". Restarts do not change them.

    `catalogs` is None for all but catalogd, `debug` for all but operator-controller.
    """

    metrics: str
    probes: str
    catalogs: str | None = None
    debug: str | None = None


class Suite:
    """The three controllers. `folder` contains their logs and caches (default: a folder that is removed with the cluster)."""

    def __init__(
        self, cluster: Cluster, folder: Path | None = None, arguments: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """`arguments` are additional flags by name of the controller. Starts nothing."""
        self._cluster = cluster
        self.folder = folder or cluster.folder / "suite"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._more = dict(arguments or {})
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._components = {name: name for name in COMPONENTS}
        self.addresses = {name: _addresses(name) for name in COMPONENTS}
        self._machine_address = catalog_service.machine_address()

    def install(self) -> None:
        """Apply namespace, CRDs and RBAC from config/ and wait until the CRDs are served.

        On a cluster of devcluster catalogd gets its Service too, if this machine has another address than loopback.
        """
        self._apply(yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
        definitions = self._rendered(REPOSITORY / "config" / "crd")
        self._apply(definitions)
        self._cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "--filename=-", input=definitions)
        self._apply(self._rendered(REPOSITORY / "config" / "rbac"))
        port = (self.addresses["catalogd"].catalogs or "").rpartition(":")[2]
        if self._cluster.is_managed and self._machine_address is not None:
            catalog_service.apply(self._cluster, NAMESPACE, self._machine_address, int(port))

    def start(self, *names: str) -> None:
        """Start the controllers of these names (default: all) and return when each answers its readiness probe."""
        for name in names or COMPONENTS:
            if not self.is_running(name):
                self._processes[name] = self._launch(name)
        for name in names or COMPONENTS:
            self._await_ready(name)

    def start_replica(self, component: str) -> str:
        """Start another process of a controller and return its name, such as "catalogd-2", when it is ready.

        It has the controller's account and flags, and its own addresses, cache folder and log. All methods accept its name.
        """
        count = sum(each == component for each in self._components.values())
        name = f"{component}-{count + 1}"
        self._components[name] = component
        self.addresses[name] = _addresses(component)
        self.start(name)
        return name

    def stop(self, *names: str) -> None:
        """Stop controllers (default: all) by SIGTERM. Raises DevclusterError, which names them, if some had to be killed."""
        chosen = [name for name in names or tuple(self._components) if self.is_running(name)]
        for name in chosen:
            self._processes[name].send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        late = [name for name in chosen if not self._ends_before(name, deadline)]
        if late:
            raise DevclusterError(
                f"{', '.join(late)} did not end within {_STOP_SECONDS:.0f} seconds of SIGTERM and was killed."
            )

    def kill(self, name: str) -> None:
        """Kill a controller immediately."""
        self._processes[name].kill()
        self._processes[name].wait()

    def tls_context(self) -> ssl.SSLContext:
        """Return a TLS context for clients of catalogd that trusts the CA that catalogd has published.

        For urllib.request.urlopen(..., context=...) and aiohttp's `ssl=`. catalogd must have been ready once.
        """
        found = self._cluster.kubectl("get", "configmap", "catalogd-ca", f"--namespace={NAMESPACE}", "--output=json")
        return ssl.create_default_context(cadata=json.loads(found)["data"]["ca.crt"])

    def is_running(self, name: str) -> bool:
        """Whether the controller's process is running."""
        return name in self._processes and self._processes[name].poll() is None

    def pid(self, name: str) -> int:
        """The process id of a controller that was started."""
        return self._processes[name].pid

    def exit_code(self, name: str) -> int | None:
        """The exit code of the controller's last process (negative: the signal), None while it runs."""
        return self._processes[name].poll()

    def memory(self, name: str) -> int:
        """Bytes of memory of the controller and its children; pages they share count once."""
        return process_tree_memory(self.pid(name))

    def log(self, name: str) -> Path:
        """The log file of the controller, with the output of all its runs."""
        return self.folder / f"{name}.log"

    def log_tail(self, name: str, lines: int = 30) -> str:
        """The last lines of its log."""
        path = self.log(name)
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, name: str) -> subprocess.Popen[bytes]:
        """Start the process of a controller. Tests of the image override it."""
        arguments = ["-m", COMPONENTS[self._components[name]], *self._flags(name, self.folder / f"{name}-cache")]
        return start_logged(with_parent_death_signal(sys.executable, arguments), self.log(name), python_environment())

    def _flags(self, name: str, cache: Path) -> list[str]:
        addresses, component = self.addresses[name], self._components[name]
        arguments = [
            *("--kubeconfig", str(self._cluster.token_kubeconfig(NAMESPACE, component))),
            *("--system-namespace", NAMESPACE),
            *("--cache-dir", str(cache)),
            *("--registries-conf", str(self._cluster.registries_conf)),
            # The registry and catalogd are on this machine.
            *("--allow-source-cidr", "127.0.0.0/8"),
            *("--metrics-bind-address", addresses.metrics),
            *("--health-probe-bind-address", addresses.probes),
        ]
        if addresses.catalogs is not None:
            arguments += [
                "--catalogs-server-addr",
                self._listening_address(name),
                "--external-address",
                addresses.catalogs,
                "--replica-address",
                addresses.catalogs,
            ]
        if addresses.debug is not None:
            arguments += ["--debug-bind-address", addresses.debug]
        return [*arguments, *self._more.get(component, ())]

    def _listening_address(self, name: str) -> str:
        """Where a catalogd serves: for the proxy of its Service the first one listens on all addresses of this machine."""
        served = self.addresses[name].catalogs or ""
        is_proxied = name == "catalogd" and self._cluster.is_managed and self._machine_address is not None
        return f":{served.rpartition(':')[2]}" if is_proxied else served

    def _await_ready(self, name: str) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not _answers(self.addresses[name].probes, "/readyz"):
            if not self.is_running(name):
                raise DevclusterError(
                    f"{name} ended with exit code {self.exit_code(name)}. Its log ends:\n{self.log_tail(name)}"
                )
            if time.monotonic() > deadline:
                raise DevclusterError(
                    f"{name} is not ready after {_READY_SECONDS:.0f} seconds. Its log ends:\n{self.log_tail(name)}"
                )
            time.sleep(_POLL_SECONDS)

    def _ends_before(self, name: str, deadline: float) -> bool:
        try:
            self._processes[name].wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill(name)
            return False
        return True

    def _apply(self, manifests: str) -> None:
        self._cluster.kubectl("apply", "--server-side", "--force-conflicts", "--filename=-", input=manifests)

    def _rendered(self, folder: Path) -> str:
        if (folder / "kustomization.yaml").exists():
            return self._cluster.kubectl("kustomize", str(folder))
        return "\n---\n".join(path.read_text() for path in sorted(folder.glob("*.yaml")))


def _addresses(name: str) -> Addresses:
    metrics, probes = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    other = f"127.0.0.1:{free_port()}"
    catalogs, debug = other if name == "catalogd" else None, other if name == "operator-controller" else None
    return Addresses(metrics, probes, catalogs, debug)


def _answers(address: str, path: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
