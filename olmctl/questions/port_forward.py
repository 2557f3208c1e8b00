"""Requests to a controller over a forwarded port of its pod, with the caller's own token: for one that requires it, and where the
proxy of the API server may not be used.

The API server tunnels the connection: a websocket with one data and one error channel, and TLS runs through it end to end: the
controller's certificate is verified with the CA that it publishes.
"""

from __future__ import annotations

import asyncio
import io
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any

import aiohttp

from olmctl.questions.operator_state import is_true, part, text_at
from olmctl.questions.session import Session
from olmkit.api.meta import Kind, Object
from olmkit.errors import Forbidden, NotFound, Unavailable
from olmkit.runtime.client import HANDSHAKE_FAILED, parse_failure, parse_object
from olmkit.runtime.lease_holder import LEASE, holder_host
from olmkit.tls.service import CA_KEY, CATALOG_SERVICE, CONFIG_MAP, OPERATOR_SERVICE, RUKPAK_SERVICE, TlsService

POD = Kind("", "v1", "Pod", "pods", namespaced=True)
PROTOCOL = "v4.channel.k8s.io"
"""Messages of which the first byte is the channel: 0 data, 1 error. The first message of each channel is the port."""
REQUEST_TIMEOUT_SECONDS = 30.0
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
MAX_HOST_NAME_LENGTH = 63
"""Longer names of pods are truncated to this for the host name."""
_DATA, _ERROR = 0, 1
_CHUNK_BYTES = 65_536


@dataclass(frozen=True)
class Server:
    """The server that a forwarded port leads to: a Service of the suite, and the name of the port in its pods."""

    service: TlsService
    port_name: str
    is_leader_only: bool = False
    """True if only the replica that holds the Lease of the controller has the answers."""

    @property
    def component(self) -> str:
        """The controller, which is also the label of its pods."""
        return self.service.labels["app.kubernetes.io/name"]


CATALOGD = Server(CATALOG_SERVICE, "catalogs")
OPERATOR_CONTROLLER = Server(OPERATOR_SERVICE, "debug", is_leader_only=True)
RUKPAK = Server(RUKPAK_SERVICE, "webhooks")


async def get(session: Session, server: Server, target: str) -> Object:
    """The JSON object at a path of a controller, which may have a query. Raises ApiError: Unavailable if there is no answer."""
    return parse_object(await request(session, server, "GET", target))


async def request(  # noqa: PLR0913 a request
    session: Session,
    server: Server,
    method: str,
    target: str,
    body: bytes | None = None,
    *,
    needs_token: bool = True,
    seconds: float = REQUEST_TIMEOUT_SECONDS,
) -> bytes:
    """The body of the response to a request, which is sent with the caller's token, if there is one. Raises ApiError: Unavailable
    if there is no answer."""
    token = await session.client.bearer_token()
    if not token and needs_token:
        text = f"{server.component} requires a token, and this user has a client certificate: use a kubeconfig with a token"
        raise Unavailable(0, "NoToken", text)
    headers = [
        f"Host: {server.service.host(await session.system_namespace())}",
        "Accept: application/json, application/jsonl",
        "Connection: close",
    ]
    headers += [f"Authorization: Bearer {token}"] if token else []
    headers += [f"Content-Length: {len(body)}"] if body is not None else []
    head = "\r\n".join((f"{method} {target} HTTP/1.1", *headers, "", "")).encode()
    try:
        async with asyncio.timeout(seconds), _connection(session, server) as (reader, writer):
            raw = await _exchange(reader, writer, head + (body or b""))
    except Forbidden as error:
        if error.reason != HANDSHAKE_FAILED:
            raise
        text = f"the permission to forward a port of {server.component} is missing: get and create on pods/portforward"
        raise Forbidden(error.status, error.reason, f"{text} in {await session.namespace_text()}") from error
    except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:  # also ssl.SSLError
        raise Unavailable(0, "NoPortForward", f"no answer over the forwarded port ({type(error).__name__})") from error
    return parse_response(raw)


def parse_response(raw: bytes) -> bytes:
    """The body in the bytes of an HTTP response. Raises ApiError by its status."""
    response = HTTPResponse(_Bytes(raw))  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except (HTTPException, OSError, ValueError) as error:
        raise Unavailable(0, "BadAnswer", "the response over the forwarded port is not HTTP") from error
    if response.status >= 400:
        raise parse_failure(response.status, response.reason, body, response.headers.get("Retry-After", ""))
    return body


