"""Argo CD as processes on this machine: redis, repo server, application controller, API server and command line.

The programs are built from its Go module once, redis comes from Debian. Nothing is changed in Argo CD: its custom resource
definitions and default settings are those of the module, to which the caller adds ConfigMap entries as an administrator would.
The processes act as the cluster's administrator, as the default installation does, and end with the process that started them.
"""

import http.client
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence

from devcluster import debian
from devcluster.build import module_directory
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.gitops.clone import BRANCH
from devcluster.optional_programs import optional_program
from devcluster.processes import REPOSITORY
from devcluster.services import LOOPBACK_ONLY, Services, accepts, answers, free_address, port_of, request

NAMESPACE = "argocd"

_MODULE = "github.com/argoproj/argo-cd/v3"
_RECIPE = REPOSITORY / "devcluster" / "binaries" / "argocd"
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


class ArgoCd(Services):
    """An Argo CD that manages the cluster it runs on."""

    def __init__(self, cluster: Cluster, report: Callable[[str], None] = print) -> None:
        """Find or build the programs, which takes minutes the first time. Starts nothing. Raises DevclusterError.

        helm renders the charts in repositories.
        """
        super().__init__(cluster.directory / "argocd")
        self._cluster = cluster
        self._redis = debian.find_or_install("redis-server", report)
        self._argocd = optional_program("argocd", report)
        self._helm = optional_program("helm", report)
        self._redis_address = free_address()
        self._repo_address = free_address()
        self._controller_metrics = free_address()
        self._server_address = free_address()

    def install(self, settings: Mapping[str, str]) -> None:
        """Apply the definitions and default configuration of the module, and `settings` as entries of ConfigMap argocd-cm."""
        manifests = module_directory(_MODULE, _RECIPE)[0] / "manifests"
        self._apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        definitions = self._cluster.kubectl("kustomize", str(manifests / "crds"))
        configuration = self._cluster.kubectl("kustomize", str(manifests / "base" / "config"))
        for text in (definitions, configuration):
            self._cluster.kubectl("apply", "--server-side", f"--namespace={NAMESPACE}", "--filename=-", input=text)
        self._cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "--filename=-", input=definitions)
        self._apply(_DEFAULT_PROJECT)
        self.configure(settings)

    def configure(self, settings: Mapping[str, str | None]) -> None:
        """Change entries of ConfigMap argocd-cm, also while Argo CD runs; None removes one."""
        self._cluster.kubectl(
            *("patch", "configmap", "argocd-cm", f"--namespace={NAMESPACE}", "--type=merge"),
            *("--patch", json.dumps({"data": dict(settings)})),
        )

    def start(self) -> None:
        """Start the processes and return when each answers."""
        host, port = self._redis_address.split(":")
        redis = ("--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", str(self.directory))
        self.launch("redis", self._redis, redis)
        for name, arguments in self._components().items():
            self.launch(name, self._argocd, arguments, self._environment(name))
        self.until("redis", "ready", lambda: accepts(self._redis_address))
        self.until("argocd-repo-server", "ready", lambda: accepts(self._repo_address))
        self.until("argocd-application-controller", "ready", lambda: answers(self._controller_metrics, "/healthz"))
        self.until("argocd-server", "ready", lambda: answers(self._server_address, "/healthz"))

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
        status, answer = request(self._server_address, "POST", "/api/webhook", json.dumps(payload), headers)
        if status != http.client.OK:
            raise DevclusterError(f"Argo CD did not accept the webhook of a push: {status} {answer}")

    def _components(self) -> dict[str, Sequence[str]]:
        redis = ("--redis", self._redis_address)
        clients = ("--namespace", NAMESPACE, "--repo-server", self._repo_address, *redis)
        return {
            "argocd-repo-server": (
                *("--address", "127.0.0.1", "--port", port_of(self._repo_address), *redis),
                *("--metrics-port", port_of(free_address())),
            ),
            "argocd-application-controller": (
                *clients,
                *("--metrics-port", port_of(self._controller_metrics)),
                # The health of each resource is stored in the Application too, where tests read it.
                "--persist-resource-health",
            ),
            "argocd-server": (
                *clients,
                *("--address", "127.0.0.1", "--port", port_of(self._server_address)),
                *("--metrics-port", port_of(free_address())),
                *("--insecure", "--disable-auth", "--staticassets", ""),
            ),
        }

    def _environment(self, name: str) -> dict[str, str]:
        settings = {
            "ARGOCD_BINARY_NAME": name,
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_GPG_ENABLED": "false",
            "ARGOCD_TLS_DATA_PATH": str(self.directory / "tls"),
            "ARGOCD_SSH_DATA_PATH": str(self.directory / "ssh"),
            "ARGOCD_CONFIG_DIR": str(self.directory / "config"),
            "HOME": str(self.directory),
            "KUBECONFIG": str(self._cluster.kubeconfig),
            "PATH": f"{self._helm.parent}:{os.environ['PATH']}",
            **LOOPBACK_ONLY,
            "TMPDIR": str(self.directory),
        }
        return {**os.environ, **settings}

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

    def _apply(self, manifest: Mapping[str, object]) -> None:
        self._cluster.kubectl("apply", "--server-side", "--filename=-", input=json.dumps(manifest))
