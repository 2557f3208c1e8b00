"""A kubelet of kwok that forwards ports of pods to servers of this machine, for tests of forwarded ports."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from devcluster.allocation import free_port
from devcluster.nodes import forwarding
from devcluster.processes import start_logged
from devcluster.services import accepts
from olmctl.questions.port_forward import Server
from olmkit.tls import certificate_authority
from tests.cluster.olmctl.conftest import Desk, Object

RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""The security context that the namespace of the suite requires of its pods."""


class Kubelet:
    """A node whose kubelet forwards the ports of each pod to a server of its own, and pods of a controller on it."""

    def __init__(
        self,
        desk: Desk,
        directory: Path,
        certificate: certificate_authority.CertificateSet,
        ports: Mapping[str, int],
        server: Server,
        namespace: str = "",
        host_names: Mapping[str, str] | None = None,
    ) -> None:
        """`ports` are those of the servers by name of the pod, `host_names` those of pods that do not have their own names.

        `namespace` is that of the pods: by default one with the prefix of the test.
        """
        self._server = server
        self.namespace, self._node = namespace or desk.prefix, desk.prefix
        self._host_names = host_names or {}
        self._desk, self._directory, self._pods = desk, directory, tuple(ports)
        (directory / "tls.crt").write_bytes(certificate.leaf.chain)
        (directory / "tls.key").write_bytes(certificate.leaf.key)
        self._port = free_port()
        self._process = self._start(ports)

    def _start(self, ports: Mapping[str, int]) -> subprocess.Popen[bytes]:
        config, programs = self._directory / "kwok.yaml", Path(self._desk.cluster.state.programs)
        config.write_text(forwarding.configuration(self.namespace, ports))
        keys = self._directory / "tls.crt", self._directory / "tls.key"
        flags = forwarding.arguments(self._node, self._desk.cluster.kubeconfig, config, *keys, self._port)
        command = [str(programs / "kwok"), *flags]
        return start_logged(command, self._directory / "kwok.log", {"HOME": str(self._directory)})

    def add_pods(self) -> None:
        """Create the node and the pods, which are ready; returns when the kubelet answers too."""
        self._desk.apply(forwarding.node(self._node, self._port))
        for pod in self._pods:
            self._add_pod(pod)
        while not accepts(f"127.0.0.1:{self._port}"):
            assert self._process.poll() is None, "kwok has ended"
            time.sleep(0.05)

    def _add_pod(self, name: str) -> None:
        desk, namespace = self._desk, self.namespace
        ports = [{"name": self._server.port_name, "containerPort": 8443}]
        container = {"name": "c", "image": "i", "ports": ports, "securityContext": RESTRICTED}
        labels = {"app.kubernetes.io/name": self._server.component}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        spec: Object = {"schedulerName": "none", "containers": [container]}
        if name in self._host_names:
            spec["hostname"] = self._host_names[name]
        desk.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        ready = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "podIP": "10.0.0.1",
            "podIPs": [{"ip": "10.0.0.1"}],
        }
        self._patch_pod_status(name, ready)
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
        body = json.dumps({**binding, "target": {"kind": "Node", "name": self._node}})
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
        desk.cluster.kubectl("create", "--raw", path, "--filename=-", input=body)

    def _patch_pod_status(self, name: str, status: object) -> None:
        body = json.dumps({"status": status})
        flags = (f"--namespace={self.namespace}", "--subresource=status", "--type=merge", "-p", body)
        self._desk.cluster.kubectl("patch", "pod", name, *flags)

    def stop(self) -> None:
        """End kwok and delete the pods, which no kubelet deletes."""
        self._process.terminate()
        self._process.wait()
        flags = (f"--namespace={self.namespace}", "--ignore-not-found", "--force", "--grace-period=0")
        self._desk.cluster.kubectl("delete", "pod", *self._pods, *flags)
