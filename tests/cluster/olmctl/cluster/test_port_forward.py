"""Requests over a forwarded port: the real API server, kwok in the place of a kubelet, and an HTTPS server behind it."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from devcluster.allocation import free_port
from devcluster.processes import start_logged
from olmctl.cluster import port_forward
from olmctl.cluster.port_forward import CATALOGD, OPERATOR_CONTROLLER, Server
from olmctl.cluster.session import Session
from olmkit.errors import Forbidden, Unavailable
from olmkit.runtime.client import Client
from olmkit.tls import certificate_authority
from tests.cluster.olmctl.conftest import Desk

Answer = Callable[[str, str], tuple[int, bytes]]
"""Status and body for a path and an Authorization header."""


class Kubelet:
    """A node whose kubelet forwards the ports of each pod to a server of its own, and pods of a controller on it."""

    def __init__(
        self,
        desk: Desk,
        folder: Path,
        certificate: certificate_authority.CertificateSet,
        ports: Mapping[str, int],
        server: Server,
    ) -> None:
        """`ports` are those of the servers by name of the pod."""
        self._server = server
        self.namespace = desk.prefix
        self._desk, self._folder, self._pods = desk, folder, tuple(ports)
        (folder / "tls.crt").write_bytes(certificate.leaf.chain)
        (folder / "tls.key").write_bytes(certificate.leaf.key)
        self._port = free_port()
        self._process = self._start(ports)

    def _start(self, ports: Mapping[str, int]) -> subprocess.Popen[bytes]:
        forwards = [
            {
                "apiVersion": "kwok.x-k8s.io/v1alpha1",
                "kind": "PortForward",
                "metadata": {"name": pod, "namespace": self.namespace},
                "spec": {"forwards": [{"target": {"address": "127.0.0.1", "port": port}}]},
            }
            for pod, port in ports.items()
        ]
        config = self._folder / "kwok.yaml"
        config.write_text(yaml.safe_dump_all(forwards))
        command = [
            str(Path(self._desk.cluster.state.programs) / "kwok"),
            f"--kubeconfig={self._desk.cluster.kubeconfig}",
            f"--config={config}",
            f"--manage-single-node={self.namespace}",
            f"--server-address=127.0.0.1:{self._port}",
            f"--tls-cert-file={self._folder / 'tls.crt'}",
            f"--tls-private-key-file={self._folder / 'tls.key'}",
        ]
        return start_logged(command, self._folder / "kwok.log", {"HOME": str(self._folder)})

    def add_pods(self) -> None:
        """Create the node and the pods, which are ready."""
        desk, name = self._desk, self.namespace
        desk.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        address = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
        status = {**address, "daemonEndpoints": {"kubeletEndpoint": {"Port": self._port}}}
        self._patch_status("node", name, status)
        for pod in self._pods:
            self._add_pod(pod)

    def _add_pod(self, name: str) -> None:
        desk, namespace = self._desk, self.namespace
        container = {"name": "c", "image": "i", "ports": [{"name": self._server.port_name, "containerPort": 8443}]}
        labels = {"app.kubernetes.io/name": self._server.component}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        spec = {"schedulerName": "none", "containers": [container]}
        desk.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        ready = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "podIP": "10.0.0.1",
            "podIPs": [{"ip": "10.0.0.1"}],
        }
        self._patch_status("pod", name, ready)
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
        body = json.dumps({**binding, "target": {"kind": "Node", "name": namespace}})
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
        desk.cluster.kubectl("create", "--raw", path, "--filename=-", input=body)

    def _patch_status(self, kind: str, name: str, status: object) -> None:
        body = json.dumps({"status": status})
        flags = (f"--namespace={self.namespace}", "--subresource=status", "--type=merge", "-p", body)
        self._desk.cluster.kubectl("patch", kind, name, *flags)

    def stop(self) -> None:
        """End kwok and delete the pods, which no kubelet deletes."""
        self._process.terminate()
        self._process.wait()
        flags = (f"--namespace={self.namespace}", "--ignore-not-found", "--force", "--grace-period=0")
        self._desk.cluster.kubectl("delete", "pod", *self._pods, *flags)


@pytest.fixture
def forwarded(desk: Desk, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Session]]:
    """Starts a server for each of the answers, in pods of its own namespace: the component, the component with -2, and so on.
    Returns a session for it. The component is catalogd or the parameter."""
    name = desk.prefix
    behind: Server = getattr(request, "param", CATALOGD)
    issued = certificate_authority.create([behind.service.host(name)], datetime.now(UTC))
    desk.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    desk.cluster.kubectl("wait", "--for=create", "--timeout=60s", "serviceaccount/default", f"--namespace={name}")
    published = {"name": behind.service.config_map, "namespace": name}
    data = {"ca.crt": issued.ca_bundle().decode()}
    desk.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": published, "data": data})
    ended: list[Callable[[], None]] = []

    def start(*answers: Answer) -> Session:
        servers = {
            f"{behind.component}{f'-{number}' if number > 1 else ''}": ThreadingHTTPServer(
                ("127.0.0.1", 0), _handler(answer)
            )
            for number, answer in enumerate(answers, 1)
        }
        ports = {pod: server.server_address[1] for pod, server in servers.items()}
        kubelet = Kubelet(desk, tmp_path, issued, ports, behind)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
        for server in servers.values():
            server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            ended.extend((server.shutdown, server.server_close))
        ended.append(kubelet.stop)
        kubelet.add_pods()
        return Session(Client(str(desk.cluster.kubeconfig)), name)

    try:
        yield start
    finally:
        for end in ended:
            end()


def _handler(answer: Answer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(self.path, self.headers.get("Authorization", ""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: stderr belongs to the test."""

    return Handler


