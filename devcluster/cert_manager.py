"""cert-manager as processes on this machine: its controllers, its CA injector and its webhook.

They are built from cert-manager's Go module once, and the definitions are those of the module. They act as the cluster's
administrator, and end with the process that started them. The controllers are those that self-signed certificates need.
"""

import json
from collections.abc import Callable
from typing import Any

from devcluster.build import module_directory
from devcluster.cluster import Cluster
from devcluster.optional_programs import optional_program
from devcluster.processes import REPOSITORY
from devcluster.services import Services, accepts, free_address, port_of

CONTROLLER, INJECTOR, WEBHOOK = "controller", "cainjector", "webhook"

_PROGRAM = "cert-manager"
_NAMESPACE = "cert-manager"
_MODULE = "github.com/cert-manager/cert-manager"
_RECIPE = REPOSITORY / "devcluster" / "binaries" / "cert-manager"
_AUTHORITY = f"{_NAMESPACE}/cert-manager-webhook-ca"
"""The Secret with the authority of the webhook's certificate, which the webhook makes."""
_CONFIGURATIONS = {
    "MutatingWebhookConfiguration": ("mutate", ["cert-manager.io"], ["CREATE"], ["certificaterequests"]),
    "ValidatingWebhookConfiguration": (
        "validate",
        ["cert-manager.io", "acme.cert-manager.io"],
        ["CREATE", "UPDATE"],
        ["*/*"],
    ),
}
"""Kind -> path, API groups, operations and resources, as in cert-manager's Helm chart."""


class CertManager(Services):
    """cert-manager for the whole cluster."""

    def __init__(self, cluster: Cluster, report: Callable[[str], None] = print) -> None:
        """Find or build the program, which takes minutes the first time. Starts nothing. Raises DevclusterError."""
        super().__init__(cluster.directory / _PROGRAM)
        self._cluster = cluster
        self._program = optional_program(_PROGRAM, report)

    def start(self) -> None:
        """Apply the definitions, and start all parts. Returns when the webhook is asked about objects. Raises DevclusterError."""
        definitions = module_directory(_MODULE, _RECIPE)[0] / "deploy" / "crds"
        self._cluster.kubectl("apply", "--server-side", f"--filename={definitions}")
        self._cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"--filename={definitions}")
        self._apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})
        address = free_address()
        for part in (CONTROLLER, INJECTOR, WEBHOOK):
            arguments = (part, f"--kubeconfig={self._cluster.kubeconfig}", f"--listen={address}")
            self.launch(part, self._program, arguments)
        self.until(WEBHOOK, "serving", lambda: accepts(address))
        for kind in _CONFIGURATIONS:
            self._apply(_configuration(kind, port_of(address)))
        self.until(INJECTOR, "injecting", self._is_injected)

    def _is_injected(self) -> bool:
        path = "jsonpath={.webhooks[0].clientConfig.caBundle}"
        return all(self._cluster.kubectl("get", kind, _PROGRAM, "-o", path) for kind in _CONFIGURATIONS)

    def _apply(self, body: dict[str, Any]) -> None:
        self._cluster.kubectl("apply", "--server-side", "--filename=-", input=json.dumps(body))


def _configuration(kind: str, port: str) -> dict[str, Any]:
    path, groups, operations, resources = _CONFIGURATIONS[kind]
    rule = {"apiGroups": groups, "apiVersions": ["v1"], "operations": operations, "resources": resources}
    webhook = {
        "name": "webhook.cert-manager.io",
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 30,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "clientConfig": {"url": f"https://localhost:{port}/{path}"},
    }
    injection = {"cert-manager.io/inject-ca-from-secret": _AUTHORITY}
    metadata = {"name": _PROGRAM, "annotations": injection}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "webhooks": [webhook],
    }
