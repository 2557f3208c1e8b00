"""The ports of probes and metrics of a process with 256 file descriptors, while a client opens as many connections as it can."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cluster.olmkit.processes import ROOT

MANY = 400
PATHS = {"probes": "/healthz", "metrics": "/metrics"}


@pytest.fixture
async def ports() -> AsyncIterator[dict[str, int]]:
    """The ports of a process that serves both, by name; at its end it has logged nothing else."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.integration.olmkit.runtime.ports"),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stderr is not None
    try:
        lines = [json.loads(await child.stderr.readline()) for _ in PATHS]
        yield {line["server"]: int(line["address"].rpartition(":")[2]) for line in lines}
        child.stdin.close()
        assert await child.stderr.read() == b""
        assert await child.wait() == 0
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


@contextlib.contextmanager
def connected(port: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Many connections, each of which has sent `sent`."""
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(MANY):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            with contextlib.suppress(ConnectionError):
                client.sendall(sent)
            clients.append(client)
        yield clients


async def get(port: int, path: str) -> tuple[int, bytes]:
    """Status and body, over a new connection as the kubelet uses."""
    async with asyncio.timeout(30):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split(b" ")[1]), body


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="idle from the start"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: p", id="with an incomplete request"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: p\r\n\r\n", id="idle after a request"),
    ],
)
async def test_many_connections_use_few_file_descriptors(ports: dict[str, int], name: str, sent: bytes) -> None:
    with connected(ports[name], sent):
        for server, path in PATHS.items():
            status, body = await get(ports[server], path)
            assert status == 200
            assert body


@pytest.mark.parametrize("name", PATHS)
async def test_a_request_with_a_body_is_answered_with_413(ports: dict[str, int], name: str) -> None:
    """However long it is: the client sends all of it, and only then reads."""
    body = b"x" * (16 * 1024 * 1024)
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[name])
        writer.write(f"POST {PATHS[name]} HTTP/1.1\r\nHost: p\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        writer.write(body)
        await writer.drain()
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert answer.endswith(b'{"error":"the request must not have a body"}\n')
        writer.close()
