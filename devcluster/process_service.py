"""The Service of a controller that runs as a process on this machine, for the proxy of the API server.

The API server proxies a Service only to addresses of pods, and never to loopback. So a Pod stands for the process: it has the
address of this machine before it is bound to a node, and kwok leaves a Pod with an address as it is.
"""

import http.client
import socket
from typing import Any
from urllib.parse import urlencode

import yaml

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.processes import REPOSITORY

MANIFESTS = REPOSITORY / "config" / "manager"
_CONTROLLER_LABEL = "devcluster/process-of"
"""The label of the Pod with the name of the controller, whose earlier processes had Pods too."""
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


def pod_name(controller: str, port: int) -> str:
    """The name of the Pod that stands for the process of a controller.

    Each process has one of its own: kwok and Kubernetes may still delete the Pod of an earlier process, and delete by name.
    """
    return f"{controller}-process-{port}"


def apply(cluster: Cluster, namespace: str, controller: str, address: str, port: int, node: str) -> None:
    """Create the Service of the controller in config/manager, and the Pod on `node` whose address is that of the process.

    The Pods of earlier processes are deleted. A second call changes nothing.
    """
    name = pod_name(controller, port)
    manifests = {each["kind"]: each for each in yaml.safe_load_all((MANIFESTS / f"{controller}.yaml").read_text())}
    service, template = manifests["Service"], manifests["Deployment"]["spec"]["template"]
    service["metadata"]["namespace"] = namespace
    labels = {**template["metadata"]["labels"], _CONTROLLER_LABEL: controller}
    identity = {"name": name, "namespace": namespace, "labels": labels}
    pods = f"/api/v1/namespaces/{namespace}/pods"
    earlier = {"labelSelector": f"{_CONTROLLER_LABEL}={controller}", "fieldSelector": f"metadata.name!={name}"}
    cluster.api.call("DELETE", f"{pods}?{urlencode(earlier)}", {"gracePeriodSeconds": 0})
    cluster.api.apply(f"/api/v1/namespaces/{namespace}/services", service)
    cluster.api.apply(pods, _pod(template, identity, service["spec"]["ports"][0]["targetPort"], port))
    running = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    cluster.api.call("PATCH", f"{pods}/{name}/status", {"status": running}, MERGE)
    target = {"kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    status, answer = cluster.api.request("POST", f"{pods}/{name}/binding", binding)
    if status not in (http.client.CREATED, http.client.CONFLICT):  # a conflict: it is bound
        raise DevclusterError(f"pod {name} cannot be bound to {node}: {answer}")


def _pod(template: dict[str, Any], identity: dict[str, Any], port_name: str, port: int) -> dict[str, Any]:
    spec = {**template["spec"], "schedulerName": "none"}
    container = {**spec["containers"][0]}
    container["ports"] = [{"name": port_name, "containerPort": port}]
    for probe in ("livenessProbe", "readinessProbe"):
        container.pop(probe, None)
    metadata = {**template["metadata"], **identity}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "containers": [container]}}
