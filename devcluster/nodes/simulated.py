"""The simulated nodes: kwok's command line and the Node objects. Pure.

kwok answers for the kubelets: every pod that the scheduler binds is Running and Ready a moment later, nothing is executed.
"""

from collections.abc import Mapping
from typing import Any

from devcluster.build import KUBERNETES_VERSION
from devcluster.control_plane import Component, Layout

PODS_PER_NODE = 1000


def kwok(layout: Layout) -> Component:
    """kwok for all nodes, with its default stages and the cluster's pod range: a /16, because kwok does not check its end."""
    arguments = (
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        "--manage-all-nodes=true",
        f"--cidr={layout.allocation.pod_cidr}",
        f"--node-ip={node_address(layout)}",
        "--node-lease-duration-seconds=40",
    )
    # Otherwise it reads the user's own configuration in their home.
    return Component("kwok", arguments, {"HOME": str(layout.directory), "KWOK_WORKDIR": str(layout.directory / "kwok")})


def node_address(layout: Layout) -> str:
    """The address of all simulated nodes: in the pod range, and therefore as unreachable as the pods."""
    return layout.allocation.pod_cidr.replace(".0.0/16", ".255.254")


def node(number: int, architecture: str) -> dict[str, Any]:
    """The Node object `node-<number>` with ample resources; `architecture` as Go names it ("amd64")."""
    name = f"node-{number}"
    resources = {"cpu": "256", "memory": "1Ti", "ephemeral-storage": "10Ti", "pods": str(PODS_PER_NODE)}
    labels = {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": name,
        "node-role.kubernetes.io/worker": "",
        "type": "kwok",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "nodeInfo": {
                "architecture": architecture,
                "operatingSystem": "linux",
                "kubeletVersion": KUBERNETES_VERSION,
            },
        },
    }


def is_ready(node: Mapping[str, Any]) -> bool:
    """Report whether the node is Ready and accepts pods (the taint of a new node is removed shortly after it is Ready)."""
    conditions = node["status"].get("conditions", ())
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return ready and not node["spec"].get("taints")