def ask(session: Session, target: str) -> object:
    async def asked() -> object:
        async with session.client:
            return await port_forward.get(session, CATALOGD, target)

    return asyncio.run(asked())


def test_the_token_of_the_caller_reaches_catalogd(forwarded: Callable[..., Session]) -> None:
    many = "x" * 300_000
    session = forwarded(lambda path, token: (200, json.dumps({"path": path, "token": token, "many": many}).encode()))
    found = ask(session, "/catalogs/a/api/v1/packages?x=1")
    assert isinstance(found, dict)
    assert (found["path"], found["many"] == many) == ("/catalogs/a/api/v1/packages?x=1", True)
    assert found["token"].startswith("Bearer ")


def test_a_refusal_of_catalogd_is_reported(forwarded: Callable[..., Session]) -> None:
    session = forwarded(lambda path, token: (403, b'{"error":"this account may not"}'))
    with pytest.raises(Forbidden, match="this account may not"):
        ask(session, "/catalogs/a/api/v1/packages")


def test_no_pod_is_ready(desk: Desk) -> None:
    with pytest.raises(Unavailable, match="no pod of catalogd is ready"):
        ask(Session(Client(str(desk.cluster.kubeconfig)), desk.prefix), "/")


@pytest.mark.parametrize("forwarded", [pytest.param(OPERATOR_CONTROLLER, id="operator-controller")], indirect=True)
def test_why_prints_the_trace_of_a_resolution(forwarded: Callable[..., Session], desk: Desk) -> None:
    answers = {"/debug/resolutions/party": (200, b'{"snapshot": 3, "text": "the newest"}')}
    missing = (404, b'{"error":"the Operator \\"x\\" has no resolution"}')
    session = forwarded(lambda path, token: answers.get(path, missing) if token.startswith("Bearer ") else (401, b"{}"))
    where = f"--system-namespace={session.system_namespace}"
    status, out, err = desk.olm("why", "party", "--trace", where)
    assert (status, json.loads(out), err) == (0, {"snapshot": 3, "text": "the newest"}, "")
    assert desk.olm("why", "party", "--trace", "-o", "yaml", where)[1] == "snapshot: 3\ntext: the newest\n"
    status, out, err = desk.olm("why", "x", "--trace", where)
    assert (status, out) == (3, "")
    assert "has no resolution" in err


def _leads(path: str, token: str) -> tuple[int, bytes]:
    return 200, b'{"snapshot": 3}'


def _follows(path: str, token: str) -> tuple[int, bytes]:
    return 503, b'{"error":"this replica does not lead"}'


def _lease(desk: Desk, holder: str) -> None:
    metadata = {"name": "operator-controller", "namespace": desk.prefix}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15}
    desk.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize("forwarded", [pytest.param(OPERATOR_CONTROLLER, id="operator-controller")], indirect=True)
def test_of_several_replicas_the_leader_is_asked_for_the_trace(forwarded: Callable[..., Session], desk: Desk) -> None:
    where = f"--system-namespace={forwarded(_follows, _leads).system_namespace}"
    status, out, err = desk.olm("why", "party", "--trace", where)
    text = f"no replica of operator-controller leads: its Lease in namespace {desk.prefix} has no holder"
    assert (status, out, err) == (1, "", f"{text}; try again in a moment\n")
    _lease(desk, "operator-controller-2_0b1c")
    assert desk.olm("why", "party", "--trace", where) == (0, '{\n  "snapshot": 3\n}\n', "")
    _lease(desk, "operator-controller-3_0b1c")
    status, out, err = desk.olm("why", "party", "--trace", where)
    text = f"no ready pod of operator-controller in namespace {desk.prefix} is its leader, operator-controller-3"
    assert (status, out, err) == (1, "", f"{text}: try again in a moment\n")
