"""Requests over a forwarded port: the real API server, kwok in the place of a kubelet, and an HTTPS server behind it."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from olmctl.questions import port_forward
from olmctl.questions.port_forward import CATALOGD, OPERATOR_CONTROLLER, Server
from olmctl.questions.session import Session
from olmkit.errors import Forbidden, Unavailable
from olmkit.runtime.client import Client
from olmkit.tls import certificate_authority
from tests.cluster.conftest import await_allowed
from tests.cluster.olmctl.conftest import Desk
from tests.cluster.olmctl.kubelet import Kubelet

Answer = Callable[[str, str], tuple[int, bytes]]
"""Status and body for a path and an Authorization header."""


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
    where = f"--system-namespace={asyncio.run(session.system_namespace())}"
    status, out, err = desk.olm("why", "party", "--trace", where)
    assert (status, json.loads(out), err) == (0, {"snapshot": 3, "text": "the newest"}, "")
    assert desk.olm("why", "party", "--trace", "-o", "yaml", where)[1] == "snapshot: 3\ntext: the newest\n"
    status, out, err = desk.olm("why", "x", "--trace", where)
    assert (status, out) == (3, "")
    assert "has no resolution" in err


@pytest.mark.parametrize("forwarded", [pytest.param(OPERATOR_CONTROLLER, id="operator-controller")], indirect=True)
def test_a_user_who_may_not_forward_ports_reads_which_permission_is_missing(
    forwarded: Callable[..., Session], desk: Desk
) -> None:
    namespace = asyncio.run(forwarded(_leads).system_namespace())
    metadata = {"name": "reader", "namespace": namespace}
    api = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list"]}]
    desk.apply({"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    role = {"apiGroup": api, "kind": "Role", "name": "reader"}
    subjects = [{"kind": "ServiceAccount", "name": "vic", "namespace": namespace}]
    body = {"apiVersion": f"{api}/v1", "kind": "RoleBinding", "metadata": metadata}
    desk.apply({**body, "roleRef": role, "subjects": subjects})
    text = "the permission to forward a port of operator-controller is missing: get and create on pods/portforward"
    await_allowed(desk.cluster, f"{namespace}:vic", verb="list", resource="pods", namespace=namespace)
    user = f"system:serviceaccount:{namespace}:vic"
    arguments = ("why", "party", "--trace", "--as", user, f"--system-namespace={namespace}")
    assert desk.olm(*arguments) == (5, "", f"{text} in namespace {namespace}\n")


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
    where = f"--system-namespace={asyncio.run(forwarded(_follows, _leads).system_namespace())}"
    status, out, err = desk.olm("why", "party", "--trace", where)
    text = f"no replica of operator-controller leads: its Lease in namespace {desk.prefix} has no holder"
    assert (status, out, err) == (1, "", f"{text}; try again in a moment\n")
    _lease(desk, "operator-controller-2_0b1c")
    assert desk.olm("why", "party", "--trace", where) == (0, '{\n  "snapshot": 3\n}\n', "")
    _lease(desk, "operator-controller-3_0b1c")
    status, out, err = desk.olm("why", "party", "--trace", where)
    text = f"no ready pod of operator-controller in namespace {desk.prefix} is its leader, operator-controller-3"
    assert (status, out, err) == (1, "", f"{text}: try again in a moment\n")