class _Bytes:
    """The part of a socket that HTTPResponse uses."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def makefile(self, mode: str) -> io.BytesIO:
        """The bytes, to read from."""
        return io.BytesIO(self._raw)


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> bytes:
    """Send a request, and read its response, which may come before all of the request is sent: the rest is then not sent."""
    reading = asyncio.create_task(_read(reader))
    try:
        for start in range(0, len(data), _CHUNK_BYTES):
            if reading.done():
                break
            writer.write(data[start : start + _CHUNK_BYTES])
            try:
                await writer.drain()
            except ConnectionError:
                break
        return await reading
    finally:
        reading.cancel()


async def _read(reader: asyncio.StreamReader) -> bytes:
    """The bytes of one HTTP response. Its length decides where it ends: not every kubelet passes the end of a connection on."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    length = int(lengths[0]) if lengths and lengths[0].strip().isdigit() else None
    body = bytearray()
    if length is not None and length <= MAX_RESPONSE_BYTES:
        body += await reader.readexactly(length)
    elif length is None:
        while len(body) <= MAX_RESPONSE_BYTES and (chunk := await reader.read(_CHUNK_BYTES)):
            body += chunk
    if (length or len(body)) > MAX_RESPONSE_BYTES:
        raise Unavailable(
            0, "BadAnswer", f"the response over the forwarded port is larger than {MAX_RESPONSE_BYTES} bytes"
        )
    return head + bytes(body)


@asynccontextmanager
async def _connection(
    session: Session, server: Server
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A TLS connection to the controller through the API server."""
    namespace = await session.system_namespace()
    pod, port = await _pod(session, server)
    context = await _context(session, server)
    path = f"{POD.path(namespace, pod)}/portforward"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for each in (ours, theirs):
            each.setblocking(False)
        async with session.client.websocket(path, PROTOCOL, {"ports": port}) as tunnel:
            pumps = [asyncio.create_task(_send(theirs, tunnel)), asyncio.create_task(_receive(tunnel, theirs))]
            try:
                reader, writer = await asyncio.open_connection(
                    sock=ours, ssl=context, server_hostname=server.service.host(namespace)
                )
                try:
                    yield reader, writer
                finally:
                    writer.transport.abort()
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)


async def _send(local: socket.socket, tunnel: aiohttp.ClientWebSocketResponse) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(local, _CHUNK_BYTES):
        await tunnel.send_bytes(bytes([_DATA]) + data)


async def _receive(tunnel: aiohttp.ClientWebSocketResponse, local: socket.socket) -> None:
    """Passes data on until the tunnel ends or its error channel has a message; then the local connection ends too."""
    loop = asyncio.get_running_loop()
    opened: set[int] = set()
    async for message in tunnel:
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel not in opened:
            opened.add(channel)
        elif channel == _DATA:
            await loop.sock_sendall(local, data)
        elif channel == _ERROR:
            break
    local.shutdown(socket.SHUT_WR)


async def _pod(session: Session, server: Server) -> tuple[str, int]:
    """The name of a ready pod of the controller, and its port: of the leader, if only it has the answers. Raises Unavailable."""
    component, namespace = server.component, await session.system_namespace()
    found, _ = await session.client.list(POD, namespace, f"app.kubernetes.io/name={component}")
    ready = [
        (each, int(port["containerPort"]))
        for each in found
        for port in _ports(each)
        if is_true(each, "Ready") and text_at(port, "name") == server.port_name
    ]
    if not ready:
        raise Unavailable(0, "NoPod", f"no pod of {component} is ready in namespace {namespace}")
    if server.is_leader_only and len(ready) > 1:
        host = await _leader(session, component)
        ready = [(each, port) for each, port in ready if _host_name(each) == host]
        if not ready:
            text = f"no ready pod of {component} in namespace {namespace} is its leader, {host}: try again in a moment"
            raise Unavailable(0, "NoLeader", text)
    pod, port = ready[0]
    return text_at(pod, "metadata", "name"), port


async def _leader(session: Session, component: str) -> str:
    """The host name of the process that holds the Lease of the controller. Raises Unavailable if none does, and Forbidden."""
    try:
        lease = await session.client.get(LEASE, component, await session.system_namespace())
    except NotFound:
        lease = {}
    if host := holder_host(text_at(lease, "spec", "holderIdentity")):
        return host
    text = f"no replica of {component} leads: its Lease in {await session.namespace_text()} has no holder"
    raise Unavailable(0, "NoLeader", f"{text}; try again in a moment")


def _host_name(pod: Object) -> str:
    """The host name that the processes of a pod see."""
    return text_at(pod, "spec", "hostname") or text_at(pod, "metadata", "name")[:MAX_HOST_NAME_LENGTH].rstrip("-.")


def _ports(pod: Object) -> list[Any]:
    return [port for container in part(pod, "spec", "containers") or () for port in container.get("ports") or ()]


async def _context(session: Session, server: Server) -> ssl.SSLContext:
    """Trusts the CA that the controller has published; those of this machine if there is none."""
    try:
        found = await session.client.get(CONFIG_MAP, server.service.config_map, await session.system_namespace())
    except NotFound:
        return ssl.create_default_context()
    return ssl.create_default_context(cadata=text_at(found, "data", CA_KEY) or None)
