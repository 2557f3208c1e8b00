"""A simulated node that forwards ports of its pods to servers of this machine: kwok's configuration, and the Node. Pure.

The other simulated nodes forward nothing. kwok answers as the kubelet of this one, at a loopback address of its own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def configuration(namespace: str, ports: Mapping[str, int]) -> str:
    """kwok's configuration: each port of a pod is that of a server on this machine. `ports` are by name of the pod."""
    return yaml.safe_dump_all(
        {
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "PortForward",
            "metadata": {"name": pod, "namespace": namespace},
            "spec": {"forwards": [{"target": {"address": "127.0.0.1", "port": port}}]},
        }
        for pod, port in ports.items()
    )


def arguments(node: str, kubeconfig: Path, config: Path, certificate: Path, key: Path, port: int) -> list[str]:
    """The arguments of kwok for the node of this name, whose kubelet listens at a port of loopback."""
    return [
        f"--kubeconfig={kubeconfig}",
        f"--config={config}",
        f"--manage-single-node={node}",
        f"--server-address=127.0.0.1:{port}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
    ]


def node(name: str, port: int) -> dict[str, Any]:
    """The Node, whose status is where the API server finds its kubelet.

    Create it with the status: the kwok of the cluster's other nodes writes its own address into a Node that has none.
    """
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"unschedulable": True},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        },
    }
