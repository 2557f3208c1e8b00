"""Start a cluster, use it, stop and restart its components, stop it.

The processes belong to a supervisor process (supervisor.py), which ends when the owner ends, in whatever way.
"""

import base64
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devcluster import kubeconfig, programs, state
from devcluster.api_client import ApiProxy
from devcluster.commands import Commands
from devcluster.control_plane import write_private
from devcluster.errors import DevclusterError
from devcluster.nodes import real_node, sandbox
from devcluster.processes import python_environment
from devcluster.supervisor import Request

_TOKEN_SECONDS = 24 * 3600
_STOP_SECONDS = 30.0


@dataclass(frozen=True)
class ClusterOptions:
    """The options of a cluster to start. With `kubeconfig` that cluster is used and only a registry is started, or none with
    `registry`. With `real_node` it has one node that runs containers, otherwise `nodes` that simulate them. The API server logs
    the requests of the suite to a file with the cluster's name in the directory `audit`, which the cluster does not remove."""

    name: str = "default"
    nodes: int = 1
    kubeconfig: Path | None = None
    registry: str | None = None
    real_node: bool = False
    audit: Path | None = field(default_factory=lambda: audit_directory())

    @classmethod
    def from_environment(cls, name: str, environment: Mapping[str, str] = os.environ) -> "ClusterOptions":
        """Read `$OLM_KUBECONFIG`, an existing cluster, and `$REGISTRY` (host:port, plain HTTP), which is used only with it."""
        chosen = environment.get("OLM_KUBECONFIG")
        if not chosen:
            return cls(name)
        return cls(name, kubeconfig=Path(chosen).absolute(), registry=environment.get("REGISTRY"))


def audit_directory() -> Path | None:
    """The directory of audit logs that `$OLM_AUDIT_DIRECTORY` names."""
    named = os.environ.get("OLM_AUDIT_DIRECTORY")
    return Path(named).absolute() if named else None


