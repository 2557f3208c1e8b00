"""The DNS of a cluster with a real node: CoreDNS as a Deployment behind the Service `kube-dns`. Pure.

It answers for Services and pods. Every other name does not exist, because no question may leave this machine.
"""

from typing import Any

from devcluster.nodes.network import NodeNetwork
from devcluster.nodes.real import CLUSTER_DOMAIN

IMAGE = "devcluster.local/coredns:latest"
NAMESPACE = "kube-system"

_NAME = "coredns"
_LABELS = {"k8s-app": "kube-dns"}
# A plugin of the second block would come before `kubernetes` in the first one, in whatever order they are written.
_CONFIGURATION = f"""{CLUSTER_DOMAIN}:53 in-addr.arpa:53 ip6.arpa:53 {{
    errors
    health
    ready
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {{
        pods insecure
        ttl 5
    }}
    loadbalance
}}
.:53 {{
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


def objects(network: NodeNetwork) -> list[dict[str, Any]]:
    """The objects in the order in which they are created."""
    role = [
        {
            "apiGroups": [""],
            "resources": ["endpoints", "services", "pods", "namespaces"],
            "verbs": ["list", "watch"],
        },
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    rbac = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": _NAME, "namespace": NAMESPACE}
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
    ]
    return [
        _object("v1", "ServiceAccount", _NAME),
        _object(f"{rbac}/v1", "ClusterRole", _NAME, rules=role),
        _object(
            f"{rbac}/v1",
            "ClusterRoleBinding",
            _NAME,
            roleRef={"apiGroup": rbac, "kind": "ClusterRole", "name": _NAME},
            subjects=[account],
        ),
        _object("v1", "ConfigMap", _NAME, data={"Corefile": _CONFIGURATION}),
        _object(
            "apps/v1",
            "Deployment",
            _NAME,
            spec={
                "selector": {"matchLabels": _LABELS},
                "template": {"metadata": {"labels": _LABELS}, "spec": _pod()},
            },
        ),
        # The last one: a second attempt to create it would be refused because its address is in use.
        _object("v1", "Service", "kube-dns", spec={"clusterIP": network.dns, "selector": _LABELS, "ports": ports}),
    ]


def path(listed: dict[str, Any]) -> str:
    """The path of the API at which an object is created."""
    group, kind = listed["apiVersion"], listed["kind"]
    prefix = "/api/v1" if group == "v1" else f"/apis/{group}"
    scope = "" if kind.startswith("Cluster") else f"/namespaces/{NAMESPACE}"
    return f"{prefix}{scope}/{kind.lower()}s"


def deployment_path() -> str:
    """The path of the Deployment."""
    return f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{_NAME}"


def _object(version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name} if kind.startswith("Cluster") else {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def _pod() -> dict[str, Any]:
    return {
        "serviceAccountName": _NAME,
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default",
        "containers": [
            {
                "name": _NAME,
                "image": IMAGE,
                "args": ["-conf", "/etc/coredns/Corefile"],
                "ports": [{"containerPort": 53, "protocol": protocol} for protocol in ("UDP", "TCP")],
                "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
                "livenessProbe": {"httpGet": {"path": "/health", "port": 8080}},
                "volumeMounts": [{"name": "configuration", "mountPath": "/etc/coredns", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "configuration", "configMap": {"name": _NAME}}],
    }
