"""The programs of a real node: containerd, kubelet and kube-proxy, with their configuration.

They run in the namespaces of devcluster.nodes.sandbox, so all paths below /run, /var/lib and /var/log are the node's own. Images
come from the registry of the cluster alone, whatever host their names have, and pods have no route out of this machine.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devcluster.control_plane import Component, Layout
from devcluster.nodes import sandbox
from devcluster.nodes.network import NODE, NodeNetwork

SANDBOX_IMAGE = "devcluster.local/pause:latest"
"""The image of the first container of each pod; its host is a mirror, as all are."""
CLUSTER_DOMAIN = "cluster.local"
BRIDGE = "cni0"
SOCKET = "/run/containerd/containerd.sock"
PLUGINS = "/usr/lib/cni"
"""The directory into which Debian installs the CNI plugins."""
_NOTHING_EVICTS = {
    "memory.available": "0%",
    "nodefs.available": "0%",
    "nodefs.inodesFree": "0%",
    "imagefs.available": "0%",
}
"""Thresholds of zero: what this machine lacks is no reason to stop pods: other programs use it too."""


def components(
    layout: Layout, network: NodeNetwork, directory: Path, process: int, tools: Mapping[str, Path], cgroup: str
) -> list[Component]:
    """Write the configuration to `directory`; return the components, containerd first.

    `process` is the node's first one, `tools` the paths of containerd, kubelet and kube-proxy.
    """
    directory.mkdir(exist_ok=True)
    registry = f"http://{layout.registry}"
    _write(directory / "certs.d" / "_default" / "hosts.toml", _hosts(registry))
    _write(directory / "net.d" / "10-bridge.conflist", json.dumps(_bridge(network)))
    _write(directory / "containerd.toml", _containerd(directory))
    _write(directory / "kubelet.json", json.dumps(_kubelet(layout, network, cgroup)))
    _write(directory / "kube-proxy.json", json.dumps(_kube_proxy(layout, network)))
    commands = {
        "containerd": (f"--config={directory / 'containerd.toml'}",),
        "kubelet": (
            f"--config={directory / 'kubelet.json'}",
            f"--kubeconfig={layout.kubeconfig('kubelet')}",
            f"--hostname-override={NODE}",
            f"--node-ip={network.node}",
        ),
        "kube-proxy": (f"--config={directory / 'kube-proxy.json'}",),
    }
    return [sandbox.component(name, process, tools[name], arguments) for name, arguments in commands.items()]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _hosts(registry: str) -> str:
    """The mirror of all hosts; it is the server too, because after a mirror without the image the server would be asked."""
    return f'server = "{registry}"\n\n[host."{registry}"]\ncapabilities = ["pull", "resolve"]\n'


def _containerd(directory: Path) -> str:
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
address = "{SOCKET}"

[{cri}]
sandbox_image = "{SANDBOX_IMAGE}"
restrict_oom_score_adj = true
max_concurrent_downloads = 3

[{cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"

[{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[{cri}.cni]
bin_dir = "{PLUGINS}"
conf_dir = "{directory / "net.d"}"

[{cri}.registry]
config_path = "{directory / "certs.d"}"
"""


def _bridge(network: NodeNetwork) -> dict[str, Any]:
    ranges = [[{"subnet": network.pods}]]
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]},
    }
    return {
        "cniVersion": "0.4.0",
        "name": "devcluster",
        "plugins": [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}],
    }


def _kubelet(layout: Layout, network: NodeNetwork, cgroup: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": network.node,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(layout.authority)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(layout.keys / "kubelet.crt"),
        "tlsPrivateKeyFile": str(layout.keys / "kubelet.key"),
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "enforceNodeAllocatable": ["pods"],
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDomain": CLUSTER_DOMAIN,
        "clusterDNS": [network.dns],
        # Pods with the DNS of the node have none: they shall not ask that of this machine.
        "resolvConf": "",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        "evictionHard": _NOTHING_EVICTS,
        "imageGCHighThresholdPercent": 100,
        "maxPods": 250,
        "serializeImagePulls": False,
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
        "kubeAPIQPS": 300,
        "kubeAPIBurst": 600,
    }


def _kube_proxy(layout: Layout, network: NodeNetwork) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(layout.kubeconfig("kube-proxy")), "qps": 300, "burst": 600},
        "mode": "iptables",
        "hostnameOverride": NODE,
        "clusterCIDR": layout.allocation.pod_cidr,
        # The limits are those of the whole machine, which is not ours to set.
        "conntrack": {"maxPerCore": 0},
        "iptables": {"minSyncPeriod": "0s"},
    }