class Cluster:
    """A cluster that runs until `stop`, the end of the `with` block, or the end of this process."""

    def __init__(
        self, supervisor: subprocess.Popen[str], started: state.State, kubectl: Path, *, is_managed: bool
    ) -> None:
        """Called by `start` only."""
        self._supervisor = supervisor
        self._kubectl = kubectl
        self._proxy: ApiProxy | None = None
        self._commands: Commands | None = None
        self._proxy_lock = threading.Lock()
        self.state = started
        self.is_managed = is_managed
        self.directory = state.run_directory(started.name)
        self.kubeconfig = Path(started.kubeconfig)
        self.registry = started.registry
        self.registries_conf = Path(started.registries_conf)

    @property
    def api(self) -> ApiProxy:
        """Requests to the API server as the cluster's admin, at a tenth of what a process of kubectl costs."""
        with self._proxy_lock:
            return self._started_proxy()

    def _started_proxy(self) -> ApiProxy:
        self._proxy = self._proxy or ApiProxy(self._kubectl, self.kubeconfig)
        return self._proxy

    def kubectl(self, *arguments: str, input: str | None = None) -> str:
        """Do what kubectl does with these arguments, as the cluster's admin, and return what it prints.

        Most commands are requests of this process (commands.py), on a cluster whose default namespace is known. Raises
        DevclusterError with the error message of kubectl.
        """
        if not self.is_managed:
            return self.run_kubectl(*arguments, input=input)
        with self._proxy_lock:
            commands = self._commands = self._commands or Commands(self._started_proxy())
        printed = commands.run(arguments, input)
        return self.run_kubectl(*arguments, input=input) if printed is None else printed

    def run_kubectl(self, *arguments: str, input: str | None = None) -> str:
        """Run kubectl as the cluster's admin and return its output. Raises DevclusterError with its error message."""
        done = self.finished_kubectl(*arguments, input=input)
        if done.returncode != 0:
            raise DevclusterError(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def finished_kubectl(self, *arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the cluster's admin; returns its exit status, and what it wrote to stdout and stderr, with warnings."""
        command = [str(self._kubectl), f"--kubeconfig={self.kubeconfig}", *arguments]
        # kubectl caches the discovery of a server by its address, and addresses are reused.
        # It ends before it has garbage worth collecting.
        environment = {**os.environ, "KUBECACHEDIR": str(self.directory / "kubectl"), "GOGC": "off"}
        return subprocess.run(command, input=input, env=environment, capture_output=True, text=True, check=False)

    def token_kubeconfig(self, namespace: str, serviceaccount: str) -> Path:
        """Write a kubeconfig with a new token (24 h) of an existing ServiceAccount; return its path."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{serviceaccount}/token"
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_SECONDS},
        }
        token = self.api.call("POST", path, asked)["status"]["token"]
        server, authority = self._endpoint
        written = self.directory / "tokens" / f"{namespace}-{serviceaccount}.kubeconfig"
        written.parent.mkdir(mode=0o700, exist_ok=True)
        write_private(written, kubeconfig.render(server, authority, token, serviceaccount))
        return written

    @functools.cached_property
    def _endpoint(self) -> tuple[str, bytes | None]:
        """The URL of the API server, and its CA unless it is one of the system's."""
        view = json.loads(self.kubectl("config", "view", "--raw", "--minify", "--flatten", "--output=json"))
        entry = view["clusters"][0]["cluster"]
        encoded = entry.get("certificate-authority-data")
        return entry["server"], base64.b64decode(encoded) if encoded else None

    def import_image(self, archive: Path) -> None:
        """Import an image from an OCI archive into the real node, as one does without a registry. Raises DevclusterError."""
        real_node.import_image(self.state.components[sandbox.FIRST_PROCESS], archive)

    def server_version(self) -> str:
        """The API server's gitVersion, as "v1.34.4"."""
        return str(json.loads(self.kubectl("get", "--raw", "/version"))["gitVersion"])

    def stop_component(self, component: str, signal_number: int = signal.SIGTERM) -> None:
        """Send a component ("kube-apiserver", "etcd", "registry" ...) the signal; return when it has ended."""
        self._command({"do": "halt", "component": component, "signal": int(signal_number)})

    def start_component(self, component: str) -> None:
        """Start a stopped component at the same address with the same data. The API server is ready on return."""
        self._command({"do": "resume", "component": component})

    def restart_apiserver(self, signal_number: int = signal.SIGKILL) -> None:
        """Stop the API server by the signal, start it on the same port with the same data, return when it is ready."""
        self.stop_component("kube-apiserver", signal_number)
        self.start_component("kube-apiserver")

    def wait(self, seconds: float | None = None) -> bool:
        """Return True when another process has stopped the cluster, and False after so many seconds."""
        try:
            self._supervisor.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        """Stop all processes, remove the routes and the directory. A second call does nothing."""
        if self._proxy is not None:
            self._proxy.close()
        _dismiss(self._supervisor, self.directory)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _command(self, command: Mapping[str, Any]) -> None:
        pipe = self._supervisor.stdin
        assert pipe is not None
        try:
            pipe.write(json.dumps(command) + "\n")
            pipe.flush()
        except OSError as error:
            raise DevclusterError(f"The cluster {self.state.name!r} does not run any more.") from error
        _answer(self._supervisor, lambda line: None)


def start(options: ClusterOptions, report: Callable[[str], None]) -> Cluster:
    """Start a cluster and return when it is ready: API server, nodes and registry.

    `report` gets progress messages. The first call builds the programs, which takes minutes. Raises DevclusterError.
    """
    is_managed = options.kubeconfig is None
    directory = state.run_directory(options.name)
    where, kubectl = _programs(options, report)
    node_programs = real_node.find_programs(report) if is_managed and options.real_node else None
    report(f"Starting the cluster {options.name!r} ...")
    request = Request(
        directory=str(directory),
        programs=str(where),
        nodes=options.nodes,
        owner=os.getpid(),
        kubeconfig=None if options.kubeconfig is None else str(options.kubeconfig),
        registry=options.registry,
        node_programs=node_programs,
        audit_log=str(options.audit / f"{options.name}.log") if options.audit else None,
    )
    supervisor = subprocess.Popen(
        [sys.executable, "-m", "devcluster.supervisor", json.dumps(asdict(request))],
        env=python_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Ctrl-C must reach only the owner, which then stops the cluster.
        start_new_session=True,
    )
    try:
        started = _answer(supervisor, report)
    except BaseException:
        _dismiss(supervisor, directory)
        raise
    ranges = {**started["state"], "ranges": tuple(started["state"]["ranges"])}
    return Cluster(supervisor, state.State(**ranges), kubectl, is_managed=is_managed)


def _programs(options: ClusterOptions, report: Callable[[str], None]) -> tuple[Path, Path]:
    """The directory of the programs and the path of kubectl. Nothing is built for an existing cluster."""
    if options.kubeconfig is None:
        directory = programs.find_or_build(report)
        return directory, directory / "kubectl"
    if not options.kubeconfig.is_file():
        raise DevclusterError(f"There is no kubeconfig at {options.kubeconfig}.")
    found = programs.find(report)
    if found is None and options.registry is None:
        raise DevclusterError(
            "Set REGISTRY to a registry (host:port) that speaks plain HTTP, or run `python -m devcluster build` for one."
        )
    return found or Path(), programs.kubectl()


def _answer(supervisor: subprocess.Popen[str], report: Callable[[str], None]) -> dict[str, Any]:
    """Read the supervisor's lines up to its answer. Raises DevclusterError if it reports a failure or ends."""
    assert supervisor.stdout is not None
    other: list[str] = []
    for line in supervisor.stdout:
        if not line.startswith("{"):
            other.append(line.rstrip())
            continue
        message: dict[str, Any] = json.loads(line)
        if message["event"] == "failed":
            raise DevclusterError(message["message"])
        if message["event"] != "warning":
            return message
        report(message["message"])
    raise DevclusterError("\n".join(["The cluster's supervisor has ended.", *other]))


def _dismiss(supervisor: subprocess.Popen[str], directory: Path) -> None:
    if supervisor.stdin is not None and not supervisor.stdin.closed:
        with contextlib.suppress(BrokenPipeError):
            supervisor.stdin.close()
    try:
        supervisor.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        # The kernel ends its children with it.
        supervisor.kill()
        supervisor.wait()
    if supervisor.stdout is not None:
        supervisor.stdout.close()
    if directory.is_dir() and not state.is_locked(directory):
        state.remove(directory)
