"""The three controllers as pods of a cluster with a real node, as `kubectl apply -k config/default` installs them.

The image is imported into the node from its archive. The controllers get the registries.conf of the cluster, which makes its
registry the mirror of all others. Nothing else differs from config/.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.processes import REPOSITORY
from devcluster.suite import COMPONENTS, NAMESPACE

CONSOLE = "olm-console"
"""The name of the Deployment and the Service of the web console."""
_REGISTRIES = "registries"
_REGISTRIES_DIRECTORY = "/etc/olm-suite/registries"
_FIELD_MANAGER = "--server-side", "--force-conflicts"


class PodSuite:
    """The suite in the namespace olm-suite-system of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Applies nothing."""
        self._cluster = cluster

    def install(self, archive: Path) -> None:
        """Import the image, apply config/crd and config/default; return when the CRDs are served. Raises DevclusterError."""
        self._cluster.import_image(archive)
        definitions = self._cluster.kubectl("kustomize", str(REPOSITORY / "config" / "crd"))
        self._apply(definitions)
        self._cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "--filename=-", input=definitions)
        rendered = yaml.safe_load_all(self._cluster.kubectl("kustomize", str(REPOSITORY / "config" / "default")))
        configuration = self._cluster.registries_conf.read_text()
        registries = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _REGISTRIES, "namespace": NAMESPACE},
            "data": {"registries.conf": configuration},
        }
        objects = [*(each for each in rendered if each), registries]
        self._apply("\n---\n".join(json.dumps(_for_this_cluster(each)) for each in objects))

    def install_console(self) -> None:
        """Apply config/console, and before it the Secret that it needs. Raises DevclusterError."""
        key = f"--from-literal=key={secrets.token_hex(32)}"
        self._kubectl("create", "secret", "generic", f"{CONSOLE}-session-key", key)
        self._apply(self._cluster.kubectl("kustomize", str(REPOSITORY / "config" / "console")))

    def wait_until_available(self, *names: str, seconds: float = 180.0) -> None:
        """Return when all pods of these Deployments (default: the controllers) are ready. Raises DevclusterError, which shows
        the pods and their logs."""
        names = names or tuple(COMPONENTS)
        try:
            for name in names:
                self._kubectl("rollout", "status", f"deployment/{name}", f"--timeout={seconds:.0f}s")
        except DevclusterError as error:
            shown = self._kubectl("get", "pods,events", "--output=wide")
            logs = "\n".join(f"The log of {name} ends:\n{self.log_tail(name)}" for name in names)
            raise DevclusterError(f"{error}\n{shown}\n{logs}") from error

    def log_tail(self, name: str, lines: int = 30) -> str:
        """The last lines of the logs of a controller's pods; what kubectl says if there are none."""
        try:
            return self._kubectl(
                *("logs", f"--selector=app.kubernetes.io/name={name}", f"--tail={lines}", "--prefix", "--ignore-errors")
            )
        except DevclusterError as error:
            return str(error)

    def _kubectl(self, *arguments: str) -> str:
        return self._cluster.kubectl(*arguments, f"--namespace={NAMESPACE}")

    def _apply(self, manifests: str) -> None:
        self._cluster.kubectl("apply", *_FIELD_MANAGER, "--filename=-", input=manifests)


def _for_this_cluster(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object; a Deployment of a controller with the cluster's registries.conf."""
    if manifest["kind"] != "Deployment":
        return manifest
    template = manifest["spec"]["template"]
    pod = template["spec"]
    (container,) = pod["containers"]
    changed = {
        **container,
        "args": [*container["args"], f"--registries-conf={_REGISTRIES_DIRECTORY}/registries.conf"],
        "volumeMounts": [*container["volumeMounts"], {"name": _REGISTRIES, "mountPath": _REGISTRIES_DIRECTORY}],
    }
    volumes = [*pod["volumes"], {"name": _REGISTRIES, "configMap": {"name": _REGISTRIES}}]
    spec = {**pod, "containers": [changed], "volumes": volumes}
    return {**manifest, "spec": {**manifest["spec"], "template": {**template, "spec": spec}}}
