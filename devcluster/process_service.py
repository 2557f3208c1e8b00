"""The Service of a controller that runs as a process on this machine, for the proxy of the API server.

The API server proxies a Service only to addresses of pods, and never to loopback. So a Pod stands for the process: it has the
address of this machine before it is bound to a node, and kwok leaves a Pod with an address as it is.
"""

import http.client
import socket
from typing import Any

import yaml

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.processes import REPOSITORY

MANIFESTS = REPOSITORY / "config" / "manager"
MAX_ATTEMPTS = 10
"""Attempts to make the Pod: others may be deleting the one of its name that was there before, and delete by name."""
_NOT_SENT_TO = ("192.0.2.1", 9)
"""An address for documentation (RFC 5737): connecting a UDP socket sends nothing."""


def machine_address() -> str | None:
    """The IPv4 address of this machine that other machines reach; None if it has only loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_NOT_SENT_TO)
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


def pod_name(controller: str) -> str:
    """The name of the Pod that stands for the process of a controller."""
    return f"{controller}-process"


def apply(cluster: Cluster, namespace: str, controller: str, address: str, port: int, node: str) -> None:
    """Create the Service of the controller in config/manager, and the Pod on `node` whose address is that of the process."""
    name = pod_name(controller)
    manifests = {each["kind"]: each for each in yaml.safe_load_all((MANIFESTS / f"{controller}.yaml").read_text())}
    service, template = manifests["Service"], manifests["Deployment"]["spec"]["template"]
    pod = _pod(template, {"name": name, "namespace": namespace}, service["spec"]["ports"][0]["targetPort"], port)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    cluster.api.apply(f"/api/v1/namespaces/{namespace}/services", service)
    running = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"kind": "Node", "name": node},
    }
    for _ in range(MAX_ATTEMPTS):
        status, answer = cluster.api.request("DELETE", f"{pods}/{name}", {"gracePeriodSeconds": 0})
        if status not in (http.client.OK, http.client.NOT_FOUND):
            raise DevclusterError(f"pod {name} cannot be deleted: {answer}")
        cluster.api.apply(pods, pod)
        status, answer = cluster.api.request("PATCH", f"{pods}/{name}/status", {"status": running}, MERGE)
        if status == http.client.OK:
            status, answer = cluster.api.request("POST", f"{pods}/{name}/binding", binding)
        if status == http.client.CREATED:
            return
        if status not in (http.client.NOT_FOUND, http.client.CONFLICT):
            break
    raise DevclusterError(f"pod {name} cannot be bound to {node}: {answer}")


def _pod(template: dict[str, Any], identity: dict[str, str], port_name: str, port: int) -> dict[str, Any]:
    spec = {**template["spec"], "schedulerName": "none"}
    container = {**spec["containers"][0]}
    container["ports"] = [{"name": port_name, "containerPort": port}]
    for probe in ("livenessProbe", "readinessProbe"):
        container.pop(probe, None)
    metadata = {**template["metadata"], **identity}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "containers": [container]}}
