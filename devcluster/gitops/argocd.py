"""Argo CD as processes on this machine: redis, repo server, application controller, API server and command line.

Called by tests/gitops. The programs are built from its Go module once, redis comes from Debian. Nothing is changed in Argo CD:
its custom resource definitions and default settings are those of the module, to which the caller adds ConfigMap entries as an
administrator would. The processes act as the cluster's administrator, as the default installation does, and end with the process
that started them.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from devcluster import debian
from devcluster.allocation import free_port
from devcluster.build import module_folder
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.gitops.clone import BRANCH
from devcluster.optional_programs import optional_program
from devcluster.processes import REPOSITORY, start_logged, with_parent_death_signal

NAMESPACE = "argocd"

_MODULE = "github.com/argoproj/argo-cd/v3"
_RECIPE = REPOSITORY / "devcluster" / "binaries" / "argocd"
_READY_SECONDS = 90.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.1
_DEFAULT_PROJECT = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "default", "namespace": NAMESPACE},
    "spec": {
        "sourceRepos": ["*"],
        "destinations": [{"namespace": "*", "server": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    },
}


class ArgoCd:
    """An Argo CD that manages the cluster it runs on."""

    def __init__(self, cluster: Cluster, report: Callable[[str], None] = print) -> None:
        """Find or build the programs, which takes minutes the first time. Starts nothing. Raises DevclusterError."""
        self._cluster = cluster
        self._redis = debian.find_or_install("redis-server", report)
        self._argocd = optional_program("argocd", report)
        self._folder = cluster.folder / "argocd"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._redis_address = f"127.0.0.1:{free_port()}"
        self._repo_address = f"127.0.0.1:{free_port()}"
        self._controller_metrics = f"127.0.0.1:{free_port()}"
        self._server_address = f"127.0.0.1:{free_port()}"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def install(self, settings: Mapping[str, str]) -> None:
        """Apply the definitions and default configuration of the module, and `settings` as entries of ConfigMap argocd-cm."""
        manifests = module_folder(_MODULE, _RECIPE)[0] / "manifests"
        self._apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        definitions = self._cluster.kubectl("kustomize", str(manifests / "crds"))
        configuration = self._cluster.kubectl("kustomize", str(manifests / "base" / "config"))
        for text in (definitions, configuration):
            self._cluster.kubectl("apply", "--server-side", f"--namespace={NAMESPACE}", "--filename=-", input=text)
        self._cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "--filename=-", input=definitions)
        self._apply(_DEFAULT_PROJECT)
        self._cluster.kubectl(
            *("patch", "configmap", "argocd-cm", f"--namespace={NAMESPACE}", "--type=merge"),
            *("--patch", json.dumps({"data": dict(settings)})),
        )

    def start(self) -> None:
        """Start the processes and return when each answers."""
        host, _, port = self._redis_address.rpartition(":")
        redis = ("--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", str(self._folder))
        self._launch("redis", self._redis, redis)
        for name, arguments in self._components().items():
            self._launch(name, self._argocd, arguments)
        self._await(
            {
                "redis": lambda: _accepts(self._redis_address),
                "argocd-repo-server": lambda: _accepts(self._repo_address),
                "argocd-application-controller": lambda: _is_healthy(self._controller_metrics),
                "argocd-server": lambda: _is_healthy(self._server_address),
            }
        )

    def stop(self) -> None:
        """Stop the processes by SIGTERM, and kill those that do not end."""
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self._processes.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def cli(self, *arguments: str) -> str:
        """Run the command `argocd` with a login at the API server; return what it prints. Raises DevclusterError."""
        return self._run_cli("--server", self._server_address, "--plaintext", *arguments)

    def offline_cli(self, *arguments: str) -> str:
        """Run the command `argocd` without a server, for `argocd admin settings`."""
        return self._run_cli(*arguments)

    def notify_of_push(self, url: str, revision: str) -> None:
        """Send the webhook that a git host sends after a push, so that Argo CD does not wait for its next poll."""
        payload = {
            "ref": f"refs/heads/{BRANCH}",
            "before": "0" * 40,
            "after": revision,
            "commits": [],
            "repository": {"html_url": url.removesuffix(".git"), "default_branch": BRANCH},
        }
        headers = {"Content-Type": "application/json", "X-GitHub-Event": "push"}
        status, answer = _request(self._server_address, "POST", "/api/webhook", json.dumps(payload), headers)
        if status != http.client.OK:
            raise DevclusterError(f"Argo CD did not accept the webhook of a push: {status} {answer}")

    def log_tail(self, name: str, lines: int = 25) -> str:
        """The last lines of a process's log ("argocd-application-controller")."""
        path = self._log(name)
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _components(self) -> dict[str, Sequence[str]]:
        repo_port = self._repo_address.rpartition(":")[2]
        controller_port = self._controller_metrics.rpartition(":")[2]
        server_port = self._server_address.rpartition(":")[2]
        redis = ("--redis", self._redis_address)
        clients = ("--namespace", NAMESPACE, "--repo-server", self._repo_address, *redis)
        return {
            "argocd-repo-server": (
                *("--address", "127.0.0.1", "--port", repo_port, *redis),
                *("--metrics-port", str(free_port())),
            ),
            "argocd-application-controller": (
                *clients,
                *("--metrics-port", controller_port),
                # The health of each resource is stored in the Application too, where tests read it.
                "--persist-resource-health",
            ),
            "argocd-server": (
                *clients,
                *("--address", "127.0.0.1", "--port", server_port),
                *("--metrics-port", str(free_port())),
                *("--insecure", "--disable-auth", "--staticassets", ""),
            ),
        }

    def _environment(self, name: str) -> dict[str, str]:
        settings = {
            "ARGOCD_BINARY_NAME": name,
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_GPG_ENABLED": "false",
            "ARGOCD_TLS_DATA_PATH": str(self._folder / "tls"),
            "ARGOCD_SSH_DATA_PATH": str(self._folder / "ssh"),
            "ARGOCD_CONFIG_DIR": str(self._folder / "config"),
            "HOME": str(self._folder),
            "KUBECONFIG": str(self._cluster.kubeconfig),
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            "TMPDIR": str(self._folder),
        }
        return {**os.environ, **settings}

    def _launch(self, name: str, program: Path, arguments: Sequence[str]) -> None:
        command = with_parent_death_signal(program, arguments)
        self._processes[name] = start_logged(command, self._log(name), self._environment(name))

    def _await(self, answers: Mapping[str, Callable[[], bool]]) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        for name, answered in answers.items():
            while not answered():
                code = self._processes[name].poll()
                if code is not None or time.monotonic() > deadline:
                    state = "is not ready" if code is None else f"ended with exit code {code}"
                    raise DevclusterError(f"{name} {state}. Its log ends:\n{self.log_tail(name)}")
                time.sleep(_POLL_SECONDS)

    def _run_cli(self, *arguments: str) -> str:
        done = subprocess.run(
            [self._argocd, *arguments],
            env=self._environment("argocd"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise DevclusterError(f"argocd {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _apply(self, manifest: Mapping[str, object]) -> None:
        self._cluster.kubectl("apply", "--server-side", "--filename=-", input=json.dumps(manifest))


def _accepts(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2):
            return True
    except OSError:
        return False


def _is_healthy(address: str) -> bool:
    try:
        return _request(address, "GET", "/healthz")[0] == http.client.OK
    except (OSError, http.client.HTTPException):
        return False


def _request(
    address: str, method: str, path: str, body: str | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        connection.close()
